"""The scheduling loop: it wakes, it takes turns, it has a limit, it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.queue.entry import Place
from scheduler.scheduler import MAX_BINDING, Scheduler
from scheduler.testing import make_node, make_pod
from tests.unit.client.fakes import settle
from tests.unit.shell import Shell


class Timer:
    """A sleep whose end is in the test's hands."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._over.wait()
        self._over.clear()

    async def ring(self) -> None:
        """End the sleep and let the sleeper act."""
        self._over.set()
        await settle()


class Loop:
    """A scheduler over a shell."""

    def __init__(self) -> None:
        self.shell = Shell()
        self.timer = Timer()
        self.scheduler = Scheduler(self.shell.clock.now, self.timer)
        self.shell.spawn = self.scheduler.spawn
        self.shell.on_active = self.scheduler.wake
        self.shell.see(make_node("n1").capacity(cpu="64", pods=1000).obj())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """The loop at work; stopped at the end."""
        task = asyncio.get_running_loop().create_task(self.scheduler.run(self.shell.queue, self.shell.schedule_one))
        await settle()
        yield task
        await self.scheduler.stop(0)
        await asyncio.gather(task, return_exceptions=True)

    def bound(self) -> int:
        """How many pods were reported as scheduled."""
        return sum(report.what == "scheduled" for report in self.shell.reports.all)


@pytest.fixture
async def loop() -> Loop:
    """A loop that does not run yet."""
    return Loop()


async def test_pods_are_bound_whenever_they_come(loop: Loop) -> None:
    """Those that waited before the loop ran, and those that come while it sleeps."""
    loop.shell.see(make_pod("early").obj())
    async with loop.running():
        assert loop.bound() == 1
        loop.shell.see(make_pod("late").obj(), make_pod("later").obj())
        await settle()
        assert loop.bound() == 3


async def test_bindings_do_not_hold_up_decisions_until_there_are_too_many(loop: Loop) -> None:
    """With as many binding cycles under way as allowed no further pod is taken; each that ends lets one in."""
    loop.shell.binder.gate.clear()
    loop.shell.see(*(make_pod(f"p{index}").obj() for index in range(MAX_BINDING + 10)))
    async with loop.running():
        await settle(MAX_BINDING * 2)
        assert len(loop.shell.binder.asked) == MAX_BINDING
        assert loop.shell.queue.pending_counts()["active"] == 10
        loop.shell.binder.gate.set()
        await settle(200)
        assert loop.bound() == MAX_BINDING + 10


async def test_bindings_that_wait_for_others_are_not_too_many(loop: Loop) -> None:
    """Volumes may take minutes to be made: pods that wait for theirs keep no other pod from its turn."""
    bind, gate = loop.shell.binder.bind, asyncio.Event()

    async def wait_first(pod: PodInfo, node_name: str) -> Status | None:
        with loop.scheduler.waiting():
            await gate.wait()
        return await bind(pod, node_name)

    loop.shell.binder.bind = wait_first  # type: ignore[method-assign]
    loop.shell.see(*(make_pod(f"p{index}").obj() for index in range(MAX_BINDING + 10)))
    async with loop.running():
        await settle(MAX_BINDING * 2)
        assert loop.shell.queue.pending_counts()["active"] == 0
        assert loop.bound() == 0
        gate.set()
        await settle(200)
        assert loop.bound() == MAX_BINDING + 10


async def test_other_tasks_get_their_turn(loop: Loop) -> None:
    """When a turn is over the loop lets others run, although pods wait."""
    loop.shell.see(*(make_pod(f"p{index}").obj() for index in range(5)))
    seen: list[int] = []
    decide = loop.shell.schedule_one.schedule_one

    def slow(queued: object) -> None:
        loop.shell.clock.advance(0.01)
        decide(queued)  # type: ignore[arg-type]

    loop.shell.schedule_one.schedule_one = slow  # type: ignore[method-assign]

    async def other() -> None:
        for _ in range(5):
            seen.append(loop.shell.queue.pending_counts()["active"])
            await asyncio.sleep(0)

    watching = asyncio.get_running_loop().create_task(other())
    async with loop.running():
        await watching
    assert seen == [5, 4, 3, 2, 1]


async def test_stop_waits_for_bindings_and_takes_no_more_pods(loop: Loop) -> None:
    """The binding under way ends as it would have; a pod that comes later waits for another process."""
    loop.shell.binder.gate.clear()
    loop.shell.see(make_pod("under-way").obj())
    async with loop.running() as task:
        stopping = asyncio.get_running_loop().create_task(loop.scheduler.stop(60))
        await settle()
        loop.shell.see(make_pod("late").obj())
        assert not stopping.done()
        loop.shell.binder.gate.set()
        assert await stopping == 0
        await task
    assert loop.shell.reports.told() == [("scheduled", "under-way", "n1")]
    assert loop.shell.place_of("late") is Place.ACTIVE


async def test_stop_gives_up_bindings_that_do_not_end(loop: Loop) -> None:
    """It tells how many."""
    loop.shell.binder.gate.clear()
    loop.shell.see(make_pod("a").obj(), make_pod("b").obj())
    async with loop.running():
        assert await loop.scheduler.stop(0) == 2
    assert loop.bound() == 0


async def test_stop_before_anything_happened(loop: Loop) -> None:
    """Nothing is waited for."""
    assert await loop.scheduler.stop(60) == 0


async def test_the_queue_is_flushed_each_second(loop: Loop) -> None:
    """Right after a whole second; a pod whose back-off of an error is over is tried again."""
    loop.shell.clock.advance(0.25)
    loop.shell.scripted.answers["Reserve"] = RuntimeError("once")
    loop.shell.see(make_pod("web").obj())
    async with loop.running():
        loop.shell.scripted.answers.clear()
        assert loop.timer.asked == [0.75]
        assert loop.shell.place_of("web") is Place.BACKOFF
        loop.shell.clock.advance(0.75)
        await loop.timer.ring()
        assert loop.bound() == 0
        loop.shell.clock.advance(1.0)
        await loop.timer.ring()
        assert loop.bound() == 1


async def test_pods_left_over_are_tried_again_without_an_event(loop: Loop) -> None:
    """After five minutes, looked for every thirty seconds."""
    loop.shell.see(make_pod("huge").req(cpu="1k").obj())
    async with loop.running():
        loop.shell.clock.advance(29.0)
        await loop.timer.ring()
        assert loop.shell.place_of("huge") is Place.UNSCHEDULABLE
        loop.shell.clock.advance(272.0)
        await loop.timer.ring()
        assert loop.shell.attempts("unschedulable") == 2


async def test_a_fault_that_leaves_a_binding_cycle_ends_the_loop(loop: Loop) -> None:
    """Its pod would wait in flight for ever."""

    async def broken() -> None:
        raise ZeroDivisionError

    async with loop.running() as task:
        loop.scheduler.spawn(broken())
        await settle()
        assert task.done()
        with pytest.raises(ExceptionGroup) as raised:
            await task
    assert raised.group_contains(ZeroDivisionError)


async def test_a_fault_of_the_loop_itself_ends_it(loop: Loop) -> None:
    """It is not swallowed: whoever runs the loop learns of it."""

    def broken(queued: object) -> None:
        raise ZeroDivisionError

    loop.shell.schedule_one.schedule_one = broken  # type: ignore[method-assign]
    loop.shell.see(make_pod("web").obj())
    with pytest.raises(ExceptionGroup) as raised:
        await loop.scheduler.run(loop.shell.queue, loop.shell.schedule_one)
    assert raised.group_contains(ZeroDivisionError)

"""Which call goes when."""

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from scheduler.client.api_dispatcher import ApiCall, ApiDispatcher, Priority
from scheduler.client.errors import Conflict, NotSent, RequestError
from scheduler.client.transport import Response
from tests.unit.client.fakes import Counts, finished, settle

BIND, STATUS, EVENT = Priority


class _Bench:
    """A dispatcher whose calls end when the test says so."""

    def __init__(self, max_in_flight: int = 1, max_queued_events: int = 100) -> None:
        self.counts = Counts()
        self.dispatcher = ApiDispatcher(self.counts, max_in_flight=max_in_flight, max_queued_events=max_queued_events)
        self.sent: list[str] = []
        self._answers: dict[str, asyncio.Future[Response]] = {}

    def call(self, name: str, priority: Priority = BIND, uid: str = "") -> ApiCall:
        async def send() -> Response:
            self.sent.append(name)
            self._answers[name] = asyncio.get_running_loop().create_future()
            return await self._answers[name]

        return ApiCall(priority.name.lower(), priority, send, uid)

    def run(self, name: str, priority: Priority = BIND, uid: str = "") -> asyncio.Task[Response | None]:
        return asyncio.create_task(self.dispatcher.run(self.call(name, priority, uid)))

    def submit(self, name: str, priority: Priority = EVENT, uid: str = "") -> bool:
        return self.dispatcher.submit(self.call(name, priority, uid))

    async def answer(self, name: str, error: RequestError | None = None) -> None:
        await settle()
        if error is None:
            self._answers[name].set_result(Response(201, name.encode()))
        else:
            self._answers[name].set_exception(error)
        await settle()

    async def answer_all(self) -> None:
        await settle()
        done = 0
        while done < len(self.sent):
            await self.answer(self.sent[done])
            done += 1


async def test_run_returns_the_answer_or_raises() -> None:
    """Whoever waits for a call gets what it ended in."""
    bench = _Bench()
    first, second = bench.run("a"), bench.run("b")
    await bench.answer("a")
    assert (await first) == Response(201, b"a")
    await bench.answer("b", Conflict(409, "Conflict", "no"))
    with pytest.raises(Conflict):
        await second


async def test_calls_in_flight_are_bounded() -> None:
    """No more calls than allowed are in flight; each that ends lets the next one go."""
    bench = _Bench(max_in_flight=2)
    tasks = [bench.run(name) for name in "abc"]
    await settle()
    assert bench.sent == ["a", "b"]
    await bench.answer("a")
    assert bench.sent == ["a", "b", "c"]
    await bench.answer("b")
    await bench.answer("c")
    await asyncio.gather(*tasks)


async def test_binds_go_before_status_patches_before_events() -> None:
    """Whatever came first, waiting calls go by priority, and in order within one."""
    bench = _Bench()
    bench.submit("first")
    for name, priority in (("e1", EVENT), ("e2", EVENT), ("s1", STATUS), ("b1", BIND), ("b2", BIND), ("s2", STATUS)):
        bench.submit(name, priority)
    await settle()
    assert list(bench.dispatcher.queued) == [2, 2, 2]
    await bench.answer_all()
    assert bench.sent == ["first", "b1", "b2", "s1", "s2", "e1", "e2"]


async def test_long_queue_of_events_gets_every_other_turn() -> None:
    """Once events fill half their queue they share the slots with binds, so that none is lost to a long backlog."""
    bench = _Bench(max_queued_events=4)
    bench.submit("first")
    for name in ("e1", "e2", "e3", "e4"):
        bench.submit(name)
    for name in ("b1", "b2", "b3", "b4"):
        bench.submit(name, BIND)
    await bench.answer_all()
    assert bench.sent == ["first", "e1", "b1", "e2", "b2", "b3", "b4", "e3", "e4"]


async def test_full_queue_of_events_drops_and_counts() -> None:
    """An event too many is dropped, at once and counted; binds are never dropped."""
    bench = _Bench(max_queued_events=1)
    assert bench.submit("first")
    assert bench.submit("e1")
    assert not bench.submit("e2")
    assert bench.submit("b1", BIND)
    assert bench.counts.dropped_calls == ["event"]
    await bench.answer_all()
    assert sorted(bench.sent) == ["b1", "e1", "first"]


async def test_newer_status_patch_replaces_the_waiting_one() -> None:
    """Of one object only the latest waiting patch is sent, and it waits for the one in flight."""
    bench = _Bench(max_in_flight=5)
    for name in ("p1", "p2", "p3"):
        bench.submit(name, STATUS, "uid")
    await settle()
    assert bench.sent == ["p1"]
    await bench.answer_all()
    assert bench.sent == ["p1", "p3"]
    assert bench.counts.dropped_calls == []


async def test_replaced_call_ends_in_not_sent_for_who_waits() -> None:
    """Whoever waits for a replaced call learns that it was certainly not sent."""
    bench = _Bench()
    bench.submit("first")
    older = bench.run("p1", STATUS, "uid")
    await settle()
    newer = bench.run("p2", STATUS, "uid")
    with pytest.raises(NotSent, match="replaced by a newer status"):
        await older
    await bench.answer_all()
    assert (await newer) == Response(201, b"p2")
    assert bench.sent == ["first", "p2"]


async def test_bind_replaces_the_waiting_patch_and_follows_the_one_in_flight() -> None:
    """A bind is never overtaken by a patch of the same pod that would call it unscheduled again."""
    bench = _Bench(max_in_flight=5)
    bench.submit("p1", STATUS, "uid")
    bench.submit("p2", STATUS, "uid")
    bind = bench.run("bind", BIND, "uid")
    await settle()
    assert bench.sent == ["p1"]
    await bench.answer_all()
    await bind
    assert bench.sent == ["p1", "bind"]


async def test_patch_does_not_replace_a_waiting_bind() -> None:
    """While a bind waits, a patch of the same pod is moot."""
    bench = _Bench()
    bench.submit("first")
    bind = bench.run("bind", BIND, "uid")
    await settle()
    bench.submit("patch", STATUS, "uid")
    await bench.answer_all()
    await bind
    assert bench.sent == ["first", "bind"]


async def test_calls_of_different_objects_do_not_wait_for_each_other() -> None:
    """Order is kept per object only."""
    bench = _Bench(max_in_flight=5)
    bench.submit("p1", STATUS, "one")
    bench.submit("p2", STATUS, "two")
    await settle()
    assert bench.sent == ["p1", "p2"]
    await bench.answer_all()


@pytest.mark.parametrize("uid", ["", "uid"])
async def test_cancelled_while_waiting_is_not_sent(uid: str) -> None:
    """A call whose caller went away gives its place to the next."""
    bench = _Bench()
    bench.submit("first")
    waiting = bench.run("gone", BIND, uid)
    await settle()
    bench.submit("next", BIND)
    waiting.cancel()
    await finished(waiting)
    await bench.answer_all()
    assert bench.sent == ["first", "next"]


async def test_cancelled_just_when_its_turn_came() -> None:
    """A turn that comes together with the cancellation passes on."""
    bench = _Bench()

    async def run_first_then_cancel() -> None:
        await bench.dispatcher.run(bench.call("first"))
        waiting.cancel()  # it has its turn already, but has not gone on yet

    first = asyncio.create_task(run_first_then_cancel())
    await settle()
    waiting, following = bench.run("gone"), bench.run("next")
    await bench.answer("first")
    assert bench.sent == ["first", "next"]
    await bench.answer("next")
    await asyncio.gather(first, following)
    await finished(waiting)


async def test_cancelled_in_flight_frees_the_slot() -> None:
    """A caller that gives up a call under way frees its place."""
    bench = _Bench()
    running = bench.run("a", BIND, "uid")
    await settle()
    bench.submit("b", STATUS, "uid")
    await settle()
    running.cancel()
    await bench.answer("b")
    assert bench.sent == ["a", "b"]


async def test_failure_that_nobody_waits_for_is_counted_and_logged_now_and_then() -> None:
    """Each failure counts, but a missing right does not fill the log."""
    bench = _Bench(max_in_flight=5)
    with capture_logs() as logs:
        for name in "abc":
            bench.submit(name)
            await bench.answer(name, Conflict(409, "Conflict", "no"))
    assert bench.counts.failed_calls == ["event"] * 3
    assert [entry["error"] for entry in logs] == ["409 Conflict: no"]


async def _drained(bench: _Bench, deadline_seconds: float, meanwhile: Callable[[], None] = lambda: None) -> int:
    task = asyncio.create_task(bench.dispatcher.drain(deadline_seconds))
    await settle()
    meanwhile()
    await bench.answer_all()
    return await task


async def test_drain_lets_everything_finish() -> None:
    """Within its time, draining sends what waits and reports nothing given up."""
    bench = _Bench()
    bind = bench.run("bind")
    await settle()
    for name in ("e1", "e2"):
        bench.submit(name)
    await settle()
    assert await _drained(bench, 60.0) == 0
    await bind
    assert bench.sent == ["bind", "e1", "e2"]


async def test_drain_gives_up_at_the_deadline() -> None:
    """What is not done in time is cancelled or dropped, counted and told to who waits."""
    bench = _Bench()
    bench.submit("stuck")
    bind = bench.run("bind")
    held = bench.run("patch", STATUS, "uid")
    bench.submit("e1")
    await settle()
    assert await bench.dispatcher.drain(0.0) == 4
    for task in (bind, held):
        with pytest.raises(NotSent, match="the process is stopping"):
            await task
    assert bench.sent == ["stuck"]
    assert bench.counts.dropped_calls == ["event"]


async def test_nothing_is_sent_after_drain() -> None:
    """A stopped dispatcher refuses calls."""
    bench = _Bench()
    assert await bench.dispatcher.drain(1.0) == 0
    with pytest.raises(NotSent):
        await bench.dispatcher.run(bench.call("late"))
    assert not bench.submit("later")
    assert bench.counts.dropped_calls == ["event"]
    assert bench.sent == []

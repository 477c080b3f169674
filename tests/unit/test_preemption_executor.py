"""A plan carried out: each write in its order, and what stays when the world has changed meanwhile or a write fails."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from scheduler.api.types import Pod, PodCondition
from scheduler.client.errors import RequestError, Unreachable
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.nominator import Nominator
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.requests import PreemptionPlan
from scheduler.core.framework.types import PodInfo
from scheduler.preemption_executor import PreemptionExecutor
from scheduler.testing import make_pod
from tests.unit.client.fakes import settle
from tests.unit.shell import Evictions

_CONDITION = PodCondition("PodScheduled", "False", "Unschedulable", "no room")
_PREEMPTOR = make_pod("p").priority(5)
_LOST = Unreachable("refused")
_ENDED = "preemption given up, the nomination has ended"
_NOT_PENDING = "preemption given up, the pod is not pending any more"


class Desk:
    """An executor with a plan: p on n1 in place of the victims high and low."""

    def __init__(self) -> None:
        self.cache, self.nominator, self.writer = Cache(), Nominator(), Evictions()
        self.victim_counts: list[int] = []
        self.executor = PreemptionExecutor(self.cache, self.nominator, self.writer, self.victim_counts.append)
        victims = []
        for name, priority in (("high", 2), ("low", 1)):
            victim = parse_pod(make_pod(name).req(cpu="1").priority(priority).node("n1").obj())
            self.cache.add_pod(victim, "n1")
            victims.append(victim)
        self.preemptor = parse_pod(_PREEMPTOR.obj())
        self.nominator.add(self.preemptor, "n1")
        self.plan = PreemptionPlan(self.preemptor, "n1", tuple(victims))

    async def carry_out(self, plan: PreemptionPlan | None = None) -> list[str]:
        """Carry the plan out; what was logged."""
        with capture_logs() as logs:
            await self.executor.carry_out(plan or self.plan, _CONDITION)
        return [line["event"] for line in logs]

    def nominated(self) -> str | None:
        return self.nominator.node_of(self.preemptor.uid)

    def is_leaving(self, name: str) -> bool:
        """Whether the cache knows that the pod is being deleted."""
        state = self.cache.pod_state(make_pod(name).obj().metadata.uid)
        assert state is not None
        return state.pod.pod.metadata.deletion_timestamp is not None


@pytest.fixture
async def desk() -> Desk:
    """Nothing was carried out yet."""
    return Desk()


async def test_a_plan_is_carried_out_step_by_step(desk: Desk) -> None:
    """Read, nominate, evict: the most important victim last, for it stays should something stop us."""
    assert await desk.carry_out() == ["Preempted pod", "Preempted pod"]
    assert desk.writer.done == [("read", "p"), ("nominate", "p"), ("evict", "low"), ("evict", "high")]
    assert desk.writer.conditions == {"p": _CONDITION}
    assert desk.victim_counts == [2]
    assert desk.nominated() == "n1"


async def test_the_cache_knows_of_the_evictions_before_the_watch_does(desk: Desk) -> None:
    """The next attempt of the preemptor must wait for them; they count on their node until they are gone."""
    await desk.carry_out()
    assert desk.is_leaving("low")
    assert desk.is_leaving("high")
    state = desk.cache.pod_state(make_pod("low").obj().metadata.uid)
    assert state is not None
    assert [each.reason for each in state.pod.pod.status.conditions or ()] == ["PreemptionByScheduler"]
    assert (state.node_name, desk.cache.sizes()["pods"]) == ("n1", 2)


async def test_what_the_watch_says_of_a_victim_counts(desk: Desk) -> None:
    """Gone by the time of the answer: it does not come back. Seen as leaving: that object is the newer one."""
    seen = parse_pod(make_pod("high").req(cpu="1").priority(2).node("n1").terminating().label(seen="yes").obj())

    def meanwhile(victim: PodInfo) -> None:
        if victim.name == "low":
            desk.cache.remove_pod(victim.uid)
        else:
            desk.cache.add_pod(seen, "n1")

    desk.writer.before_evict = meanwhile
    await desk.carry_out()
    assert desk.cache.pod_state(make_pod("low").obj().metadata.uid) is None
    state = desk.cache.pod_state(seen.uid)
    assert state is not None
    assert state.pod is seen


async def test_a_victim_that_is_gone_at_once_stays_until_the_watch_says_so(desk: Desk) -> None:
    """Without a grace period nothing is left to be known; the delete event does the rest."""
    desk.writer.leaves_nothing = True
    await desk.carry_out()
    assert not desk.is_leaving("low")
    assert desk.writer.done[2:] == [("evict", "low"), ("evict", "high")]


async def test_victims_that_leave_anyway_are_let_go(desk: Desk) -> None:
    """Gone or terminating since the plan was made: nothing is written about them."""
    desk.cache.remove_pod(make_pod("low").obj().metadata.uid)
    desk.cache.add_pod(parse_pod(make_pod("high").req(cpu="1").node("n1").terminating().obj()), "n1")
    assert await desk.carry_out() == []
    assert desk.writer.done == [("read", "p"), ("nominate", "p")]


async def test_a_plan_without_victims_nominates(desk: Desk) -> None:
    """The pod would fit by now."""
    await desk.carry_out(PreemptionPlan(desk.preemptor, "n1", ()))
    assert desk.writer.done == [("read", "p"), ("nominate", "p")]
    assert desk.victim_counts == [0]


@pytest.mark.parametrize(
    "found",
    [None, _PREEMPTOR.node("n9").obj(), _PREEMPTOR.terminating().obj()],
    ids=["gone or recreated", "bound", "being deleted"],
)
async def test_a_preemptor_that_is_not_pending_evicts_nobody(desk: Desk, found: Pod | None) -> None:
    """Nothing is written, and the room is held no more."""
    desk.writer.pods["p"] = found
    assert await desk.carry_out() == [_NOT_PENDING]
    assert desk.writer.done == [("read", "p")]
    assert desk.nominated() is None


async def test_a_preemptor_that_goes_as_it_is_nominated_evicts_nobody(desk: Desk) -> None:
    """Between the read and the patch."""
    desk.writer.gone.add("p")
    assert await desk.carry_out() == [_NOT_PENDING]
    assert desk.writer.done == [("read", "p"), ("nominate", "p")]
    assert desk.nominated() is None


async def test_the_newest_object_of_the_preemptor_is_nominated(desk: Desk) -> None:
    """Its condition may be there by now, and need no new time."""
    fresh = _PREEMPTOR.label(tier="new").obj()
    desk.writer.pods["p"] = fresh
    await desk.carry_out()
    assert desk.writer.nominated["p"].pod is fresh


async def test_a_nomination_that_ends_between_victims_saves_the_others(desk: Desk) -> None:
    """Deleted, bound or re-targeted meanwhile; the most important victims are those that stay."""
    for end, cleared in (
        (lambda: desk.nominator.remove(desk.preemptor.uid), [("clear", "p")]),
        (lambda: desk.nominator.add(desk.preemptor, "n2"), []),
    ):
        desk.writer.done.clear()
        desk.nominator.add(desk.preemptor, "n1")
        for victim in desk.plan.victims:
            desk.cache.add_pod(victim, "n1")
        desk.writer.before_evict = lambda victim, end=end: end()  # type: ignore[misc]
        assert await desk.carry_out() == ["Preempted pod", _ENDED]
        assert desk.writer.done == [("read", "p"), ("nominate", "p"), ("evict", "low"), *cleared]
        assert not desk.is_leaving("high")


async def test_a_nomination_that_ends_before_it_is_written_is_not_written(desk: Desk) -> None:
    """A cluster that says of the pod what is true no more would bring it back."""
    desk.nominator.remove(desk.preemptor.uid)
    assert await desk.carry_out() == [_ENDED]
    assert desk.writer.done == [("read", "p")]


async def test_withdrawn_nominations_are_cleared_first(desk: Desk) -> None:
    """Also when the plan itself comes to nothing: in memory they have ended already."""
    desk.writer.pods["p"] = None
    others = tuple(parse_pod(make_pod(name).obj()) for name in ("a", "b"))
    await desk.carry_out(PreemptionPlan(desk.preemptor, "n1", (), others))
    assert desk.writer.done == [("clear", "a"), ("clear", "b"), ("read", "p")]


async def test_a_withdrawn_preemptor_stops_though_its_echo_comes_late(desk: Desk) -> None:
    """A higher one takes the node meanwhile; the watch brings the old nomination back for a moment."""
    higher = parse_pod(make_pod("higher").priority(9).obj())
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def nominate(pod: PodInfo, node_name: str, condition: PodCondition) -> bool:
        if pod.name == "p":
            reached.set()
            await go_on.wait()
        return True

    desk.writer.nominate = nominate  # type: ignore[method-assign]
    running = asyncio.get_running_loop().create_task(desk.executor.carry_out(desk.plan, _CONDITION))
    await reached.wait()
    desk.nominator.remove(desk.preemptor.uid)
    desk.nominator.add(higher, "n1")
    await desk.carry_out(PreemptionPlan(higher, "n1", (), (desk.preemptor,)))
    desk.nominator.add(desk.preemptor, "n1")
    go_on.set()
    with capture_logs() as logs:
        await settle()
        await running
    assert [line["event"] for line in logs] == [_ENDED]
    assert ("evict", "low") not in desk.writer.done
    assert desk.writer.done[-1] == ("clear", "p")


@pytest.mark.parametrize(
    ("write", "done"),
    [
        (("read", "p"), []),
        (("nominate", "p"), ["read"]),
        (("evict", "low"), ["read", "nominate"]),
        (("evict", "high"), ["read", "nominate", "evict"]),
    ],
    ids=lambda value: " ".join(value),
)
async def test_a_write_that_fails_ends_the_plan_and_nothing_is_undone(
    desk: Desk, write: tuple[str, str], done: list[str]
) -> None:
    """The nomination stands, so that the next attempt goes on from what was done."""
    desk.writer.faults[write] = _LOST
    with pytest.raises(RequestError):
        await desk.carry_out()
    assert [what for what, _ in desk.writer.done] == done
    assert desk.nominated() == "n1"
    assert desk.is_leaving("low") is ("evict" in done)
    assert not desk.is_leaving("high")


async def test_an_executor_that_failed_carries_the_next_plan_out(desk: Desk) -> None:
    """The same one, once the cause is gone: only what is left is done."""
    desk.writer.faults["evict", "high"] = _LOST
    with pytest.raises(RequestError):
        await desk.carry_out()
    desk.writer.faults.clear()
    desk.writer.done.clear()
    await desk.carry_out()
    assert desk.writer.done == [("read", "p"), ("nominate", "p"), ("evict", "high")]

"""Which pods of a node have to go: as few as can be, the least important ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scheduler.core.cache.nominator import Nominator
from scheduler.core.preemption.victims import (
    NOTHING_TO_REMOVE,
    Rejection,
    earliest_start,
    priority_sum,
    select_victims_on_node,
)
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import parsed, snapshot_of
from tests.unit.core.preemption.attempts import failed_attempt

_NODE = make_node("n1").capacity(cpu="4")


def pod(name: str, cpu: str = "1", priority: int = 0, started: int | None = None) -> PodBuilder:
    """A pod on n1; `started` is a minute of its life's day."""
    made = make_pod(name).req(cpu=cpu).priority(priority).node("n1")
    return made if started is None else made.started(datetime(2026, 1, 1, 12, started, tzinfo=UTC))


def victims(
    preemptor: PodBuilder, *present: PodBuilder, node: NodeBuilder = _NODE, nominated: tuple[PodBuilder, ...] = ()
) -> list[str] | str:
    """Names of the victims on n1, or why preemption does not help there."""
    snapshot = snapshot_of(node, *present)
    snapshot.nominator = Nominator()
    for other in nominated:
        snapshot.nominator.add(parsed(other), "n1")
    attempt = failed_attempt(snapshot, parsed(preemptor))
    info = snapshot.node_info(0)
    assert info is not None
    before = snapshot.nodes.sums_of(0)
    answer = select_victims_on_node(attempt.check, info)
    assert snapshot.nodes.sums_of(0) == before
    if not isinstance(answer, Rejection):
        return [victim.name for victim in answer]
    if answer.rejected_by == NOTHING_TO_REMOVE:
        assert answer.verdict == 0
        return "nothing to remove"
    return attempt.filters[answer.rejected_by].status(attempt.pod, answer.verdict).message


def test_as_few_as_can_be() -> None:
    """Of four that are alike one goes."""
    present = [pod(f"low-{number}", started=number) for number in range(4)]
    assert victims(make_pod("p").req(cpu="1").priority(1), *present) == ["low-3"]


def test_the_less_important_go() -> None:
    """By priority first, whatever the order in which they came; the victims come most important first."""
    present = [pod("low", priority=1), pod("high", priority=3), pod("lowest"), pod("middle", priority=2)]
    assert victims(make_pod("p").req(cpu="3").priority(4), *present) == ["middle", "low", "lowest"]


def test_among_equals_the_one_that_started_later_goes() -> None:
    """And before it one that has not started yet."""
    present = [pod("late", started=9), pod("not yet"), pod("early", started=1), pod("middle", started=5)]
    assert victims(make_pod("p").req(cpu="1").priority(1), *present) == ["not yet"]
    assert victims(make_pod("p").req(cpu="3").priority(1), *present) == ["middle", "late", "not yet"]


def test_priority_outweighs_the_start() -> None:
    """A pod of higher priority stays although it started last."""
    present = [pod("early", "2", started=1), pod("late", "2", priority=1, started=9)]
    assert victims(make_pod("p").req(cpu="2").priority(2), *present) == ["early"]


def test_a_less_important_pod_is_reprieved_where_a_more_important_one_is_too_large() -> None:
    """Each is given back if it fits beside those given back before."""
    present = [pod("large", "3", priority=2), pod("small", "1", priority=1)]
    assert victims(make_pod("p").req(cpu="2").priority(3), *present) == ["large"]


@pytest.mark.parametrize("priority", [5, 6])
def test_pods_of_no_lower_priority_stay(priority: int) -> None:
    """Without others there is nothing to remove; with others only those count."""
    present = [pod("equal", "4", priority=priority)]
    assert victims(make_pod("p").req(cpu="1").priority(5), *present) == "nothing to remove"
    present = [pod("equal", "3", priority=priority), pod("low")]
    assert victims(make_pod("p").req(cpu="1").priority(5), *present) == ["low"]
    assert victims(make_pod("p").req(cpu="2").priority(5), *present) == "Insufficient cpu"


def test_priorities_may_be_negative() -> None:
    """Lower is lower on both sides of nothing."""
    present = [pod("lowest", "2", priority=-10), pod("low", "2", priority=-5)]
    assert victims(make_pod("p").req(cpu="2").priority(-5), *present) == ["lowest"]


def test_whatever_keeps_the_pod_out_may_be_freed() -> None:
    """A port, or a slot; a pod that has neither of it stays."""
    present = [pod("web").host_port(80), pod("db")]
    assert victims(make_pod("p").host_port(80).priority(1), *present) == ["web"]
    crowded = make_node("n1").capacity(pods=2)
    assert victims(make_pod("p").priority(1), pod("a", started=1), pod("b", started=2), node=crowded) == ["b"]


def test_room_held_for_a_pod_that_counts_is_not_there() -> None:
    """Equal and higher priority: it takes more victims. Lower priority: it is as if nobody held it."""
    present = [pod(f"low-{number}", started=number) for number in range(4)]
    preemptor = make_pod("p").req(cpu="1").priority(5)
    for priority, expected in ((6, ["low-2", "low-3"]), (5, ["low-2", "low-3"]), (4, ["low-3"])):
        held = make_pod("nominated").req(cpu="1").priority(priority)
        assert victims(preemptor, *present, nominated=(held,)) == expected
    assert victims(preemptor, *present, nominated=(make_pod("big").req(cpu="4").priority(5),)) == "Insufficient cpu"


def test_own_nomination_does_not_count() -> None:
    """The room it has been waiting for is its own."""
    present = [pod(f"low-{number}", started=number) for number in range(4)]
    preemptor = make_pod("p").req(cpu="1").priority(5)
    assert victims(preemptor, *present, nominated=(preemptor,)) == ["low-3"]


def test_a_pod_that_fits_needs_no_victims() -> None:
    """The node may have become free since the attempt; every pod is reprieved."""
    snapshot = snapshot_of(_NODE, make_node("full").capacity(cpu="1"), pod("low"))
    snapshot.nominator.add(parsed(make_pod("own").req(cpu="4").priority(5)), "n1")
    attempt = failed_attempt(snapshot, parsed(make_pod("p").req(cpu="2").priority(5)))
    snapshot.nominator.clear()
    snapshot.refresh()
    info = snapshot.node_info(0)
    assert info is not None
    assert select_victims_on_node(attempt.check, info) == ()


def test_the_sum_is_shifted() -> None:
    """Σ (priority + 2^31): never negative, so that more victims never make a smaller sum."""
    lowest, highest = (parsed(make_pod("v").priority(priority)) for priority in (-(2**31), 2**31 - 1))
    assert priority_sum([lowest] * 3) == 0
    assert priority_sum([highest, lowest]) == 2**32 - 1
    assert priority_sum([]) == 0


def test_the_earliest_start_is_that_of_the_most_important() -> None:
    """Those of lower priority do not count; without any start it is later than every other."""
    high = [parsed(pod("a", priority=2, started=7)), parsed(pod("b", priority=2, started=5))]
    low = parsed(pod("c", started=1))
    at_five = datetime(2026, 1, 1, 12, 5, tzinfo=UTC).timestamp()
    assert earliest_start([*high, low]) == at_five
    assert earliest_start([parsed(pod("d", priority=3)), *high]) == float("inf")
    assert earliest_start([]) == float("inf")

"""Samples of the feasible nodes, as `percentageOfNodesToScore` asks for them."""

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from scheduler.config.loading import load_configuration
from scheduler.core.algorithm import Decision, ScheduleAlgorithm
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.node_sampling import NodeSampling, sample_size
from scheduler.core.framework.outcome import FEASIBLE, Outcome
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.plugins.registry import IN_TREE
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.framework.profiles import no_api_server
from tests.unit.core.plugins.asking import parsed, snapshot_of

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("percentage", "nodes", "enough"),
    [
        (None, 5_000, 5_000),
        (100, 5_000, 5_000),
        (0, 99, 99),
        (1, 99, 99),
        (0, 100, 100),
        (0, 1_000, 420),
        (0, 5_000, 500),
        (0, 20_000, 1_000),
        (30, 5_000, 1_500),
        (1, 5_000, 100),
        (99, 101, 100),
    ],
)
def test_how_many_are_enough(percentage: int | None, nodes: int, enough: int) -> None:
    """kube-scheduler's formula; absent means all, 0 adapts to the size, and nothing goes below 100."""
    assert sample_size(percentage, nodes) == enough


def worker(number: int, zone: str | None = None) -> NodeBuilder:
    node = make_node(f"n{number}").capacity(cpu="8", memory="16Gi", pods=110)
    return node if zone is None else node.label(**{ZONE: zone})


def outcome_of(snapshot: Snapshot, feasible: Callable[[int], bool] = lambda row: True) -> Outcome:
    """Verdicts on all rows; the total of a feasible row is its number."""
    fits = np.array([feasible(row) for row in range(snapshot.nodes.count)])
    rejected_by = np.where(fits, FEASIBLE, 0).astype(np.int8)
    totals = np.where(fits, np.arange(len(fits)), -1)
    return Outcome(slice(0, len(fits)), rejected_by, np.zeros(len(fits), np.int32), totals, int(fits.sum()))


def sampled(outcome: Outcome) -> list[int]:
    """The rows that are left, each with the total it had."""
    rows = np.flatnonzero(outcome.totals >= 0).tolist()
    assert [outcome.totals[row] for row in rows] == rows
    assert outcome.feasible == len(rows)
    return rows


def test_a_sample_begins_where_the_last_search_ended() -> None:
    """Every other of 400 nodes fits and 120 are enough: the second search wraps, the third goes on there."""
    snapshot, sampling = snapshot_of(*(worker(i) for i in range(400))), NodeSampling()
    even = [row for row in range(400) if row % 2 == 0]
    for expected in (even[:120], even[120:] + even[:40], even[40:160]):
        outcome = outcome_of(snapshot, lambda row: row % 2 == 0)
        evaluated = sampling.reduce(snapshot, outcome, 30)
        assert sampled(outcome) == sorted(expected)
        assert evaluated == (239 if expected[0] == 0 else 240)


def test_a_search_that_went_through_all_begins_at_the_same_place_again() -> None:
    """Where no more than enough nodes fit all of them count, and the start stays."""
    snapshot, sampling = snapshot_of(*(worker(i) for i in range(300))), NodeSampling()
    assert sampling.reduce(snapshot, outcome_of(snapshot), 50) == 150
    few = outcome_of(snapshot, lambda row: row < 150)
    assert sampling.reduce(snapshot, few, 50) == 300
    assert sampled(few) == list(range(150))
    rest = outcome_of(snapshot)
    sampling.reduce(snapshot, rest, 50)
    assert sampled(rest) == list(range(150, 300))


def test_verdicts_stay_as_they_are() -> None:
    """A node outside the sample was not rejected by anybody, and what was kept for other pods is not touched."""
    snapshot = snapshot_of(*(worker(i) for i in range(200)))
    outcome = outcome_of(snapshot)
    kept = outcome.totals
    NodeSampling().reduce(snapshot, outcome, 50)
    assert outcome.rejected_by.tolist() == [FEASIBLE] * 200
    assert kept.tolist() == list(range(200))


def test_zones_take_turns() -> None:
    """A sample has as many nodes of each zone as it can, however the nodes stand in the columns."""
    zones = ["a"] * 250 + ["b"] * 100 + ["c"] * 50
    snapshot = snapshot_of(*(worker(i, zone) for i, zone in enumerate(zones)))
    outcome = outcome_of(snapshot)
    NodeSampling().reduce(snapshot, outcome, 45)
    assert Counter(zones[row] for row in sampled(outcome)) == {"a": 65, "b": 65, "c": 50}


def test_the_order_follows_the_nodes() -> None:
    """A node that comes, goes or changes its zone is met in its turn; a heartbeat changes nothing."""
    cache = Cache()
    snapshot, sampling = Snapshot(ClusterState(cache)), NodeSampling()

    def taken() -> Counter[str]:
        snapshot.refresh()
        outcome = outcome_of(snapshot, lambda row: bool(snapshot.nodes.exists[row]))
        sampling.reduce(snapshot, outcome, 1)
        return Counter(zone_of[snapshot.nodes.names[row]] for row in sampled(outcome))

    zone_of = {f"n{i}": "a" for i in range(300)}
    for i in range(300):
        cache.add_node(worker(i, "a").obj())
    assert taken() == {"a": 100}
    for i in range(0, 300, 2):
        zone_of[f"n{i}"] = "b"
        cache.add_node(worker(i, "b").obj())
    assert taken() == {"a": 50, "b": 50}
    cache.add_node(worker(7, "a").capacity(cpu="4").obj())
    assert taken() == {"a": 50, "b": 50}
    for i in range(0, 300, 2):
        cache.remove_node(f"n{i}")
    assert taken() == {"a": 100}


class Sampled:
    """A profile that samples, on a cluster of its own."""

    def __init__(self, percentage: int | None, *nodes: NodeBuilder) -> None:
        (plugins,) = load_configuration(None).plugins.values()
        framework = Framework(
            "podium",
            plugins,
            {},
            IN_TREE,
            no_api_server(),
            SilentRecorder(),
            percentage_of_nodes_to_score=percentage,
        )
        self._algorithm = ScheduleAlgorithm(snapshot_of(*nodes), framework, random.Random(1))

    def decide(self, pod: PodBuilder) -> Decision:
        """One attempt; nothing is assumed."""
        with pytest.raises(StopIteration) as finished:
            next(self._algorithm.schedule(CycleState(), parsed(pod)))
        decision: Decision = finished.value.value
        return decision


def test_the_best_of_the_sample_is_chosen() -> None:
    """With half of the nodes enough, the best node of all is chosen only when it is its half's turn."""
    nodes = [
        worker(i) if i != 250 else make_node("n250").capacity(cpu="64", memory="256Gi", pods=110) for i in range(400)
    ]
    profile = Sampled(50, *nodes)
    first, second, third = (profile.decide(make_pod(f"p{i}").req(cpu="1")) for i in range(3))
    assert [(each.feasible, each.evaluated) for each in (first, second, third)] == [(200, 200)] * 3
    assert first.node_name in {f"n{i}" for i in range(200)}
    assert second.node_name == "n250"
    assert third.node_name in {f"n{i}" for i in range(200)}


def test_a_pod_that_fits_nowhere_was_looked_at_on_all_nodes() -> None:
    """The message counts every node, sample or not."""
    decision = Sampled(10, *(worker(i) for i in range(400))).decide(make_pod("p").req(cpu="9"))
    assert decision.diagnosis is not None
    assert decision.diagnosis.message().startswith("0/400 nodes are available: 400 Insufficient cpu.")
    assert decision.evaluated == 400

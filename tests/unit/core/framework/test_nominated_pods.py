"""Room that is held for nominated pods: who is kept out of it, and that it is no more than held.

Not covered here: that what is kept follows nominations that change (`test_evaluation.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, TypeAlias

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from scheduler.core.algorithm import decide
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.nominator import Nominator
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.outcome import FEASIBLE
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.cluster_life import SOME_NODES, SOME_PODS, SOME_PRIORITIES, named_node, named_pod, node_names
from tests.unit.core.framework.profiles import default_framework, framework_with
from tests.unit.core.framework.test_contracts import FirstOfEquals

HELD = make_pod("nominated").req(cpu="1")


def cluster(*nominated: tuple[PodBuilder, str], nodes: int = 1) -> Snapshot:
    """Nodes of one cpu, n1 and so on, and pods nominated to them."""
    cache, nominator = Cache(), Nominator()
    for name in node_names(nodes):
        cache.add_node(make_node(name).capacity(cpu="1").obj())
    for pod, node_name in nominated:
        nominator.add(parse_pod(pod.obj()), node_name)
    return Snapshot(ClusterState(cache, nominator))


def chosen(snapshot: Snapshot, pod: PodBuilder, framework: Framework | None = None) -> str | None:
    """The node a decision comes to, which must be the same with everything kept and when asked again."""
    used = framework or default_framework({})
    first, again = (decide(snapshot, parse_pod(pod.obj()), used, FirstOfEquals()).node_name for _ in range(2))
    assert first == again
    return first


@pytest.mark.parametrize(("priority", "fits"), [(4, False), (5, False), (6, True)])
def test_pods_of_no_higher_priority_are_kept_out(priority: int, fits: bool) -> None:
    """Room that is held counts as taken for equal and lower priority, and is open to a higher one."""
    snapshot = cluster((HELD.priority(5), "n1"))
    assert chosen(snapshot, make_pod("p").req(cpu="1").priority(priority)) == ("n1" if fits else None)


def test_the_room_left_beside_a_nominated_pod_is_free() -> None:
    """It is counted, not closed."""
    snapshot = cluster((make_pod("nominated").req(cpu="600m"), "n1"))
    assert chosen(snapshot, make_pod("p").req(cpu="400m")) == "n1"
    assert chosen(snapshot, make_pod("p").req(cpu="401m")) is None


def test_a_pod_is_not_kept_out_by_its_own_nomination() -> None:
    """Neither on the node it is nominated to nor elsewhere; to its twin the room is taken."""
    snapshot = cluster((HELD, "n1"), nodes=2)
    assert chosen(snapshot, HELD) == "n1"
    assert chosen(snapshot, make_pod("twin").req(cpu="1")) == "n2"
    assert chosen(snapshot, HELD) == "n1"


def test_the_reason_is_what_the_nominated_pod_takes() -> None:
    """A message as if it ran there: here its port."""
    snapshot = cluster((make_pod("nominated").host_port(80), "n1"))
    decision = decide(snapshot, parse_pod(make_pod("p").host_port(80).obj()), default_framework({}), FirstOfEquals())
    assert decision.diagnosis is not None
    text = "node(s) didn't have free ports for the requested pod ports"
    assert decision.diagnosis.message() == f"0/1 nodes are available: 1 {text}."


def test_several_nominated_pods_count_together() -> None:
    """Those that count: one of lower priority does not."""
    half = make_pod("first").req(cpu="500m")
    snapshot = cluster((half, "n1"), (make_pod("second").req(cpu="400m").priority(5), "n1"))
    assert chosen(snapshot, make_pod("p").req(cpu="200m")) is None
    assert chosen(snapshot, make_pod("p").req(cpu="200m").priority(1)) == "n1"


class Guests(FilterPlugin):
    """Lets a pod onto nodes that hold a number of pods within bounds; `depends` says how it is asked."""

    name: ClassVar[str] = "Guests"

    def __init__(self, depends: Depends, fewest: int, most: int) -> None:
        self.depends = depends  # type: ignore[misc]  # one class serves all kinds here
        self._bounds = (fewest, most)

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        return 0

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        pods = snapshot.nodes.pod_count[rows]
        fewest, most = self._bounds
        return np.where((pods < fewest) | (pods > most), 1, 0).astype(np.int32)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        return Status.of(Code.UNSCHEDULABLE, "wrong number of guests")


@pytest.mark.parametrize("depends", [Depends.ROW, Depends.CLUSTER])
def test_a_node_must_pass_with_them_and_without(depends: Depends) -> None:
    """Who needs a guest must not rely on one that is not there yet, who wants none must not take its place."""
    snapshot = cluster((make_pod("nominated"), "n1"))
    assert chosen(snapshot, make_pod("p"), framework_with(Guests(depends, fewest=1, most=9))) is None
    assert chosen(snapshot, make_pod("p"), framework_with(Guests(depends, fewest=0, most=0))) is None
    assert chosen(snapshot, make_pod("p"), framework_with(Guests(depends, fewest=0, most=1))) == "n1"
    assert chosen(snapshot, make_pod("p").priority(1), framework_with(Guests(depends, fewest=0, most=0))) == "n1"


Nominated: TypeAlias = "list[tuple[PodBuilder, int, int]]"
"""Shape, priority, and number of the node."""

_COUNT = 4


@settings(max_examples=100, deadline=None)
@given(
    st.lists(SOME_NODES, min_size=_COUNT, max_size=_COUNT),
    st.lists(st.tuples(SOME_PODS, st.integers(0, _COUNT - 1)), max_size=6),
    st.lists(st.tuples(SOME_PODS, SOME_PRIORITIES, st.integers(0, _COUNT - 1)), min_size=1, max_size=6),
    SOME_PODS,
    SOME_PRIORITIES,
)
def test_verdicts_are_those_of_two_clusters(
    shapes: list[NodeBuilder],
    placed: list[tuple[PodBuilder, int]],
    nominated: Nominated,
    asked: PodBuilder,
    priority: int,
) -> None:
    """A node passes if it does in a cluster where the nominated pods run and in one where there are none."""
    nodes = [named_node(shape, name) for shape, name in zip(shapes, node_names(_COUNT), strict=True)]
    nominator = Nominator()
    with_them, without, real = Cache(), Cache(), Cache()
    for node in nodes:
        for cache in (with_them, without, real):
            cache.add_node(node)
    for number, (shape, row) in enumerate(placed):
        for cache in (with_them, without, real):
            cache.add_pod(parse_pod(named_pod(shape, f"p{number}")), nodes[row].metadata.name)
    for number, (shape, held, row) in enumerate(nominated):
        info = parse_pod(named_pod(shape, f"nominated-{number}", held))
        nominator.add(info, nodes[row].metadata.name)
        if held >= priority:
            with_them.add_pod(info, nodes[row].metadata.name)
    pod, framework = parse_pod(named_pod(asked, "asked", priority)), default_framework({})
    first, second = (verdicts(framework, pod, Snapshot(ClusterState(cache))) for cache in (with_them, without))
    expected = [second[row] if first[row][0] == FEASIBLE else first[row] for row in range(_COUNT)]
    snapshot = Snapshot(ClusterState(real, nominator))
    assert verdicts(framework, pod, snapshot) == expected
    kept = framework.evaluations.filter(CycleState(), pod, snapshot, frozenset())
    assert list(zip(kept.rejected_by.tolist(), kept.verdicts.tolist(), strict=True)) == expected


def verdicts(framework: Framework, pod: PodInfo, snapshot: Snapshot) -> list[tuple[int, int]]:
    """Who rejects each row, and how."""
    snapshot.refresh()
    rows = slice(0, snapshot.nodes.count)
    outcome = framework.evaluations.evaluate_rows(CycleState(), pod, snapshot, rows)
    return list(zip(outcome.rejected_by.tolist(), outcome.verdicts.tolist(), strict=True))

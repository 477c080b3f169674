"""What is kept between pods gives the same answers as a process that starts now.

Random changes of the cluster, nominations among them, are interleaved with decisions, so that results are caught up
over one row, a few and many, after the log was cut, and after they were thrown away to make room.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from scheduler.api.types import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from scheduler.config.plugin_args import (
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.nominator import Nominator
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.evaluation import RowEvaluations
from scheduler.core.framework.outcome import FEASIBLE, INFEASIBLE, NO_NODE, FullEvaluation, Outcome
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.score_shares import score_shares
from scheduler.core.framework.types import PodInfo
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.cluster_life import (
    GPU,
    SOME_NODES,
    SOME_PODS,
    SOME_PRIORITIES,
    ClusterLife,
    Event,
    events,
    named_pod,
    node_names,
    nominations,
)
from tests.unit.core.framework.profiles import default_framework

NODES = 30
_SHAPE = (UtilizationShapePoint(utilization=0, score=9), UtilizationShapePoint(utilization=80, score=0))
_WISH = PreferredSchedulingTerm(7, NodeSelectorTerm((NodeSelectorRequirement("disk", "Exists"),)))
OTHER_ARGS = {
    "NodeResourcesFit": NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(
            type=ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO,
            resources=(ResourceSpec(name="cpu", weight=2), ResourceSpec(name=GPU)),
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=_SHAPE),
        )
    ),
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs(
        resources=(ResourceSpec(name="cpu"), ResourceSpec(name="memory"), ResourceSpec(name=GPU))
    ),
    "NodeAffinity": NodeAffinityArgs(
        added_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=(_WISH,))
    ),
}


def forgetful_framework() -> Framework:
    """A profile that keeps two results of a kind at most."""
    framework = default_framework({})
    framework.evaluations = RowEvaluations(framework.filters, framework.scores, SilentRecorder(), limit_bytes=1)
    return framework


Turn: TypeAlias = "tuple[list[Event], tuple[PodBuilder, int, int], list[tuple[PodBuilder, int]]]"
"""What happens, a shape of pods assumed on so many nodes from one on, and the pods (with priorities) then asked about.
"""

TURNS: Final = st.lists(
    st.tuples(
        st.lists(st.one_of(events(NODES, pods=40), nominations(9, pods=6)), min_size=1, max_size=5),
        st.tuples(SOME_PODS, st.integers(0, NODES - 1), st.sampled_from([0, 0, 0, 5, 15])),
        st.lists(st.tuples(SOME_PODS, SOME_PRIORITIES), min_size=3, max_size=5),
    ),
    min_size=6,
    max_size=10,
)
SOME_CLUSTERS: Final = st.sampled_from([2, 5, 9, NODES]).flatmap(
    lambda count: st.lists(SOME_NODES, min_size=count, max_size=count)
)


@settings(max_examples=30, deadline=None)
@given(SOME_CLUSTERS, TURNS)
def test_kept_answers_equal_fresh_ones(nodes: list[NodeBuilder], turns: list[Turn]) -> None:
    """Verdicts, statuses, the ranking of nodes and what makes their totals are those of a process that starts now."""
    life = ClusterLife()
    for name, node in zip(node_names(NODES), nodes, strict=False):
        life.write_node(node, name)
    snapshot = Snapshot(ClusterState(life.cache, life.nominator))
    snapshot.node_changes, snapshot.row_changes = ChangeLog(limit=20), ChangeLog(limit=40)
    frameworks = (default_framework({}), default_framework(OTHER_ARGS), forgetful_framework())
    for happening, (shape, first, count), asked in turns:
        for event in happening:
            life.happen(event)
        for number, node_name in enumerate(node_names(NODES)[first : first + count]):
            life.assume(shape, f"p{number}", node_name)
        fresh_snapshot = snapshot_of(life)
        for pod in (parse_pod(named_pod(shape, "asked", priority)) for shape, priority in asked):
            for framework in frameworks:
                anew = evaluate_anew(framework, pod, fresh_snapshot)
                assert ranking(framework, pod, snapshot) == by_node(anew, fresh_snapshot, framework, pod)
                assert shares(framework, pod, snapshot) == by_plugin(anew, fresh_snapshot)


def test_pods_that_read_alike_now_may_not_do_so_later() -> None:
    """Two pods whose images are nowhere share a result; an image that comes to a node counts for its own pod only."""
    life = ClusterLife()
    for name in node_names(3):
        life.write_node(make_node(""), name)
    snapshot = Snapshot(ClusterState(life.cache))
    framework = default_framework({})
    first, second = (parse_pod(make_pod(name).container(f"{name}:1").obj()) for name in ("app", "db"))
    assert ranking(framework, first, snapshot) == ranking(framework, second, snapshot)
    life.write_node(make_node("").image("app:1", size_bytes=3_000_000_000), "n2")
    assert ranking(framework, second, snapshot) == {"n1": 0, "n2": 0, "n3": 0}
    assert ranking(framework, first, snapshot) == {"n1": 95, "n2": 0, "n3": 95}


@settings(max_examples=40, deadline=None)
@given(st.lists(SOME_NODES, max_size=9), st.lists(events(9, pods=9), max_size=15), SOME_PODS, st.data())
def test_verdicts_do_not_depend_on_the_rows_asked_about(
    nodes: list[NodeBuilder], happening: list[Event], shape: PodBuilder, data: st.DataObject
) -> None:
    """Some rows in any order get the verdicts that they get among all."""
    life = ClusterLife()
    for name, node in zip(node_names(9), nodes, strict=False):
        life.write_node(node, name)
    for event in happening:
        life.happen(event)
    snapshot = snapshot_of(life)
    rows = (
        data.draw(st.lists(st.sampled_from(range(snapshot.nodes.count)), unique=True)) if snapshot.nodes.count else []
    )
    pod = parse_pod(named_pod(shape, "asked"))
    framework = default_framework({})
    everything = evaluate_anew(framework, pod, snapshot)
    some = framework.evaluations.evaluate_rows(CycleState(), pod, snapshot, np.array(rows, np.intp))
    assert some.rejected_by.tolist() == everything.rejected_by[rows].tolist()
    assert some.verdicts.tolist() == everything.verdicts[rows].tolist()


def snapshot_of(life: ClusterLife) -> Snapshot:
    """What a process that starts now sees."""
    cache = Cache()
    for node in reversed(life.nodes.values()):
        cache.add_node(node)
    for placed in reversed(life.placed.values()):
        cache.add_pod(placed.pod, placed.node_name)
    nominator = Nominator()
    for node_name in life.nominator.nodes():
        for pod in life.nominator.on_node(node_name):
            nominator.add(pod, node_name)
    snapshot = Snapshot(ClusterState(cache, nominator))
    snapshot.refresh()
    return snapshot


def ranking(framework: Framework, pod: PodInfo, snapshot: Snapshot) -> dict[str, object]:
    """How far each node lies below the best, from what is kept."""
    snapshot.refresh()
    kept = framework.evaluations.filter(CycleState(), pod, snapshot, frozenset())
    framework.evaluations.score(CycleState(), pod, snapshot, kept)
    return by_node(kept, snapshot, framework, pod)


def shares(framework: Framework, pod: PodInfo, snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """What each plugin gives to each feasible node, taken from what is kept."""
    state = CycleState()
    kept = framework.evaluations.filter(state, pod, snapshot, frozenset())
    framework.evaluations.score(state, pod, snapshot, kept)
    rows = np.flatnonzero(kept.totals >= 0)
    names = [snapshot.nodes.names[row] for row in rows.tolist()]
    by_name = score_shares(framework.scores, state, pod, snapshot, kept, rows)
    return {plugin: dict(zip(names, scores, strict=True)) for plugin, scores in by_name.items()}


def by_plugin(anew: FullEvaluation, snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """The same from a full evaluation."""
    rows = np.flatnonzero(anew.totals >= 0).tolist()
    return {
        plugin: {snapshot.nodes.names[row]: int(scores[row]) for row in rows}
        for plugin, scores in anew.weighted.items()
    }


def evaluate_anew(framework: Framework, pod: PodInfo, snapshot: Snapshot) -> FullEvaluation:
    return framework.evaluations.evaluate_rows(CycleState(), pod, snapshot, slice(0, snapshot.nodes.count))


def by_node(outcome: Outcome, snapshot: Snapshot, framework: Framework, pod: PodInfo) -> dict[str, object]:
    """Each node's status, or how far its total lies below the best: scores that all nodes share may be left out."""
    assert outcome.feasible == outcome.rejected_by.tolist().count(FEASIBLE)
    best = int(outcome.totals.max(initial=INFEASIBLE))
    answers: dict[str, object] = {}
    for row, rejected_by in enumerate(outcome.rejected_by.tolist()):
        if rejected_by == FEASIBLE:
            assert outcome.totals[row] >= 0
            answers[snapshot.nodes.names[row]] = best - int(outcome.totals[row])
        else:
            assert outcome.totals[row] == INFEASIBLE
        if rejected_by not in (FEASIBLE, NO_NODE):
            plugin = framework.filters[rejected_by]
            answers[snapshot.nodes.names[row]] = (plugin.name, plugin.status(pod, int(outcome.verdicts[row])))
    return answers

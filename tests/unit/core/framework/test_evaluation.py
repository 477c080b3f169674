"""What is kept between pods gives the same answers as a process that starts now.

Random changes of the cluster are interleaved with decisions, so that results are caught up over one row, a few and
many, after the log was cut, and after they were thrown away to make room.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

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
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.evaluation import FEASIBLE, INFEASIBLE, NO_NODE, FullEvaluation, Outcome, RowEvaluations
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.types import PodInfo
from scheduler.testing import NodeBuilder, PodBuilder
from tests.unit.core.cluster_life import GPU, SOME_NODES, SOME_PODS, ClusterLife, named_pod
from tests.unit.core.framework.profiles import default_framework

NODE_NAMES = [f"n{number}" for number in range(1, 31)]
A_NODE = st.sampled_from(NODE_NAMES)
A_POD = st.sampled_from([f"p{number}" for number in range(40)])

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


class EvaluationMachine(RuleBasedStateMachine):
    """Life in the cluster; decisions at random moments are compared with those of a fresh process."""

    def __init__(self) -> None:
        super().__init__()
        self.life = ClusterLife()
        self.snapshot = Snapshot(self.life.cache)
        self.snapshot.node_changes = ChangeLog(limit=20)
        self.snapshot.row_changes = ChangeLog(limit=40)
        self.frameworks = (default_framework({}), default_framework(OTHER_ARGS), forgetful_framework())
        self.fresh_frameworks = (default_framework({}), default_framework(OTHER_ARGS), default_framework({}))

    @initialize(
        shapes=st.lists(SOME_NODES, min_size=len(NODE_NAMES), max_size=len(NODE_NAMES)), count=st.integers(0, 30)
    )
    def start_with_nodes(self, shapes: list[NodeBuilder], count: int) -> None:
        for name, shape in zip(NODE_NAMES[:count], shapes, strict=False):
            self.life.write_node(shape, name)

    @rule(shape=SOME_NODES, name=A_NODE)
    def write_node(self, shape: NodeBuilder, name: str) -> None:
        self.life.write_node(shape, name)

    @rule(name=A_NODE)
    def delete_node(self, name: str) -> None:
        self.life.delete_node(name)

    @rule(shape=SOME_PODS, name=A_POD, node_name=A_NODE)
    def assume(self, shape: PodBuilder, name: str, node_name: str) -> None:
        self.life.assume(shape, name, node_name)

    @rule(shape=SOME_PODS, first=st.integers(0, 15), count=st.integers(2, 25))
    def assume_on_many_nodes(self, shape: PodBuilder, first: int, count: int) -> None:
        for number, node_name in enumerate(NODE_NAMES[first : first + count], start=first):
            self.life.assume(shape, f"p{number}", node_name)

    @rule(name=A_POD)
    def forget(self, name: str) -> None:
        self.life.forget(name)

    @rule(shape=SOME_PODS, name=A_POD, node_name=A_NODE)
    def show(self, shape: PodBuilder, name: str, node_name: str) -> None:
        self.life.show(shape, name, node_name)

    @rule(name=A_POD)
    def remove(self, name: str) -> None:
        self.life.remove(name)

    @rule(shapes=st.lists(SOME_PODS, min_size=1, max_size=3))
    def decide(self, shapes: list[PodBuilder]) -> None:
        self.snapshot.refresh()
        fresh_snapshot = snapshot_of(self.life)
        for shape in shapes:
            pod = parse_pod(named_pod(shape, "asked"))
            for framework, fresh in zip(self.frameworks, self.fresh_frameworks, strict=True):
                kept = framework.evaluations.filter(CycleState(), pod, self.snapshot, frozenset())
                framework.evaluations.score(CycleState(), pod, self.snapshot, kept)
                anew = evaluate_anew(fresh, pod, fresh_snapshot)
                assert by_node(kept, self.snapshot, framework, pod) == by_node(anew, fresh_snapshot, fresh, pod)

    @rule(shape=SOME_PODS, rows=st.lists(st.integers(0, 29), unique=True))
    def look_at_some_rows(self, shape: PodBuilder, rows: list[int]) -> None:
        """Verdicts do not depend on which rows are asked about."""
        self.snapshot.refresh()
        pod = parse_pod(named_pod(shape, "asked"))
        evaluations = self.frameworks[0].evaluations
        some = np.array([row for row in rows if row < self.snapshot.nodes.count], np.intp)
        everything = evaluations.evaluate_rows(CycleState(), pod, self.snapshot, slice(0, self.snapshot.nodes.count))
        partly = evaluations.evaluate_rows(CycleState(), pod, self.snapshot, some)
        assert partly.rejected_by.tolist() == everything.rejected_by[some].tolist()
        assert partly.verdicts.tolist() == everything.verdicts[some].tolist()


def snapshot_of(life: ClusterLife) -> Snapshot:
    """What a process that starts now sees."""
    cache = Cache()
    for node in reversed(life.nodes.values()):
        cache.add_node(node)
    for placed in reversed(life.placed.values()):
        cache.add_pod(placed.pod, placed.node_name)
    snapshot = Snapshot(cache)
    snapshot.refresh()
    return snapshot


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


EvaluationMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestEvaluation = EvaluationMachine.TestCase

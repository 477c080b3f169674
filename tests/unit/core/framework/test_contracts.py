"""What the framework makes of plugins that keep their contract, and of those that do not.

The plugins here are such as users write; the in-tree ones have tests of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar

import numpy as np
import pytest
from msgspec.structs import replace

from scheduler.config.loading import load_configuration
from scheduler.core.algorithm import Decision, ScheduleAlgorithm, decide
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import (
    BindPlugin,
    Depends,
    FilterPlugin,
    Normalize,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Rows,
    ScorePlugin,
)
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo
from scheduler.core.plugins.registry import IN_TREE
from scheduler.testing import make_node, make_pod
from tests.unit.core.framework.profiles import framework_with, giving, no_api_server

U, UU = Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE


class FirstOfEquals:
    """Takes the first of equal nodes."""

    def randrange(self, stop: int) -> int:
        return 0


class Points(ScorePlugin):
    """Scores by a function of the row and the number of pods there."""

    name: ClassVar[str] = "Points"

    def __init__(
        self, score: Callable[[int, int], int], depends: Depends, normalization: Normalize = Normalize.NONE
    ) -> None:
        self.depends = depends  # type: ignore[misc]  # one class serves all kinds here
        self.normalization = normalization  # type: ignore[misc]
        self._score = score

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        return 0

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        everything = [self._score(row, int(pods)) for row, pods in enumerate(snapshot.nodes.pod_count)]
        return np.array(everything, np.int64)[rows]


class Allowing(FilterPlugin):
    """Lets a pod onto some rows only, by what stands in the cluster as a whole."""

    name: ClassVar[str] = "Allowing"
    depends: ClassVar[Depends] = Depends.CLUSTER

    def __init__(self, rows: Callable[[int], set[int]]) -> None:
        self._rows = rows

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        return 0

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        allowed = self._rows(int(snapshot.nodes.pod_count.sum()))
        return np.array([int(row not in allowed) for row in range(snapshot.nodes.count)], np.int32)[rows]

    def status(self, pod: PodInfo, verdict: int) -> Status:
        return Status.of(U, "node(s) not allowed")


class Narrowing(PreFilterPlugin):
    """Answers PreFilter as it is told."""

    depends: ClassVar[Depends] = Depends.CLUSTER

    def __init__(self, name: str, answer: PreFilterResult | Status | None) -> None:
        self.name = name  # type: ignore[misc]
        self._answer = answer
        self.asked = 0

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        self.asked += 1
        return self._answer


class Cluster:
    """Five equal nodes, n0 to n4, and a profile."""

    def __init__(self, framework: Framework) -> None:
        self.cache = Cache()
        self.snapshot = Snapshot(ClusterState(self.cache))
        self.framework = framework
        self.placed = 0
        for number in range(5):
            self.cache.add_node(make_node(f"n{number}").obj())

    def decide(self) -> Decision:
        pod = parse_pod(make_pod("p").req(cpu="100m").obj())
        return decide(self.snapshot, pod, self.framework, FirstOfEquals())

    def place(self, node_name: str) -> None:
        self.placed += 1
        self.cache.assume_pod(parse_pod(make_pod(f"placed-{self.placed}").obj()), node_name)

    def message(self) -> str:
        decision = self.decide()
        assert decision.diagnosis is not None
        return decision.diagnosis.message()


@pytest.mark.parametrize("depends", Depends)
@pytest.mark.parametrize(
    ("normalization", "chosen"),
    [(Normalize.NONE, "n4"), (Normalize.DEFAULT, "n4"), (Normalize.REVERSED, "n0")],
)
def test_scores_count_whatever_they_depend_on(depends: Depends, normalization: Normalize, chosen: str) -> None:
    """Raw, normalised or reversed: the node is the one that the points favour."""
    cluster = Cluster(framework_with(Points(lambda row, pods: row, depends, normalization), weight=100))
    assert cluster.decide().node_name == chosen


@pytest.mark.parametrize("depends", [Depends.ROW, Depends.CLUSTER])
@pytest.mark.parametrize("normalization", [Normalize.DEFAULT, Normalize.REVERSED])
def test_normalised_scores_follow_placements(depends: Depends, normalization: Normalize) -> None:
    """A placement on one node may change the normalised scores of all."""
    plugin = Points(lambda row, pods: 10 * pods + row, depends, normalization)
    cluster = Cluster(framework_with(plugin, weight=100))
    favours_full = normalization is Normalize.DEFAULT
    assert cluster.decide().node_name == ("n4" if favours_full else "n0")
    cluster.place("n0")
    assert cluster.decide().node_name == ("n0" if favours_full else "n1")
    cluster.place("n1")
    assert cluster.decide().node_name == ("n1" if favours_full else "n2")


@pytest.mark.parametrize("depends", Depends)
@pytest.mark.parametrize("points", [-1, 101])
def test_scores_out_of_bounds_are_a_fault_of_the_plugin(depends: Depends, points: int) -> None:
    """They are never added up, whether all nodes are scored or one that changed."""
    from_start = Cluster(framework_with(Points(lambda row, pods: points if row == 3 else 0, depends)))
    with pytest.raises(PluginError, match="Points"):
        from_start.decide()
    later = Cluster(framework_with(Points(lambda row, pods: points if pods else 0, depends)))
    if depends is not Depends.NODE:
        later.decide()
        later.place("n2")
        with pytest.raises(PluginError, match=r"outside 0\.\.100"):
            later.decide()


def test_filters_that_depend_on_the_cluster_are_asked_every_time() -> None:
    """Nothing is kept of them, and nodes they reject have their reason."""
    cluster = Cluster(framework_with(Allowing(lambda pods: {pods})))
    for number in range(3):
        decision = cluster.decide()
        assert (decision.node_name, decision.feasible) == (f"n{number}", 1)
        cluster.place("n4")
    cluster.framework = framework_with(Allowing(lambda pods: set()))
    assert cluster.message() == "0/5 nodes are available: 5 node(s) not allowed."


def test_narrowed_sets_are_intersected() -> None:
    """Nodes outside are not looked at; their reason names those who narrowed, sorted."""
    narrowing = (
        Narrowing("B", PreFilterResult(frozenset({"n1", "n2", "n9"}))),
        Narrowing("A", PreFilterResult(frozenset({"n2", "n3"}))),
    )
    cluster = Cluster(framework_with(*narrowing))
    decision = cluster.decide()
    assert (decision.node_name, decision.feasible, decision.evaluated) == ("n2", 1, 1)
    cluster.framework = framework_with(*narrowing, Allowing(lambda pods: set()))
    assert (
        cluster.message() == "0/5 nodes are available: 1 node(s) not allowed, 4 node(s) didn't satisfy plugin(s) [A B]."
    )


def test_sets_with_nothing_in_common_reject_the_pod() -> None:
    """The message names the plugins; one plugin alone may give an empty set, too."""
    some, others = (PreFilterResult(frozenset(names)) for names in ({"n1"}, {"n2"}))
    cluster = Cluster(framework_with(Narrowing("B", some), Narrowing("A", others)))
    expected = "0/5 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously."
    assert cluster.message() == expected
    cluster.framework = framework_with(Narrowing("A", PreFilterResult(frozenset())))
    assert cluster.message() == "0/5 nodes are available: node(s) didn't satisfy plugin A."


def test_an_unresolvable_rejection_ends_the_attempt_at_once() -> None:
    """Plugins after it are not asked; a resolvable one lets them be asked, the first of them is told."""
    last = Narrowing("Last", None)
    cluster = Cluster(framework_with(Narrowing("A", Status.of(UU, "never")), last))
    assert cluster.message() == "0/5 nodes are available: never."
    assert last.asked == 0
    rejecting = (Narrowing("A", Status.of(U, "not now")), Narrowing("B", Status.of(U, "nor now")))
    cluster.framework = framework_with(*rejecting, last)
    assert cluster.message() == "0/5 nodes are available: not now."
    assert last.asked == 1
    decision = cluster.decide()
    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == {"A"}


class SkippingFilter(Narrowing, Allowing):
    """Says in PreFilter that its filter, which would reject every node, has nothing to do."""

    def __init__(self) -> None:
        Allowing.__init__(self, lambda pods: set())
        Narrowing.__init__(self, "Skipping", Status.of(Code.SKIP))


def test_a_skipped_filter_is_not_asked() -> None:
    """The plugin said so for this cycle: not where all nodes are looked at, nor a few, nor one again."""
    cluster = Cluster(framework_with(SkippingFilter()))
    assert cluster.decide().feasible == 5
    cluster.framework = framework_with(SkippingFilter(), Narrowing("A", PreFilterResult(frozenset({"n1"}))))
    assert cluster.decide().node_name == "n1"
    pod = parse_pod(make_pod("p").obj())
    algorithm = ScheduleAlgorithm(cluster.snapshot, cluster.framework, FirstOfEquals())
    evaluation = algorithm.evaluate(CycleState(), pod)[1]
    assert evaluation is not None
    assert evaluation.feasible == 1
    assert algorithm.fits(CycleState(), pod, "n1")


def test_a_node_is_looked_at_again_after_a_wait() -> None:
    """On the state as it is then: filters, PreFilter and the node's being there count anew."""
    cluster = Cluster(framework_with(Allowing(lambda pods: {1, 2} if pods < 1 else {2})))
    pod = parse_pod(make_pod("p").obj())
    algorithm = ScheduleAlgorithm(cluster.snapshot, cluster.framework, FirstOfEquals())
    assert [algorithm.fits(CycleState(), pod, f"n{number}") for number in range(5)] == [False, True, True, False, False]
    cluster.place("n4")
    assert not algorithm.fits(CycleState(), pod, "n1")
    cluster.cache.remove_node("n2")
    assert not algorithm.fits(CycleState(), pod, "n2")
    for answer in (PreFilterResult(frozenset({"n0"})), Status.of(UU, "never")):
        narrowed = framework_with(Narrowing("A", answer))
        assert not ScheduleAlgorithm(cluster.snapshot, narrowed, FirstOfEquals()).fits(CycleState(), pod, "n1")


def test_without_nodes_there_is_one_message() -> None:
    """Whatever the plugins would say."""
    cluster = Cluster(framework_with(Narrowing("A", Status.of(UU, "never"))))
    for number in range(5):
        cluster.cache.remove_node(f"n{number}")
    assert cluster.message() == "no nodes available to schedule pods"


def test_reasons_are_counted_and_sorted_as_texts() -> None:
    """A node with two reasons counts in both, and 10 comes before 2."""
    cluster = Cluster(framework_with())
    for number in range(5):
        cluster.cache.add_node(make_node(f"n{number}").capacity(cpu="10m", pods=0).obj())
    for number in range(5, 15):
        cluster.cache.add_node(make_node(f"n{number}").taint("a").obj())
    assert (
        cluster.message()
        == "0/15 nodes are available: 10 node(s) had untolerated taint(s), 5 Insufficient cpu, 5 Too many pods."
    )


class Steps(ReservePlugin, PreBindPlugin, BindPlugin):
    """Writes down what it is asked, and answers as it is told."""

    def __init__(self, name: str, log: list[str], **answers: Status) -> None:
        self.name = name  # type: ignore[misc]
        self._log = log
        self._answers = answers

    def _answer(self, step: str) -> Status | None:
        self._log.append(f"{self.name} {step}")
        return self._answers.get(step)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._answer("reserve")

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._answer("unreserve")

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._answer("pre_bind")

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._answer("bind")


async def test_steps_after_the_choice_run_in_order_and_back() -> None:
    """The first status ends a step and has its plugin's name; unreserve goes backwards through all."""
    log: list[str] = []
    state, pod = CycleState(), parse_pod(make_pod("p").obj())
    failing = framework_with(
        Steps("A", log),
        Steps("B", log, reserve=Status.of(U, "none left"), pre_bind=Status.of(U, "no")),
        Steps("C", log),
    )
    assert failing.reserve(state, pod, "n1") == Status.of(U, "none left", plugin="B")
    failing.unreserve(state, pod, "n1")
    assert await failing.pre_bind(state, pod, "n1") == Status.of(U, "no", plugin="B")
    assert log == [
        *("A reserve", "B reserve", "C unreserve", "B unreserve", "A unreserve", "A pre_bind", "B pre_bind"),
    ]


async def test_the_first_that_does_not_skip_binds() -> None:
    """DefaultBinder stands before those added here, so it is left out."""
    log: list[str] = []
    (plugins,) = load_configuration(None).plugins.values()
    binders = {"A": Steps("A", log, bind=Status.of(Code.SKIP)), "B": Steps("B", log), "C": Steps("C", log)}
    registry = {**IN_TREE, **{name: giving(binder) for name, binder in binders.items()}}
    framework = Framework("p", replace(plugins, bind=tuple(binders)), {}, registry, no_api_server(), SilentRecorder())
    assert await framework.bind(CycleState(), parse_pod(make_pod("p").obj()), "n1") is None
    assert log == ["A bind", "B bind"]


def test_unknown_plugins_are_named() -> None:
    """With what is known."""
    (plugins,) = load_configuration(None).plugins.values()
    registry = {name: factory for name, factory in IN_TREE.items() if name != "NodeName"}
    with pytest.raises(ValueError, match="'NodeName' is not known"):
        Framework("p", plugins, {}, registry, no_api_server(), SilentRecorder())

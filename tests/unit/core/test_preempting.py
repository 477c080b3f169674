"""A pod that fits nowhere: what PostFilter makes of it, the plan, and the pod on its nominated node afterwards.

Not covered here: whom DefaultPreemption chooses (`plugins/test_default_preemption.py`).
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scheduler.config.loading import load_configuration
from scheduler.core.algorithm import Decision, ScheduleAlgorithm, decide
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.nominator import Nominator
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
)
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.requests import PreemptionPlan
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.registry import IN_TREE
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.framework.profiles import default_framework, framework_with, giving, no_api_server
from tests.unit.core.framework.test_contracts import FirstOfEquals, Narrowing
from tests.unit.core.plugins.asking import parsed

U, UU = Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE
PREEMPTOR = make_pod("p").req(cpu="1").priority(5)


class Cluster:
    """Nodes n1 to n3 of one cpu, each full with a pod of priority 0, 1 and 2, and a profile."""

    def __init__(self, framework: Framework | None = None) -> None:
        self.cache, self.nominator = Cache(), Nominator()
        self.snapshot = Snapshot(ClusterState(self.cache, self.nominator))
        self.framework = framework or default_framework({})
        for number in range(1, 4):
            name = f"n{number}"
            self.cache.add_node(make_node(name).capacity(cpu="1").obj())
            self.place(make_pod(f"on-{name}").req(cpu="1").priority(number - 1), name)

    def place(self, pod: PodBuilder, node_name: str) -> None:
        self.cache.add_pod(parsed(pod.node(node_name)), node_name)

    def leave(self, name: str) -> None:
        self.cache.remove_pod(make_pod(name).obj().metadata.uid)

    def decide(self, pod: PodBuilder | PodInfo) -> Decision:
        info = parsed(pod) if isinstance(pod, PodBuilder) else pod
        return decide(self.snapshot, info, self.framework, FirstOfEquals())

    def preempt(self, decision: Decision) -> PreemptionPlan | None:
        algorithm = ScheduleAlgorithm(self.snapshot, self.framework, FirstOfEquals())
        plans = list(algorithm.preempt(CycleState(), decision))
        assert len(plans) <= 1
        return plans[0] if plans else None


# --- the plan


def test_the_pod_is_nominated_by_the_time_the_plan_is_asked_for() -> None:
    """In memory, so that the next cycle already holds the room, whatever the cluster says of the writes."""
    cluster = Cluster()
    decision = cluster.decide(PREEMPTOR)
    plan = cluster.preempt(decision)
    assert plan is not None
    assert (plan.preemptor, plan.node_name) == (decision.pod, "n1")
    assert [victim.name for victim in plan.victims] == ["on-n1"]
    assert plan.withdrawn == ()
    assert [pod.name for pod in cluster.nominator.on_node("n1")] == ["p"]
    cluster.leave("on-n1")
    assert cluster.decide(make_pod("thief").req(cpu="1").priority(5)).node_name is None
    assert cluster.decide(PREEMPTOR).node_name == "n1"


def test_lower_nominations_to_the_node_are_withdrawn() -> None:
    """They would count on room that is gone; equal and higher ones, and those to other nodes, stay."""
    cluster = Cluster()
    for name, priority, node_name in (("low", 4, "n1"), ("equal", 5, "n1"), ("elsewhere", 4, "n2")):
        cluster.nominator.add(parsed(make_pod(name).priority(priority)), node_name)
    plan = cluster.preempt(cluster.decide(PREEMPTOR))
    assert plan is not None
    assert plan.node_name == "n1"
    assert [pod.name for pod in plan.withdrawn] == ["low"]
    assert [pod.name for pod in cluster.nominator.on_node("n1")] == ["equal", "p"]
    assert [pod.name for pod in cluster.nominator.on_node("n2")] == ["elsewhere"]


def test_a_second_preemptor_takes_another_node() -> None:
    """The room that the first one is about to get is not there for its equal; a higher one may still take it."""
    cluster = Cluster()
    plans = [cluster.preempt(cluster.decide(make_pod(name).req(cpu="1").priority(5))) for name in "abc"]
    assert [plan and plan.node_name for plan in plans] == ["n1", "n2", "n3"]
    assert cluster.preempt(cluster.decide(make_pod("d").req(cpu="1").priority(5))) is None
    high = cluster.preempt(cluster.decide(make_pod("high").req(cpu="1").priority(6)))
    assert high is not None
    assert (high.node_name, [pod.name for pod in high.withdrawn]) == ("n1", ["a"])


def test_without_room_the_diagnosis_says_why() -> None:
    """And an earlier nomination is void."""
    cluster = Cluster()
    pod = parsed(make_pod("p").req(cpu="1"))
    cluster.nominator.add(pod, "n3")
    decision = cluster.decide(pod)
    assert cluster.preempt(decision) is None
    assert decision.diagnosis is not None
    assert decision.diagnosis.message() == (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
        "3 No preemption victims found for incoming pod."
    )
    assert decision.clears_nomination
    assert cluster.nominator.node_of(pod.uid) is None


def test_without_nodes_nobody_is_asked() -> None:
    """There is nothing to make room on."""
    cluster = Cluster(framework_with(Answering("A", AssertionError("asked"))))
    for number in range(1, 4):
        cluster.cache.remove_node(f"n{number}")
    decision = cluster.decide(PREEMPTOR)
    assert cluster.preempt(decision) is None
    assert decision.diagnosis is not None
    assert decision.diagnosis.message() == "no nodes available to schedule pods"


def test_without_the_plugin_there_is_no_preemption() -> None:
    """DefaultPreemption disabled in the profile: no plan, no nomination, no word of it."""
    cluster = Cluster(with_post_filters())
    decision = cluster.decide(PREEMPTOR)
    assert cluster.preempt(decision) is None
    assert list(cluster.nominator.nodes()) == []
    assert decision.diagnosis is not None
    assert decision.diagnosis.message() == "0/3 nodes are available: 3 Insufficient cpu."


# --- where it may help


def rows_of(*pre_filters: PreFilterPlugin, pod: PodBuilder = PREEMPTOR) -> list[str]:
    """The nodes that PostFilter plugins are asked about."""
    asked = Answering("A", PostFilterResult(Status.of(U)))
    cluster = Cluster(framework_with(*pre_filters, asked))
    cluster.framework = with_post_filters(asked, pre_filters=pre_filters)
    cluster.cache.add_node(make_node("n2").capacity(cpu="1").taint("a").obj())
    cluster.preempt(cluster.decide(pod))
    (attempt,) = asked.attempts
    return [attempt.snapshot.nodes.names[row] for row in attempt.rows]


def test_unresolvable_nodes_are_left_out() -> None:
    """A taint does not go with the pods of a node; nor does a request larger than it."""
    assert rows_of() == ["n1", "n3"]
    assert rows_of(pod=make_pod("p").req(cpu="2").priority(5)) == []


def test_nodes_that_pre_filter_left_out_are_left_out() -> None:
    """Rows are those of the nodes, not positions among the few that were looked at."""
    assert rows_of(Narrowing("N", PreFilterResult(frozenset({"n2", "n3"})))) == ["n3"]


@pytest.mark.parametrize(("code", "expected"), [(U, ["n1", "n2", "n3"]), (UU, [])])
def test_a_rejection_in_pre_filter_is_about_all_nodes(code: Code, expected: list[str]) -> None:
    """Removing pods may help against one that is resolvable."""
    assert rows_of(Narrowing("N", Status.of(code, "no"))) == expected


# --- the nominated node


def test_the_nominated_node_is_taken_without_looking_at_others() -> None:
    """Although another would have had a better score."""
    cluster = Cluster()
    cluster.leave("on-n3")
    cluster.cache.add_node(make_node("n4").capacity(cpu="64").obj())
    assert cluster.decide(PREEMPTOR).node_name == "n4"
    pod = parsed(PREEMPTOR)
    cluster.nominator.add(pod, "n3")
    decision = cluster.decide(pod)
    assert (decision.node_name, decision.feasible, decision.evaluated) == ("n3", 1, 1)


def test_when_the_nominated_node_fails_the_others_are_looked_at() -> None:
    """Still full, or gone; the room held for the pod is not taken for room."""
    cluster = Cluster()
    pod = parsed(PREEMPTOR)
    cluster.leave("on-n3")
    for nominated in ("n1", "gone"):
        cluster.nominator.add(pod, nominated)
        assert cluster.decide(pod).node_name == "n3"
    cluster.place(make_pod("back").req(cpu="1"), "n3")
    cluster.nominator.add(pod, "n1")
    decision = cluster.decide(pod)
    assert (decision.node_name, decision.evaluated) == (None, 3)
    assert decision.diagnosis is not None
    assert decision.diagnosis.message() == "0/3 nodes are available: 3 Insufficient cpu."


def test_the_verdict_on_the_nominated_node_is_the_pods_own() -> None:
    """What is kept for pods like it counts its nomination against them: its own port is not taken."""
    cluster = Cluster()
    pod = parsed(PREEMPTOR.host_port(80))
    cluster.nominator.add(pod, "n1")
    decision = cluster.decide(pod)
    assert decision.verdicts is not None
    reasons = {name: status.message for name, status in decision.verdicts.by_node().items() if status is not None}
    assert reasons == dict.fromkeys(("n1", "n2", "n3"), "Insufficient cpu")


def test_pre_filter_counts_for_the_nominated_node() -> None:
    """A node that a plugin has left out is not tried, nominated or not."""
    cluster = Cluster(framework_with(Narrowing("N", PreFilterResult(frozenset({"n2"})))))
    cluster.leave("on-n1")
    cluster.leave("on-n2")
    pod = parsed(PREEMPTOR)
    cluster.nominator.add(pod, "n1")
    assert cluster.decide(pod).node_name == "n2"
    cluster.framework = framework_with(Narrowing("N", PreFilterResult(frozenset({"n1"}))))
    assert cluster.decide(pod).node_name == "n1"
    cluster.framework = framework_with(Narrowing("N", Status.of(UU, "never")))
    assert cluster.decide(pod).node_name is None


def test_a_narrowed_pod_whose_nominated_node_fails_has_its_own_verdict() -> None:
    """The few nodes looked at are not all rows; the nominated one among them is found."""
    cluster = Cluster(framework_with(Narrowing("N", PreFilterResult(frozenset({"n2", "n3"})))))
    pod = parsed(PREEMPTOR)
    cluster.nominator.add(pod, "n3")
    cluster.leave("on-n2")
    assert cluster.decide(pod).node_name == "n2"


def test_equal_pods_see_the_nomination_of_the_one_that_was_asked() -> None:
    """The correction for the nominated pod is not kept for its twins."""
    cluster = Cluster()
    pod, twin = parsed(PREEMPTOR), parsed(make_pod("twin").req(cpu="1").priority(5))
    cluster.leave("on-n1")
    cluster.nominator.add(pod, "n1")
    assert cluster.decide(twin).node_name is None
    assert cluster.decide(pod).node_name == "n1"
    assert cluster.decide(twin).node_name is None


# --- several PostFilter plugins


class Answering(PostFilterPlugin):
    """Answers PostFilter as it is told."""

    def __init__(self, name: str, answer: PostFilterResult | Exception) -> None:
        self.name = name  # type: ignore[misc]
        self._answer = answer
        self.attempts: list[FailedAttempt] = []

    def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
        self.attempts.append(attempt)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def with_post_filters(*plugins: PostFilterPlugin, pre_filters: tuple[PreFilterPlugin, ...] = ()) -> Framework:
    """The default profile with these PostFilter plugins instead of its own."""
    (names,) = load_configuration(None).plugins.values()
    profile = replace(
        names,
        post_filter=tuple(plugin.name for plugin in plugins),
        pre_filter=(*names.pre_filter, *(plugin.name for plugin in pre_filters)),
    )
    registry = {**IN_TREE, **{plugin.name: giving(plugin) for plugin in (*plugins, *pre_filters)}}
    return Framework("podium", profile, {}, registry, no_api_server(), SilentRecorder())


def nothing(message: str = "", code: Code = U, *, clears: bool = False) -> PostFilterResult:
    return PostFilterResult(Status.of(code, "no"), message, clears_nomination=clears)


def combined(*answers: PostFilterResult | Exception) -> tuple[PostFilterResult, list[bool]]:
    """The result of plugins with these answers, and which of them were asked."""
    plugins = [Answering(f"P{number}", answer) for number, answer in enumerate(answers)]
    cluster = Cluster(with_post_filters(*plugins))
    algorithm = ScheduleAlgorithm(cluster.snapshot, cluster.framework, FirstOfEquals())
    attempt = algorithm.failed_attempt(CycleState(), cluster.decide(PREEMPTOR))
    return cluster.framework.post_filter(attempt), [bool(plugin.attempts) for plugin in plugins]


def test_the_first_that_finds_room_ends_it() -> None:
    """Its result alone counts."""
    room = PostFilterResult(None, "found", "n1")
    assert combined(nothing("a", clears=True), room, nothing("c")) == (room, [True, True, False])


def test_one_that_knows_that_there_is_no_room_ends_it() -> None:
    """Its result alone counts."""
    never = nothing("never", UU)
    assert combined(nothing("a"), never, nothing("c")) == (never, [True, True, False])


def test_messages_of_those_that_found_nothing_are_joined() -> None:
    """A nomination is void if one of them says so."""
    result, asked = combined(nothing("a", clears=True), nothing(), nothing("c"))
    assert (result.message, result.clears_nomination, result.node_name) == ("a, c", True, None)
    assert result.status == Status.of(U, "no")
    assert asked == [True, True, True]
    assert not combined(nothing("a"), nothing("b"))[0].clears_nomination


@pytest.mark.parametrize("code", [Code.ERROR, Code.SKIP, Code.WAIT])
def test_an_error_is_a_fault_of_the_plugin(code: Code) -> None:
    """So is an answer that this point does not have; the plugin is named."""
    broken = PostFilterResult(Status.of(code, "out of order"))
    with pytest.raises(PluginError, match="running PostFilter plugin 'P1': out of order"):
        combined(nothing("a"), broken)


def test_what_a_plugin_raises_goes_to_the_caller() -> None:
    """The attempt fails with it, nobody is nominated, and no lower nomination is lost."""
    cluster = Cluster(with_post_filters(Answering("A", KeyError("bug"))))
    cluster.nominator.add(parsed(make_pod("low").priority(1)), "n1")
    decision = cluster.decide(PREEMPTOR)
    with pytest.raises(KeyError, match="bug"):
        cluster.preempt(decision)
    assert [pod.name for pod in cluster.nominator.on_node("n1")] == ["low"]
    assert cluster.nominator.node_of(decision.pod.uid) is None


def test_without_plugins_nothing_comes_of_it() -> None:
    """No status, no message, no room."""
    assert combined() == (PostFilterResult(), [])

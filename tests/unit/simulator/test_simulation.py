"""What becomes of pending pods: the order of their turns, evictions, retries, and who is left alone."""

import pytest

from scheduler.simulator.results import Outcome
from tests.unit.simulator.clusters import by_name, node, pod, simulated

HIGH = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n---\n"
PROFILES = "profiles: [{schedulerName: one}, {schedulerName: two}]\n"


def placements(text: str) -> dict[str, str]:
    """Node by pod, of the placed ones in the order of their placement."""
    return {each.name: each.node_name for each in simulated(text).pods if each.outcome is Outcome.PLACED}


def test_the_most_important_pod_goes_first() -> None:
    """Priority goes before the order of the input."""
    text = node("n1", cpu="1") + pod("low") + pod("high", "priority: 5")
    assert placements(text) == {"high": "n1"}


def test_pods_of_one_priority_go_as_they_were_created() -> None:
    """Then the time of creation decides; pods that are not created yet come last, as they stand in the input."""
    at = "creationTimestamp: '2026-01-01T00:00:0{}Z'"
    text = node("n1", cpu="4") + pod("d") + pod("c") + pod("b", metadata=at.format(2)) + pod("a", metadata=at.format(1))
    assert list(placements(text)) == ["a", "b", "d", "c"]


def test_each_placement_counts_for_the_next_pod() -> None:
    """Two pods that fill a node each go to different nodes, the third nowhere."""
    text = node("n1", cpu="1") + node("n2", cpu="1") + pod("a") + pod("b") + pod("c")
    simulation = simulated(text)
    assert {each.node_name for each in simulation.pods[:2]} == {"n1", "n2"}
    failed = by_name(simulation)["c"]
    assert failed.outcome is Outcome.UNSCHEDULABLE
    assert failed.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    (rejection,) = failed.rejections
    assert (rejection.plugin, rejection.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    assert set(rejection.nodes) == {"n1", "n2"}
    assert not simulation.all_placed


def test_a_preemptor_gets_the_room_of_its_victims() -> None:
    """The victim vanishes, the preemptor is tried again on its nominated node, and both are told."""
    text = HIGH + node("n1") + pod("old", "nodeName: n1", cpu="1500m") + pod("urgent", "priorityClassName: high")
    simulation = simulated(text)
    urgent = by_name(simulation)["urgent"]
    assert (urgent.node_name, urgent.nominated_node, urgent.attempts) == ("n1", "n1", 2)
    assert urgent.evicted == ["default/old"]
    assert urgent.rejections[0].reasons == ("Insufficient cpu",)
    (eviction,) = simulation.evictions
    assert (eviction.pod, eviction.node_name, eviction.preemptor, eviction.priority) == (
        "default/old", "n1", "default/urgent", 0,
    )  # fmt: skip


def test_the_room_of_a_nominated_pod_is_not_given_away() -> None:
    """A pod of lower priority whose turn comes between victim and preemptor does not take what was made free."""
    text = node("n1") + pod("old", "nodeName: n1", cpu="2") + pod("urgent", "priority: 9", cpu="2") + pod("low")
    assert placements(text) == {"urgent": "n1"}


def test_a_pod_that_failed_is_tried_again_when_room_is_left() -> None:
    """An eviction leaves more room than the preemptor takes: a pod that had failed before gets the rest."""
    text = node("n1", cpu="4") + pod("old", "nodeName: n1, priority: -1", cpu="4") + pod(
        "first", "priority: 9, preemptionPolicy: Never", cpu="1"
    ) + pod("second", "priority: 5", cpu="2")  # fmt: skip
    simulation = simulated(text)
    assert {each.name: each.node_name for each in simulation.pods} == {"first": "n1", "second": "n1"}
    assert by_name(simulation)["first"].attempts == 2


def test_victims_that_were_on_their_way_out_are_waited_for() -> None:
    """A pod that was being deleted before leaves its room to the preemptor, and is no eviction."""
    text = node("n1") + pod("going", "nodeName: n1", "deletionTimestamp: '2026-01-01T00:00:00Z'", cpu="2")
    text += pod("urgent", "priority: 9", cpu="2")
    simulation = simulated(text)
    assert by_name(simulation)["urgent"].node_name == "n1"
    assert simulation.evictions == []


def test_gates_hold_pods_back() -> None:
    """A gated pod is not tried, and its gates are named."""
    simulation = simulated(node("n1") + pod("held", "schedulingGates: [{name: a}, {name: b}]"))
    held = by_name(simulation)["held"]
    assert (held.outcome, held.attempts) == (Outcome.GATED, 0)
    assert held.message == "waiting for scheduling gates: [a b]"


def test_pods_of_other_schedulers_are_left_alone() -> None:
    """They are listed with the schedulerName they ask for, and count for nothing."""
    simulation = simulated(node("n1", cpu="1") + pod("theirs", "schedulerName: default-scheduler") + pod("ours"))
    assert [(each.pod, each.scheduler_name) for each in simulation.foreign_pods] == [
        ("default/theirs", "default-scheduler")
    ]
    assert simulation.all_placed


def test_kube_schedulers_own_name_may_be_simulated() -> None:
    """Nothing is taken over here, whatever name and lease: its profile serves its pods, and those that name none."""
    text = node("n1") + pod("named", "schedulerName: default-scheduler") + pod("unnamed")
    election = "leaderElection: {leaderElect: true, resourceNamespace: kube-system, resourceName: kube-scheduler}\n"
    simulation = simulated(text, f"{election}profiles: [{{schedulerName: default-scheduler}}]\n")
    assert [each.outcome for each in simulation.pods] == [Outcome.PLACED] * 2


def test_each_pod_is_served_by_its_profile() -> None:
    """Two profiles in one simulation; a pod that names none is the first one's."""
    text = node("n1") + pod("a", "schedulerName: two") + pod("b")
    profiles = {each.name: each.profile for each in simulated(text, PROFILES).pods}
    assert profiles == {"a": "two", "b": "one"}


def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    """It is not placed, and says why."""
    simulation = simulated(node("n1") + pod("going", metadata="deletionTimestamp: '2026-01-01T00:00:00Z'"))
    going = by_name(simulation)["going"]
    assert (going.outcome, going.node_name) == (Outcome.SKIPPED, "")
    assert going.message == "skip schedule deleting pod: default/going"


def test_finished_pods_take_no_room() -> None:
    """Succeeded and failed pods on a node, and without one, are as good as gone."""
    done = pod("a", "nodeName: n1", cpu="2", status="{phase: Succeeded}") + pod("b", status="{phase: Failed}")
    assert placements(node("n1") + done + pod("c", cpu="2")) == {"c": "n1"}


def test_without_nodes_every_pod_fails() -> None:
    """There is no node to reject it."""
    (only,) = simulated(pod("a")).pods
    assert (only.message, only.rejections) == ("no nodes available to schedule pods", ())


def test_the_choice_is_taken_apart() -> None:
    """Winner and runner-up with what each plugin gave; the winner's total is not the lower one."""
    text = node("n1", cpu="4") + node("n2", cpu="2") + pod("a")
    choice = simulated(text).pods[0].choice
    assert choice is not None
    assert (choice.winner.node_name, choice.runner_up.node_name, choice.tied) == ("n1", "n2", 1)
    assert choice.winner.total > choice.runner_up.total
    assert sum(choice.winner.by_plugin.values()) == choice.winner.total
    assert choice.winner.by_plugin.keys() == choice.runner_up.by_plugin.keys() >= {"NodeResourcesFit"}


def test_one_feasible_node_is_no_choice() -> None:
    """Where only one node fits nothing was weighed up."""
    simulation = simulated(node("n1") + node("n2", spec="{unschedulable: true}") + pod("a"))
    assert (simulation.pods[0].choice, simulation.pods[0].feasible_nodes) == (None, 1)


def test_a_seed_decides_ties() -> None:
    """The same seed gives the same answer, and another one may give another."""
    text = "".join(node(f"n{i}") for i in range(8)) + pod("a")
    chosen = {seed: simulated(text, seed=seed).pods[0].node_name for seed in range(20)}
    assert chosen == {seed: simulated(text, seed=seed).pods[0].node_name for seed in range(20)}
    assert len(set(chosen.values())) > 3


@pytest.mark.timeout(60)
def test_a_fault_of_a_plugin_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod whose attempts fail by an error is given up in the end, and the others are placed."""
    from scheduler.core.plugins.node_name import NodeName

    def broken(*_: object) -> object:
        raise RuntimeError("out of order")

    monkeypatch.setattr(NodeName, "filter_signature", lambda self, pod, snapshot: broken() if pod.name == "a" else None)
    simulation = simulated(node("n1") + pod("a") + pod("b"))
    results = by_name(simulation)
    assert (results["a"].outcome, results["a"].message) == (Outcome.ERROR, "out of order")
    assert results["b"].node_name == "n1"

"""DefaultPreemption: who may preempt, what becomes of an earlier nomination, and what is said of it.

Not covered here: which pods go (`preemption/test_victims.py`) and on which node (`preemption/test_pick_node.py`).
"""

from __future__ import annotations

import pytest

from scheduler.config.plugin_args import DefaultPreemptionArgs
from scheduler.core.framework.interface import PostFilterResult
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.status import Code
from scheduler.core.plugins.default_preemption import DefaultPreemption
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import parsed, snapshot_of
from tests.unit.core.preemption.attempts import failed_attempt

NODE = make_node("n1").capacity(cpu="1")
LOW = make_pod("low").req(cpu="1").node("n1")
LEAVING = LOW.terminating().condition("DisruptionTarget", "True", "PreemptionByScheduler")
PREEMPTOR = make_pod("p").req(cpu="1").priority(5)
WAITS = "preemption: not eligible due to a terminating pod on the nominated node."
NOTHING = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."


class Outcome:
    """What DefaultPreemption makes of a pod, nominated to a node or not, on a cluster."""

    def __init__(self, pod: PodBuilder, *objects: NodeBuilder | PodBuilder, nominated: str | None = None) -> None:
        snapshot = snapshot_of(*objects)
        info = parsed(pod)
        if nominated is not None:
            snapshot.nominator.add(info, nominated)
        attempt = failed_attempt(snapshot, info)
        self.result: PostFilterResult = DefaultPreemption(DefaultPreemptionArgs()).post_filter(attempt)
        self.victims = [victim.name for victim in self.result.victims]
        self.nominated = snapshot.nominator.node_of(info.uid)

    @property
    def code(self) -> Code | None:
        return None if self.result.status is None else self.result.status.code


def test_it_finds_room() -> None:
    """A node with its victims; nobody is nominated yet, and the message says what was found."""
    outcome = Outcome(PREEMPTOR, NODE, LOW)
    assert (outcome.result.status, outcome.result.node_name, outcome.victims) == (None, "n1", ["low"])
    message = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    assert outcome.result.message == message
    assert outcome.nominated is None
    assert not outcome.result.clears_nomination


def test_it_takes_the_node_with_the_least_harm() -> None:
    """Of several where it helps."""
    other = make_node("n2").capacity(cpu="1")
    outcome = Outcome(PREEMPTOR, NODE, LOW.priority(2), other, make_pod("lower").priority(1).req(cpu="1").node("n2"))
    assert (outcome.result.node_name, outcome.victims) == ("n2", ["lower"])


def test_a_policy_of_never_is_kept() -> None:
    """Whatever room there would be; an earlier nomination stays."""
    outcome = Outcome(PREEMPTOR.preemption_policy("Never"), NODE, LOW, nominated="n1")
    assert (outcome.code, outcome.victims) == (Code.UNSCHEDULABLE, [])
    assert outcome.result.message == "preemption: not eligible due to preemptionPolicy=Never."
    assert not outcome.result.clears_nomination
    assert outcome.nominated == "n1"


def test_victims_are_waited_for_on_the_node_that_only_the_annotation_names() -> None:
    """A scheduler of old wrote nothing else; but an annotation, which anyone may write, holds no room."""
    outcome = Outcome(PREEMPTOR.annotation("scheduler.kubernetes.io/nominated-node-name", "n1"), NODE, LEAVING)
    assert (outcome.code, outcome.result.message, outcome.nominated) == (Code.UNSCHEDULABLE, WAITS, None)


def test_a_nomination_withdrawn_in_memory_is_not_believed_from_the_status() -> None:
    """The echo of the withdrawal is still to come: the pod may preempt again."""
    outcome = Outcome(PREEMPTOR.nominated_node("n1"), NODE, LEAVING)
    assert (outcome.result.node_name, outcome.victims) == ("n1", ["low"])


def test_the_other_policy_is_the_usual_one() -> None:
    """PreemptLowerPriority, or none."""
    assert Outcome(PREEMPTOR.preemption_policy("PreemptLowerPriority"), NODE, LOW).victims == ["low"]


def test_victims_that_are_leaving_are_waited_for() -> None:
    """Nobody else is evicted, and the nomination stays."""
    outcome = Outcome(PREEMPTOR, NODE, LEAVING, nominated="n1")
    assert (outcome.code, outcome.result.node_name, outcome.victims) == (Code.UNSCHEDULABLE, None, [])
    assert outcome.result.message == WAITS
    assert not outcome.result.clears_nomination
    assert outcome.nominated == "n1"


@pytest.mark.parametrize(
    "present",
    [
        LOW.condition("DisruptionTarget", "True", "PreemptionByScheduler"),
        LOW.terminating(),
        LOW.terminating().condition("DisruptionTarget", "False", "PreemptionByScheduler"),
        LOW.terminating().condition("DisruptionTarget", "True", "EvictionByEvictionAPI"),
        LOW.terminating().condition("Ready", "True", "PreemptionByScheduler"),
    ],
    ids=["not leaving", "not evicted", "not true", "evicted by another", "another condition"],
)
def test_only_evicted_pods_that_leave_are_waited_for(present: PodBuilder) -> None:
    """Others on the nominated node are victims as anywhere."""
    outcome = Outcome(PREEMPTOR, NODE, present, nominated="n1")
    assert (outcome.result.node_name, outcome.victims) == ("n1", ["low"])


def test_pods_of_no_lower_priority_are_not_waited_for() -> None:
    """They left for another preemptor, and their room is not for this one."""
    outcome = Outcome(PREEMPTOR, NODE, LEAVING.priority(5), nominated="n1")
    assert outcome.result.message == NOTHING
    assert outcome.result.clears_nomination
    assert outcome.nominated is None


def test_pods_leaving_elsewhere_are_not_waited_for() -> None:
    """What matters is the node that the pod is nominated to; without one nothing does."""
    other = make_node("n2").capacity(cpu="1")
    here = make_pod("here").req(cpu="1").priority(1).node("n2")
    assert Outcome(PREEMPTOR, NODE, LEAVING, other, here, nominated="n2").victims == ["low"]
    assert Outcome(PREEMPTOR, NODE, LEAVING).victims == ["low"]


def test_a_nominated_node_that_can_not_be_used_is_not_waited_for() -> None:
    """Cordoned, tainted or gone since: no victim that leaves helps."""
    other = make_node("n2").capacity(cpu="1")
    here = make_pod("here").req(cpu="1").node("n2")
    for cordoned in (NODE.unschedulable(), NODE.taint("a")):
        outcome = Outcome(PREEMPTOR, cordoned, LEAVING, other, here, nominated="n1")
        assert (outcome.result.node_name, outcome.victims) == ("n2", ["here"])
        assert outcome.nominated is None
    assert Outcome(PREEMPTOR, other, here, nominated="gone").victims == ["here"]


def test_a_void_nomination_does_not_stand_in_the_way() -> None:
    """The room held for the pod itself is free in its dry runs, and it ends even if nothing is found."""
    low = make_pod("low").req(cpu="1").node("n1")
    outcome = Outcome(PREEMPTOR, make_node("n1").capacity(cpu="1"), low, nominated="n1")
    assert outcome.victims == ["low"]
    assert outcome.nominated is None
    nothing = Outcome(PREEMPTOR, NODE, LOW.priority(5), nominated="n1")
    assert (nothing.code, nothing.result.message) == (Code.UNSCHEDULABLE, NOTHING)
    assert nothing.result.clears_nomination
    assert nothing.nominated is None


def test_pods_that_are_alike_are_judged_without_each_others_view() -> None:
    """What was found for one while its twin was nominated holds for the twin without its own nomination."""
    snapshot = snapshot_of(NODE, LOW, make_node("n2").capacity(cpu="1"), make_pod("l").req(cpu="1").node("n2"))
    plugin = DefaultPreemption(DefaultPreemptionArgs())
    first, second = (parsed(make_pod(name).req(cpu="1").priority(5)) for name in ("a", "b"))
    assert plugin.post_filter(failed_attempt(snapshot, first)).node_name == "n1"
    snapshot.nominator.add(first, "n1")
    assert plugin.post_filter(failed_attempt(snapshot, second)).node_name == "n2"
    snapshot.nominator.add(second, "n2")
    assert plugin.post_filter(failed_attempt(snapshot, first)).node_name == "n1"


def test_each_attempt_is_counted() -> None:
    """Also one that comes to nothing."""

    class Counting(SilentRecorder):
        attempts = 0

        def preemption_attempt(self) -> None:
            self.attempts += 1

    counting = Counting()
    for pod in (PREEMPTOR, PREEMPTOR.preemption_policy("Never")):
        attempt = failed_attempt(snapshot_of(NODE, LOW), parsed(pod), recorder=counting)
        DefaultPreemption(DefaultPreemptionArgs()).post_filter(attempt)
    assert counting.attempts == 2


def test_it_asks_for_no_event() -> None:
    """It turns nobody away: a preemptor waits for what the plugins wait for that rejected it."""
    assert DefaultPreemption(DefaultPreemptionArgs()).events_to_register() == ()

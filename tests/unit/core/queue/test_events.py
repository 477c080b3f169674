"""Which pods an event wakes."""

from __future__ import annotations

from scheduler.core.framework.events import (
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    EventResource,
    RegisteredEvent,
)
from scheduler.core.framework.status import PluginError
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import (
    FIT,
    GATES,
    HOLDER,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    OWN_GATES,
    POD_DELETE,
    PROFILE,
    REGISTERED,
    TAINTS,
    Harness,
    pod_info,
)


def _unschedulable(harness: Harness, name: str, *plugins: str, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
    harness.add(name)
    queued = harness.pop()
    assert harness.fail(queued, *plugins, pending=pending) is Place.UNSCHEDULABLE
    return queued


def test_an_event_wakes_the_pods_of_the_plugins_that_asked_for_it() -> None:
    """Only pods rejected by a plugin that registered the event move; one of several rejecting plugins is enough."""
    harness = Harness()
    _unschedulable(harness, "fit", FIT)
    _unschedulable(harness, "taints", TAINTS)
    _unschedulable(harness, "both", FIT, TAINTS)

    harness.event(NODE_TAINT)

    assert harness.place_of("fit") is Place.UNSCHEDULABLE
    assert harness.place_of("taints") is Place.BACKOFF
    assert harness.place_of("both") is Place.BACKOFF


def test_an_update_of_several_parts_matches_any_of_them() -> None:
    """An event that carries several actions wakes the pods of plugins that asked for one of them."""
    harness = Harness()
    _unschedulable(harness, "pod", TAINTS)

    harness.event(ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT))

    assert harness.place_of() is Place.BACKOFF


def test_profiles_do_not_share_registrations() -> None:
    """What a plugin registered in one profile does not wake pods of another profile."""
    harness = Harness(registered={**REGISTERED, "other": {FIT: (RegisteredEvent(POD_DELETE),)}})
    _unschedulable(harness, "ours", FIT)
    harness.queue.add(pod_info("theirs", scheduler_name="other"), harness.now)
    harness.fail(harness.pop(), FIT)

    harness.event(NODE_ADD)
    assert harness.place_of("ours") is Place.BACKOFF
    assert harness.place_of("theirs") is Place.UNSCHEDULABLE
    harness.event(POD_DELETE)
    assert harness.place_of("theirs") is Place.BACKOFF


def test_a_plugin_the_registry_does_not_know_asks_for_everything() -> None:
    """A pod rejected by a plugin that is not in the mapping is woken by any event, now or during its attempt."""
    harness = Harness()
    _unschedulable(harness, "waiting", "Unknown")
    harness.add("in-flight")
    in_flight = harness.pop()

    harness.event(NODE_LABEL)

    assert harness.place_of("waiting") is Place.BACKOFF
    assert harness.fail(in_flight, "Unknown") is Place.BACKOFF


def test_a_plugin_that_registered_nothing_is_woken_by_nothing() -> None:
    """An empty registration means no event helps; only the flush does."""
    harness = Harness(registered={PROFILE: {FIT: ()}})
    _unschedulable(harness, "pod", FIT)

    harness.event(NODE_ADD)
    assert harness.place_of() is Place.UNSCHEDULABLE
    harness.queue.flush_unschedulable_left_over(harness.now + 301)
    assert harness.place_of() is Place.ACTIVE


def test_a_wildcard_registration_asks_for_everything() -> None:
    """A plugin that registered all events, as for extenders, has its pods woken by any."""
    everything = ClusterEvent(EventResource.WILDCARD, Action.ALL)
    harness = Harness(registered={PROFILE: {"Extender": (RegisteredEvent(everything),)}})
    _unschedulable(harness, "pod", "Extender")

    harness.event(NODE_LABEL)

    assert harness.place_of() is Place.BACKOFF


def test_a_wildcard_event_wakes_everybody_without_asking_hints() -> None:
    """A wildcard event moves every unschedulable pod and has the gates of gated ones looked at."""

    def refuse(queued: QueuedPodInfo, old: object, new: object) -> bool:
        raise AssertionError("a wildcard event asks no hint")

    harness = Harness(registered={PROFILE: {FIT: (RegisteredEvent(NODE_ADD, refuse),), HOLDER: ()}})
    _unschedulable(harness, "pod", FIT)
    harness.in_place(Place.GATED, "gated")

    harness.event(UNSCHEDULABLE_TIMEOUT)

    assert harness.place_of() is Place.BACKOFF
    assert harness.place_of("gated") is Place.ACTIVE


def test_hints_decide_pod_by_pod() -> None:
    """A hint is asked with the pod and both objects; pods for which it says no stay."""
    asked: list[tuple[str, object, object]] = []

    def hint(queued: QueuedPodInfo, old: object, new: object) -> bool:
        asked.append((queued.pod_info.name, old, new))
        return queued.pod_info.name == "helped"

    harness = Harness(registered={PROFILE: {FIT: (RegisteredEvent(NODE_ADD, hint),)}})
    _unschedulable(harness, "helped", FIT)
    _unschedulable(harness, "not-helped", FIT)

    harness.event(NODE_ADD, "before", "after")

    assert asked == [("helped", "before", "after"), ("not-helped", "before", "after")]
    assert harness.place_of("helped") is Place.BACKOFF
    assert harness.place_of("not-helped") is Place.UNSCHEDULABLE


def test_a_hint_that_raises_counts_as_yes_and_is_reported() -> None:
    """A pod is not stuck because a hint is broken, and the fault names plugin, event and cause."""

    def broken(queued: QueuedPodInfo, old: object, new: object) -> bool:
        raise ValueError("no such field")

    harness = Harness(registered={PROFILE: {FIT: (RegisteredEvent(NODE_ADD, broken),)}})
    _unschedulable(harness, "pod", FIT)

    harness.event(NODE_ADD)

    assert harness.place_of() is Place.BACKOFF
    (fault,) = harness.faults
    assert str(fault) == ("running QueueingHint plugin 'NodeResourcesFit': event NodeAdd: ValueError('no such field')")
    assert isinstance(fault.__cause__, ValueError)


def test_a_pending_plugin_sends_its_pod_straight_to_active() -> None:
    """An event for a plugin that put the pod aside as pending skips the back-off; for another plugin it does not."""
    harness = Harness()
    _unschedulable(harness, "for-pending", TAINTS, pending=(FIT,))
    _unschedulable(harness, "for-other", FIT, pending=(TAINTS,))

    harness.event(POD_DELETE)

    assert harness.place_of("for-pending") is Place.ACTIVE
    assert harness.place_of("for-other") is Place.BACKOFF


def test_a_gated_pod_is_looked_at_only_on_events_its_gate_asked_for() -> None:
    """PreEnqueue is not run again on events that only plugins of an earlier attempt asked for."""
    harness = Harness()
    queued = _unschedulable(harness, "pod", FIT)
    harness.held["pod"] = HOLDER
    harness.event(NODE_ADD)
    assert harness.place_of() is Place.GATED
    assert queued.gating_plugin == HOLDER
    asked_before = harness.pre_enqueue_calls

    harness.event(NODE_ADD)
    harness.event(NODE_TAINT)
    assert harness.pre_enqueue_calls == asked_before
    harness.event(POD_DELETE)
    assert harness.pre_enqueue_calls == asked_before + 1


def test_a_gated_pod_may_change_its_gate() -> None:
    """When another plugin holds the pod at the next look, that plugin's events count from then on."""
    harness = Harness()
    harness.in_place(Place.GATED)
    harness.held["pod"] = GATES

    harness.event(POD_DELETE)
    harness.event(POD_DELETE)
    assert harness.place_of() is Place.GATED
    del harness.held["pod"]
    harness.event(POD_DELETE)
    assert harness.place_of() is Place.GATED
    harness.event(OWN_GATES)
    assert harness.place_of() is Place.ACTIVE


def test_a_gate_that_opens_is_forgotten() -> None:
    """A pod let go by its gate names no gating plugin any more, and none of its rejections outlive the next pop."""
    harness = Harness()
    harness.in_place(Place.GATED)
    (queued,) = harness.queue.snapshot()[Place.GATED]
    assert (queued.gating_plugin, queued.unschedulable_plugins) == (HOLDER, frozenset({HOLDER}))

    harness.event(POD_DELETE)

    assert queued.gating_plugin == ""
    assert harness.pop().unschedulable_plugins == frozenset()


def test_a_pre_enqueue_plugin_that_fails_holds_the_pod_and_is_reported() -> None:
    """A fault in PreEnqueue gates the pod under the faulty plugin; it is tried again at the plugin's events."""
    fault = PluginError(HOLDER, "PreEnqueue", "boom")
    harness = Harness(held={"pod": fault})
    harness.add("pod")
    assert harness.place_of() is Place.GATED
    assert harness.faults == [fault]
    del harness.held["pod"]

    harness.event(POD_DELETE)

    assert harness.place_of() is Place.ACTIVE


def test_a_gate_the_registry_does_not_know_is_looked_at_on_any_event() -> None:
    """A pod gated by a plugin that is not in the mapping is never forgotten: any event has its gate looked at."""
    harness = Harness(held={"pod": "Unknown"})
    harness.add("pod")
    del harness.held["pod"]

    harness.event(NODE_LABEL)

    assert harness.place_of() is Place.ACTIVE


class Asked:
    """Hints that write down about whom they were asked, and help the pods of these names."""

    def __init__(self, *helped: str) -> None:
        self.names: list[str] = []
        self.helped = helped
        self.registered = {
            PROFILE: {FIT: (RegisteredEvent(POD_DELETE, self),), TAINTS: (RegisteredEvent(NODE_TAINT, self),)}
        }

    def __call__(self, queued: QueuedPodInfo, old: object, new: object) -> bool:
        self.names.append(queued.pod_info.name)
        return queued.pod_info.name in self.helped


def test_an_event_looks_only_at_pods_of_plugins_that_asked_for_it() -> None:
    """With thousands of pods waiting, an event that none of their plugins registered costs nothing per pod."""
    asked = Asked()
    harness = Harness(registered=asked.registered)
    for number in range(2000):
        _unschedulable(harness, f"pod-{number}", FIT)
    _unschedulable(harness, "tainted", TAINTS, FIT)

    harness.event(NODE_LABEL)
    assert asked.names == []
    harness.event(NODE_TAINT)
    assert asked.names == ["tainted"]
    harness.event(POD_DELETE)
    assert len(asked.names) == 1 + 2001


def test_pods_alike_to_a_plugin_are_asked_about_as_one() -> None:
    """A hint is called once for all pods of a signature, and its answer goes for all of them."""
    asked = Asked("small-0")
    signatures = {PROFILE: {FIT: lambda pod: pod.requests}}
    harness = Harness(registered=asked.registered, signatures=signatures)
    for number in range(1000):
        harness.queue.add(pod_info(f"small-{number}"), harness.now)
        harness.fail(harness.pop(), FIT)
        harness.queue.add(pod_info(f"large-{number}", cpu="8"), harness.now)
        harness.fail(harness.pop(), FIT, TAINTS)

    harness.event(POD_DELETE)

    assert asked.names == ["small-0", "large-0"]
    assert harness.queue.pending_counts()["backoff"] == 1000
    assert harness.queue.pending_counts()["unschedulable"] == 1000


def test_a_pod_that_changes_is_alike_to_others_than_before() -> None:
    """What is alike is decided by the pod as it is now; nothing is left behind where it was."""
    asked = Asked("a")
    harness = Harness(registered=asked.registered, signatures={PROFILE: {FIT: lambda pod: pod.requests}})
    for name in ("a", "b"):
        _unschedulable(harness, name, FIT)
    harness.queue.update(pod_info("b", cpu="8"), harness.now)

    harness.event(POD_DELETE)
    assert (harness.place_of("a"), harness.place_of("b")) == (Place.BACKOFF, Place.UNSCHEDULABLE)
    harness.queue.delete("uid-b")
    harness.event(POD_DELETE)
    assert asked.names == ["a", "b"]


def test_each_call_of_a_hint_is_measured() -> None:
    """By plugin, event and what it came to; an event without a hint is not."""

    def broken(queued: QueuedPodInfo, old: object, new: object) -> bool:
        raise ValueError("no such field")

    asked = Asked("helped")
    harness = Harness(registered={PROFILE: {**asked.registered[PROFILE], HOLDER: (RegisteredEvent(NODE_ADD, broken),)}})
    _unschedulable(harness, "helped", FIT)
    _unschedulable(harness, "not-helped", FIT)
    _unschedulable(harness, "held", HOLDER)

    harness.event(POD_DELETE)
    harness.event(NODE_ADD)
    harness.event(NODE_LABEL)

    assert harness.hints == [
        (FIT, "AssignedPodDelete", "Queue"),
        (FIT, "AssignedPodDelete", "QueueSkip"),
        (HOLDER, "NodeAdd", "Error"),
    ]

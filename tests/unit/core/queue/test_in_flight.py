"""Pods that are updated, deleted or could be helped while they are being scheduled."""

from __future__ import annotations

import pytest

from scheduler.api.types import Toleration
from scheduler.core.framework.events import RegisteredEvent
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.queue import in_flight as in_flight_module
from scheduler.core.queue.entry import Place
from scheduler.core.queue.event_registry import Occurrence
from scheduler.core.queue.in_flight import InFlight
from tests.unit.core.queue.harness import (
    FIT,
    GATES,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    OWN_TOLERATION,
    POD_DELETE,
    PROFILE,
    TAINTS,
    Harness,
    pod_info,
)


def _in_flight(harness: Harness, name: str = "pod") -> QueuedPodInfo:
    harness.add(name)
    return harness.pop()


def test_events_before_the_attempt_are_not_replayed() -> None:
    """An event that came before the pop was seen by the attempt, so it does not requeue the pod."""
    harness = Harness()
    _in_flight(harness, "other")
    harness.event(NODE_ADD)
    queued = _in_flight(harness)

    assert harness.fail(queued, FIT) is Place.UNSCHEDULABLE


def test_each_attempt_replays_its_own_events() -> None:
    """Of two overlapping attempts each is helped by what happened since it began, whichever ends first."""
    harness = Harness()
    first = _in_flight(harness, "first")
    harness.event(NODE_TAINT)
    second = _in_flight(harness, "second")
    harness.event(NODE_LABEL)

    assert harness.fail(second, TAINTS) is Place.UNSCHEDULABLE
    assert harness.fail(first, TAINTS) is Place.BACKOFF


def test_replay_asks_the_hints() -> None:
    """A replayed event goes through the hint with its objects, and a hint that says no leaves the pod waiting."""
    asked: list[object] = []

    def hint(queued: QueuedPodInfo, old: object, new: object) -> bool:
        asked.append(new)
        return new == "good"

    harness = Harness(registered={PROFILE: {FIT: (RegisteredEvent(NODE_ADD, hint),)}})
    queued = _in_flight(harness)
    harness.event(NODE_ADD, None, "bad")
    assert harness.fail(queued, FIT) is Place.UNSCHEDULABLE
    harness.queue.activate(["uid-pod"], harness.now)
    assert harness.pop() is queued
    harness.event(NODE_ADD, None, "bad")
    harness.event(NODE_ADD, None, "good")
    harness.event(NODE_ADD, None, "unasked")

    assert harness.fail(queued, FIT) is Place.BACKOFF
    assert asked == ["bad", "bad", "good"]


def test_replay_prefers_the_event_a_pending_plugin_waits_for() -> None:
    """An event that would send the pod to back-off does not hide a later one that sends it straight to active."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.event(NODE_TAINT)
    harness.event(NODE_ADD)

    assert harness.fail(queued, TAINTS, pending=(FIT,)) is Place.ACTIVE


def test_an_event_that_helps_nobody_does_not_undo_one_that_does() -> None:
    """A replayed event that helps is not outweighed by a later one that does not."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.event(NODE_TAINT)
    harness.event(NODE_LABEL)

    assert harness.fail(queued, TAINTS, pending=(FIT,)) is Place.BACKOFF


def test_a_pod_deleted_during_its_attempt_is_not_put_back() -> None:
    """The failure of an attempt whose pod was deleted changes nothing (neither does its success)."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.queue.delete("uid-pod")

    assert harness.fail(queued, FIT) is None
    harness.queue.done(queued)
    assert harness.place_of() is None
    assert harness.queue.pop() is None


def test_a_pod_recreated_under_its_name_during_the_attempt_stands_on_its_own() -> None:
    """The old pod's attempt neither brings the old pod back nor touches the new one with the same name."""
    harness = Harness()
    old = _in_flight(harness)
    harness.queue.delete("uid-pod")
    harness.queue.add(pod_info("pod", uid="uid-new"), harness.now)

    assert harness.fail(old, FIT) is None
    harness.queue.done(old)

    new = harness.pop()
    assert (new.uid, new.attempts) == ("uid-new", 1)
    assert harness.queue.pop() is None


@pytest.mark.parametrize("place", list(Place))
def test_a_pod_recreated_under_its_name_starts_afresh_from_every_place(place: Place) -> None:
    """Whatever place the deleted pod was in, the new one of the same name is popped once, as a new pod."""
    harness = Harness()
    harness.in_place(place)

    harness.queue.delete("uid-pod")
    harness.queue.add(pod_info("pod", uid="uid-new"), harness.now)

    new = harness.pop()
    assert (new.uid, new.attempts, new.unschedulable_count) == ("uid-new", 1, 0)
    assert harness.queue.pop() is None


def test_the_same_pod_added_back_during_the_attempt_is_tried_once_more() -> None:
    """A pod that vanishes and comes back with its uid while in flight is new; the end of the old attempt is ignored."""
    harness = Harness()
    old = _in_flight(harness)
    harness.queue.delete("uid-pod")
    harness.add("pod")

    assert harness.fail(old, FIT) is None
    harness.queue.done(old)
    assert harness.place_of() is Place.ACTIVE
    assert harness.pop() is not old


def test_a_pod_updated_during_its_attempt_comes_back_as_it_is_now() -> None:
    """The attempt keeps the object it began with; after the failure the queue has the newest one."""
    harness = Harness()
    queued = _in_flight(harness)
    begun_with = queued.pod_info
    harness.queue.update(pod_info("pod", labels={"version": "1"}), harness.now)
    newest = pod_info("pod", labels={"version": "2"})
    harness.queue.update(newest, harness.now)
    assert queued.pod_info is begun_with

    harness.fail(queued, FIT)

    assert queued.pod_info is newest


def test_an_own_update_during_the_attempt_is_replayed_for_that_pod_only() -> None:
    """A pod that gained a toleration in flight is retried; another pod in flight is not moved by that."""
    harness = Harness()
    changed, other = _in_flight(harness, "changed"), _in_flight(harness, "other")
    harness.queue.update(pod_info("changed", tolerations=()), harness.now)
    harness.queue.update(_tolerant("changed"), harness.now)

    assert harness.fail(changed, TAINTS) is Place.BACKOFF
    assert harness.fail(other, TAINTS) is Place.UNSCHEDULABLE


def test_hints_see_the_pod_before_and_after_its_own_update() -> None:
    """Two updates in flight give two events, each with the object before and after it."""
    seen: list[tuple[object, object]] = []

    def hint(queued: QueuedPodInfo, old: object, new: object) -> bool:
        seen.append((old, new))
        return False

    harness = Harness(registered={PROFILE: {TAINTS: (RegisteredEvent(OWN_TOLERATION, hint),)}})
    queued = _in_flight(harness)
    first, second, third = queued.pod_info, _tolerant("pod", "a"), _tolerant("pod", "b")
    harness.queue.update(second, harness.now)
    harness.queue.update(third, harness.now)
    harness.fail(queued, TAINTS)

    assert seen == [(first, second), (second, third)]


def test_an_object_from_an_earlier_attempt_does_not_come_back() -> None:
    """An update kept during one attempt does not replace what a later update brought."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.queue.update(pod_info("pod", labels={"version": "1"}), harness.now)
    harness.fail(queued, FIT)
    newest = pod_info("pod", labels={"version": "2"})
    harness.queue.update(newest, harness.now)
    harness.queue.activate(["uid-pod"], harness.now)
    harness.fail(harness.pop(), FIT)

    assert queued.pod_info is newest


def test_activating_a_pod_in_flight_concerns_no_other() -> None:
    """Only the pod that was to be activated backs off after its failure; another one in flight waits for an event."""
    harness = Harness()
    activated, other = _in_flight(harness, "activated"), _in_flight(harness, "other")
    harness.queue.activate(["uid-activated"], harness.now)

    assert harness.fail(other, FIT) is Place.UNSCHEDULABLE
    assert harness.fail(activated, FIT) is Place.BACKOFF


def test_a_pod_taken_back_from_its_node_is_not_helped_by_that() -> None:
    """The event of the room a rejected pod frees itself is kept for the other pods in flight, not for that pod."""
    harness = Harness()
    taken_back, other = _in_flight(harness, "taken-back"), _in_flight(harness, "other")
    harness.queue.move_all_to_active_or_backoff(
        POD_DELETE, taken_back.pod_info, None, harness.now, except_uid=taken_back.uid
    )

    assert harness.fail(taken_back, FIT) is Place.UNSCHEDULABLE
    assert harness.fail(other, FIT) is Place.BACKOFF


def test_gates_are_looked_at_on_the_newest_object() -> None:
    """PreEnqueue decides on the pod as updated during the attempt."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.queue.update(pod_info("pod", gates=("late",)), harness.now)

    assert harness.fail(queued) is Place.GATED
    assert queued.gating_plugin == GATES


def test_an_attempt_can_end_only_once() -> None:
    """A second failure or a done after the failure does not touch the pod, wherever it is by then."""
    harness = Harness()
    queued = _in_flight(harness)
    harness.fail(queued, FIT)

    assert harness.queue.add_unschedulable_if_not_present(queued, harness.now) is None
    harness.queue.done(queued)

    assert harness.place_of() is Place.UNSCHEDULABLE
    assert queued.unschedulable_count == 1


def _tolerant(name: str, key: str = "dedicated") -> PodInfo:
    return pod_info(name, tolerations=(Toleration(key=key),))


def _occurrence() -> Occurrence:
    return Occurrence(NODE_ADD, None, None, {})


def test_events_are_kept_only_while_an_attempt_needs_them() -> None:
    """Events go with the oldest attempt that began before them, and none are kept when nothing is in flight."""
    in_flight = InFlight()
    in_flight.record(_occurrence())
    assert in_flight.recorded == 0
    in_flight.begin("a")
    in_flight.record(_occurrence())
    in_flight.begin("b")
    in_flight.record(_occurrence())
    in_flight.begin("c")

    assert in_flight.counts() == {"PodPopped": 3, "NodeAdd": 2}
    in_flight.finish("b")
    assert in_flight.recorded == 2
    in_flight.finish("a")
    assert in_flight.recorded == 0
    assert in_flight.counts() == {"PodPopped": 1, "NodeAdd": 0}
    in_flight.record(_occurrence())
    assert len(list(in_flight.events_during("c"))) == 1
    in_flight.finish("c")
    assert (in_flight.recorded, len(in_flight)) == (0, 0)


def test_an_attempt_that_outlasts_the_log_is_helped_by_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """When events an attempt would need had to be dropped, the pod is retried rather than left to the flush."""
    monkeypatch.setattr(in_flight_module, "MAX_EVENTS", 3)
    harness = Harness()
    slow = _in_flight(harness, "slow")
    harness.event(NODE_LABEL)
    quick = _in_flight(harness, "quick")
    for _ in range(3):
        harness.event(NODE_LABEL)

    assert harness.fail(quick, FIT) is Place.UNSCHEDULABLE
    assert harness.fail(slow, FIT) is Place.BACKOFF

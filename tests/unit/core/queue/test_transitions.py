"""Every arrow of the queue's state machine: where a pod goes, what is counted. Order and timing are elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import FIT, HOLDER, NODE_ADD, NODE_LABEL, POD_DELETE, Harness

Step = Callable[[Harness], object]


def hold(harness: Harness) -> None:
    harness.held["pod"] = HOLDER


def wait_2s(harness: Harness) -> None:
    harness.now += 2


def wait_301s(harness: Harness) -> None:
    harness.now += 301


def node_added(harness: Harness) -> None:
    harness.event(NODE_ADD)


def node_labelled(harness: Harness) -> None:
    harness.event(NODE_LABEL)


def pod_deleted_elsewhere(harness: Harness) -> None:
    harness.event(POD_DELETE)


def activate(harness: Harness) -> None:
    harness.queue.activate(["uid-pod"], harness.now)


def delete(harness: Harness) -> None:
    harness.queue.delete("uid-pod")


def pop(harness: Harness) -> None:
    harness.queue.pop()


def done(harness: Harness) -> None:
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.queue.done(queued)


def rejected(harness: Harness) -> None:
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.fail(queued, FIT)


def pending(harness: Harness) -> None:
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.fail(queued, pending=(FIT,))


def error(harness: Harness) -> None:
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.fail(queued)


def flush_backoff(harness: Harness) -> None:
    harness.queue.flush_backoff_completed(harness.now)


def flush_left_over(harness: Harness) -> None:
    harness.queue.flush_unschedulable_left_over(harness.now)


A, B, U, G, F = Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED, Place.IN_FLIGHT

TRANSITIONS: list[tuple[Place, list[Step], Place | None, list[tuple[str, str]]]] = [
    (A, [pop], F, []),
    (A, [delete], None, []),
    (A, [activate], A, []),
    (A, [node_added], A, []),
    (B, [pop], F, [("active", "PopFromBackoffQ")]),
    (B, [delete], None, []),
    (B, [activate], A, [("active", "ForceActivate")]),
    (B, [hold, activate], A, [("active", "ForceActivate")]),
    (B, [node_added], B, []),
    (B, [flush_backoff], B, []),
    (B, [wait_2s, flush_backoff], A, [("active", "BackoffComplete")]),
    (B, [hold, wait_2s, flush_backoff], A, [("active", "BackoffComplete")]),
    (B, [wait_301s, flush_left_over], B, []),
    (U, [pop], U, []),
    (U, [delete], None, []),
    (U, [activate], A, [("active", "ForceActivate")]),
    (U, [hold, activate], G, [("unschedulable", "ForceActivate")]),
    (U, [node_labelled], U, []),
    (U, [node_added], B, [("backoff", "NodeAdd")]),
    (U, [wait_2s, node_added], A, [("active", "NodeAdd")]),
    (U, [hold, node_added], G, [("unschedulable", "NodeAdd")]),
    (U, [wait_2s, flush_left_over], U, []),
    (U, [wait_301s, flush_left_over], A, [("active", "UnschedulableTimeout")]),
    (U, [hold, wait_301s, flush_left_over], G, [("unschedulable", "UnschedulableTimeout")]),
    (G, [pop], G, []),
    (G, [delete], None, []),
    (G, [activate], A, [("active", "ForceActivate")]),
    (G, [hold, activate], G, []),
    (G, [node_added], G, []),
    (G, [pod_deleted_elsewhere], A, [("active", "AssignedPodDelete")]),
    (G, [hold, pod_deleted_elsewhere], G, []),
    (G, [wait_301s, flush_left_over], A, [("active", "UnschedulableTimeout")]),
    (G, [hold, wait_301s, flush_left_over], G, []),
    (F, [pop], F, []),
    (F, [delete], None, []),
    (F, [done], None, []),
    (F, [rejected], U, [("unschedulable", "ScheduleAttemptFailure")]),
    (F, [pending], U, [("unschedulable", "ScheduleAttemptFailure")]),
    (F, [error], B, [("backoff", "ScheduleAttemptFailure")]),
    (F, [hold, error], G, [("unschedulable", "ScheduleAttemptFailure")]),
    (F, [node_labelled, rejected], U, [("unschedulable", "ScheduleAttemptFailure")]),
    (F, [node_added, rejected], B, [("backoff", "ScheduleAttemptFailure")]),
    (F, [node_added, pending], A, [("active", "ScheduleAttemptFailure")]),
    (F, [hold, node_added, pending], G, [("unschedulable", "ScheduleAttemptFailure")]),
    (F, [activate, rejected], B, [("backoff", "ScheduleAttemptFailure")]),
    (F, [activate, pending], B, [("backoff", "ScheduleAttemptFailure")]),
]


@pytest.mark.parametrize(
    ("start", "steps", "end", "incoming"),
    TRANSITIONS,
    ids=[f"{start.value}-{'-'.join(step.__name__ for step in steps)}" for start, steps, _, _ in TRANSITIONS],
)
def test_each_transition_ends_where_the_state_machine_says(
    start: Place, steps: list[Step], end: Place | None, incoming: list[tuple[str, str]]
) -> None:
    """A pod in a place, taken through some steps, is in the expected place, counted under the expected labels."""
    harness = Harness()
    harness.in_place(start)

    for step in steps:
        step(harness)

    assert harness.place_of() is end
    assert harness.incoming == incoming


def test_a_new_pod_is_counted_as_added() -> None:
    """Adding a pod makes it active under the label UnscheduledPodAdd, or gated if PreEnqueue holds it."""
    harness = Harness(held={"gated": HOLDER})

    harness.add("free", "gated")

    assert harness.place_of("free") is Place.ACTIVE
    assert harness.place_of("gated") is Place.GATED
    assert harness.incoming == [("active", "UnscheduledPodAdd"), ("unschedulable", "UnscheduledPodAdd")]


def test_a_gated_pod_that_had_failed_goes_to_backoff() -> None:
    """A pod gated after a failed attempt still has to sit out the back-off of that attempt when its gate opens."""
    harness = Harness()
    harness.in_place(Place.IN_FLIGHT)
    hold(harness)
    node_added(harness)
    rejected(harness)
    assert harness.place_of() is Place.GATED
    del harness.held["pod"]

    pod_deleted_elsewhere(harness)

    assert harness.place_of() is Place.BACKOFF


@pytest.mark.parametrize("place", list(Place))
def test_a_pod_is_known_in_every_place_until_it_is_deleted(place: Place) -> None:
    """A pod is in the queue wherever it is, in flight included, and no longer once it is deleted."""
    harness = Harness()
    harness.in_place(place)
    assert "uid-pod" in harness.queue
    delete(harness)
    assert "uid-pod" not in harness.queue


@pytest.mark.parametrize("place", list(Place))
def test_adding_a_known_pod_changes_nothing_but_the_object(place: Place) -> None:
    """A second add of the same pod, as a relist gives, leaves it where it is and does not count it again."""
    harness = Harness()
    harness.in_place(place)
    if place is Place.GATED:
        hold(harness)

    harness.add("pod")

    assert harness.place_of() is place
    assert harness.incoming == []


def test_counts_follow_the_pods() -> None:
    """pending_counts gives active, backoff, unschedulable and gated; a pod in flight is in none of them."""
    harness = Harness()
    for name, place in (("u", U), ("g", G), ("f", F)):
        harness.in_place(place, name)
    harness.add("failing")
    harness.fail(harness.pop())
    harness.add("a1", "a2")

    assert harness.queue.pending_counts() == {"active": 2, "backoff": 1, "unschedulable": 1, "gated": 1}


def test_clear_forgets_everything_and_the_queue_can_be_refilled() -> None:
    """After clear no pod is known, an attempt still under way changes nothing, and pods can be added anew."""
    harness = Harness()
    for place in (U, G, F):
        harness.in_place(place, place.value)
    (in_flight,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.add("waiting")

    harness.queue.clear()

    assert harness.queue.pending_counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}
    assert not any(harness.queue.snapshot().values())
    assert harness.queue.pop() is None
    assert harness.fail(in_flight, FIT) is None
    harness.event(NODE_ADD)
    harness.queue.flush_unschedulable_left_over(harness.now + 1000)
    harness.add("waiting", in_flight.pod_info.name)
    assert harness.popped_names() == ["waiting", in_flight.pod_info.name]


def test_an_attempt_from_before_a_clear_does_not_end_the_new_one() -> None:
    """A pod popped again after clear stays in flight when its old attempt reports that it is done."""
    harness = Harness()
    harness.in_place(Place.IN_FLIGHT)
    (old,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.queue.clear()
    harness.add("pod")
    new = harness.pop()

    harness.queue.done(old)

    assert harness.place_of() is Place.IN_FLIGHT
    assert harness.fail(new, FIT) is Place.UNSCHEDULABLE

"""Who is popped first, when the loop is woken, and what time stamps mean."""

from __future__ import annotations

import pytest

from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import FIT, HOLDER, NODE_ADD, POD_DELETE, Harness, pod_info


def test_higher_priority_first_then_earlier_then_first_come() -> None:
    """The active queue is ordered by priority, then by time stamp, then by arrival."""
    harness = Harness()
    harness.add("old", "old-second")
    harness.now += 1
    harness.add("young")
    harness.add("important", priority=10)
    harness.add("negligible", priority=-10)

    assert harness.popped_names() == ["important", "old", "old-second", "young", "negligible"]


def test_a_failed_pod_goes_behind_pods_that_waited_longer() -> None:
    """The time stamp by which ties are broken is renewed when an attempt fails."""
    harness = Harness()
    harness.add("failing", "waiting")
    harness.now += 5
    failing = harness.pop()
    harness.fail(failing, FIT)
    harness.now += 5
    harness.event(NODE_ADD)

    assert failing.timestamp == harness.now - 5
    assert harness.place_of("failing") is Place.ACTIVE
    assert harness.popped_names() == ["waiting", "failing"]


def test_sli_starts_at_the_first_entry_into_active() -> None:
    """Time spent gated is not counted, later waits are: the first entry into the active queue is kept for good."""
    harness = Harness(held={"pod": HOLDER})
    harness.add("pod")
    (queued,) = harness.queue.snapshot()[Place.GATED]
    starts = [queued.initial_attempt_timestamp]
    del harness.held["pod"]
    harness.now += 60
    harness.event(POD_DELETE)
    opened = harness.now
    starts.append(queued.initial_attempt_timestamp)
    harness.pop()
    harness.now += 60
    harness.fail(queued, FIT)
    harness.now += 60
    harness.event(NODE_ADD)
    assert harness.pop() is queued
    starts.append(queued.initial_attempt_timestamp)
    assert starts == [None, opened, opened]


def test_pop_starts_a_fresh_attempt() -> None:
    """Each pop counts an attempt and forgets who rejected the pod in the one before."""
    harness = Harness()
    harness.add("pod")
    queued = harness.pop()
    assert queued.attempts == 1
    harness.fail(queued, FIT, pending=("Waiter",))
    harness.queue.activate(["uid-pod"], harness.now)

    assert harness.pop() is queued
    assert queued.attempts == 2
    assert queued.unschedulable_plugins == queued.pending_plugins == frozenset()


def test_a_change_of_the_sort_key_moves_an_active_pod() -> None:
    """An update that changes a pod's priority changes its turn, whether it is active or backing off."""
    harness = Harness()
    harness.add("first", "second")
    harness.queue.update(pod_info("second", priority=5), harness.now)
    assert harness.popped_names() == ["second", "first"]

    backing_off = Harness()
    for name in ("first", "second"):
        backing_off.in_place(Place.UNSCHEDULABLE, name)
    backing_off.event(NODE_ADD)
    backing_off.queue.update(pod_info("second", priority=5), backing_off.now)
    assert backing_off.queue.pending_counts()["backoff"] == 2
    assert backing_off.popped_names() == ["second", "first"]


@pytest.mark.parametrize("place", [Place.UNSCHEDULABLE, Place.GATED])
def test_the_loop_is_woken_once_when_something_becomes_poppable(place: Place) -> None:
    """An event that frees many pods wakes the loop once; while pods can be popped nobody needs waking."""
    harness = Harness()
    for number in range(3):
        harness.in_place(place, f"pod-{number}")

    harness.event(POD_DELETE)

    assert harness.wakes == 1
    assert len(harness.popped_names()) == 3
    harness.add("later")
    assert harness.wakes == 2
    harness.add("still later")
    assert harness.wakes == 2


def test_an_error_in_backoff_wakes_nobody_until_it_is_over() -> None:
    """A pod that backs off after an error cannot be popped, so the loop is woken only when its back-off completes."""
    harness = Harness()
    harness.in_place(Place.IN_FLIGHT)
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]

    harness.fail(queued)
    assert (harness.queue.pop(), harness.wakes) == (None, 0)
    harness.now += 2
    harness.queue.flush_backoff_completed(harness.now)

    assert harness.wakes == 1
    assert harness.pop() is queued


def test_a_pod_rejected_into_backoff_wakes_the_loop() -> None:
    """A pod that goes to back-off after a rejection can be popped early, so the loop is woken."""
    harness = Harness()
    harness.in_place(Place.UNSCHEDULABLE)

    harness.event(NODE_ADD)

    assert harness.place_of() is Place.BACKOFF
    assert harness.wakes == 1


def test_the_dump_lists_active_pods_in_their_order() -> None:
    """snapshot gives the active queue as it would be popped and does not disturb it."""
    harness = Harness()
    harness.add("b", "c")
    harness.add("a", priority=1)
    harness.queue.delete("uid-b")

    assert [queued.pod_info.name for queued in harness.queue.snapshot()[Place.ACTIVE]] == ["a", "c"]
    assert harness.popped_names() == ["a", "c"]

"""The flush of pods that waited too long for an event."""

from __future__ import annotations

from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import FIT, HOLDER, NODE_ADD, Harness


def test_only_pods_older_than_the_limit_are_flushed() -> None:
    """A pod that waits exactly 5 minutes stays, a second later it is tried again; younger ones stay."""
    harness = Harness()
    harness.in_place(Place.UNSCHEDULABLE, "old")
    since = harness.now
    harness.now += 200
    harness.in_place(Place.UNSCHEDULABLE, "young")

    harness.queue.flush_unschedulable_left_over(since + 300)
    assert harness.place_of("old") is Place.UNSCHEDULABLE
    harness.queue.flush_unschedulable_left_over(since + 301)
    assert harness.place_of("old") is Place.ACTIVE
    assert harness.place_of("young") is Place.UNSCHEDULABLE


def test_a_new_failure_starts_the_wait_anew() -> None:
    """The 5 minutes count from the last failed attempt, not from the first."""
    harness = Harness()
    harness.in_place(Place.UNSCHEDULABLE)
    harness.now += 299
    harness.event(NODE_ADD)
    harness.fail(harness.pop(), FIT)

    harness.queue.flush_unschedulable_left_over(harness.now + 299)

    assert harness.place_of() is Place.UNSCHEDULABLE


def test_a_pod_still_gated_is_looked_at_again_only_after_another_wait() -> None:
    """The flush asks the gates of an old gated pod once per 5 minutes, not at every flush."""
    harness = Harness(held={"pod": HOLDER})
    harness.add("pod")
    calls = harness.pre_enqueue_calls

    for seconds in range(30, 601, 30):
        harness.queue.flush_unschedulable_left_over(harness.now + seconds)

    assert harness.place_of() is Place.GATED
    assert harness.pre_enqueue_calls == calls + 1


def test_flushes_of_an_empty_queue_do_nothing() -> None:
    """Timers may fire at any time."""
    harness = Harness()
    harness.queue.flush_backoff_completed(harness.now)
    harness.queue.flush_unschedulable_left_over(harness.now)
    assert harness.queue.next_backoff_completion() is None
    assert harness.incoming == []

"""How long a pod backs off, and in what order pods leave the back-off."""

from __future__ import annotations

import pytest

from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import FIT, NODE_ADD, Harness, pod_info


def _fail_after_event(harness: Harness, *plugins: str) -> None:
    queued = harness.pop()
    harness.event(NODE_ADD)
    harness.fail(queued, *plugins)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (2000, 10)],
)
@pytest.mark.parametrize("plugins", [(FIT,), ()], ids=["rejected", "error"])
def test_backoff_doubles_up_to_the_maximum(failures: int, seconds: int, plugins: tuple[str, ...]) -> None:
    """After the n-th failure a pod backs off 1 s x 2^(n-1), at most 10 s, until the second it falls in is over."""
    harness = Harness(now=1000.0)
    harness.add("pod")
    for _ in range(failures):
        if harness.queue.pending_counts()["backoff"]:
            harness.queue.activate(["uid-pod"], harness.now)
        _fail_after_event(harness, *plugins)

    assert harness.queue.next_backoff_completion() == 1000.0 + seconds + 1
    harness.queue.flush_backoff_completed(1000.0 + seconds + 0.999)
    assert harness.place_of() is Place.BACKOFF
    harness.queue.flush_backoff_completed(1000.0 + seconds + 1)
    assert harness.place_of() is Place.ACTIVE
    assert harness.queue.next_backoff_completion() is None


def test_backoff_falls_into_whole_second_windows() -> None:
    """A failure at .25 and one at .75 of the same second end their back-off together."""
    harness = Harness(now=1000.25)
    harness.add("early")
    _fail_after_event(harness, FIT)
    early_end = harness.queue.next_backoff_completion()
    harness.now = 1000.75
    queued = harness.pop()
    assert early_end == 1002.0
    harness.queue.done(queued)
    harness.add("late")
    _fail_after_event(harness, FIT)
    assert harness.queue.next_backoff_completion() == 1002.0


def test_an_error_does_not_lengthen_the_backoff_of_rejections() -> None:
    """Errors and rejections are counted apart, and any other outcome ends a row of errors."""
    harness = Harness(now=1000.0)
    harness.add("pod")
    queued = harness.pop()
    harness.fail(queued)
    assert (queued.consecutive_errors, queued.unschedulable_count) == (1, 0)
    harness.queue.activate(["uid-pod"], harness.now)
    harness.fail(harness.pop())
    assert (queued.consecutive_errors, queued.unschedulable_count) == (2, 0)
    assert queued.backoff_until == 1003.0
    harness.queue.activate(["uid-pod"], harness.now)
    harness.fail(harness.pop(), FIT)
    assert (queued.consecutive_errors, queued.unschedulable_count) == (0, 1)
    assert queued.backoff_until == 1002.0


def test_an_error_after_rejections_backs_off_as_a_first_error() -> None:
    """The back-off after an error counts errors in a row, however often the pod was rejected before."""
    harness = Harness(now=1000.0)
    harness.add("pod")
    for _ in range(3):
        _fail_after_event(harness, FIT)
    _fail_after_event(harness)

    assert harness.queue.next_backoff_completion() == 1002.0


def test_zero_maximum_means_no_backoff() -> None:
    """With a maximum of 0 seconds a failed pod is active again at once, after a rejection and after an error."""
    harness = Harness(max_backoff_seconds=0.0)
    harness.add("pod")
    _fail_after_event(harness, FIT)
    assert harness.place_of() is Place.ACTIVE
    _fail_after_event(harness)
    assert harness.place_of() is Place.ACTIVE


def test_configured_backoff_is_used() -> None:
    """The initial and the maximal back-off come from the configuration."""
    harness = Harness(initial_backoff_seconds=3.0, max_backoff_seconds=5.0, now=1000.0)
    harness.add("pod")
    _fail_after_event(harness, FIT)
    assert harness.queue.next_backoff_completion() == 1004.0
    _fail_after_event(harness, FIT)
    assert harness.queue.next_backoff_completion() == 1006.0


def test_early_pop_takes_the_nearest_window_and_in_it_the_most_important() -> None:
    """With nothing active, pods are popped from back-off: by whole-second window, then by priority and time."""
    harness = Harness(now=1000.9)
    harness.queue.add(pod_info("next-window", priority=100), 1000.1)
    harness.queue.add(pod_info("first-low", priority=1), 1000.2)
    harness.queue.add(pod_info("first-high", priority=9), 1000.3)
    attempts = {queued.pod_info.name: queued for queued in (harness.pop(), harness.pop(), harness.pop())}
    harness.event(NODE_ADD)
    harness.now = 1000.91
    harness.fail(attempts["first-low"], FIT)
    harness.now = 1000.92
    harness.fail(attempts["first-high"], FIT)
    harness.now = 1001.0
    harness.fail(attempts["next-window"], FIT)

    assert harness.queue.pending_counts()["backoff"] == 3
    assert harness.popped_names() == ["first-high", "first-low", "next-window"]
    assert harness.incoming[-3:] == [("active", "PopFromBackoffQ")] * 3


def test_active_pods_go_before_backing_off_ones() -> None:
    """An early pop happens only when nothing is active, however low its priority."""
    harness = Harness()
    harness.add("backing-off", priority=100)
    _fail_after_event(harness, FIT)
    harness.add("active", priority=-100)

    assert harness.popped_names() == ["active", "backing-off"]


def test_errors_are_never_popped_early() -> None:
    """A pod whose attempt failed by an error sits out its back-off even if nothing else is to be done."""
    harness = Harness()
    harness.in_place(Place.IN_FLIGHT)
    (queued,) = harness.queue.snapshot()[Place.IN_FLIGHT]
    harness.fail(queued)

    assert harness.place_of() is Place.BACKOFF
    assert harness.queue.pop() is None


def test_both_kinds_complete_and_the_nearest_end_is_told() -> None:
    """The flush takes rejected pods and errors alike, and next_backoff_completion looks at both."""
    harness = Harness(now=1000.0)
    harness.add("rejected", "error")
    rejected, error = harness.pop(), harness.pop()
    harness.event(NODE_ADD)
    harness.fail(rejected, FIT)
    harness.now = 1003.0
    harness.fail(error)
    assert harness.queue.next_backoff_completion() == 1002.0
    harness.queue.delete("uid-rejected")
    assert harness.queue.next_backoff_completion() == 1005.0
    harness.add("rejected")
    harness.now = 1010.0
    harness.queue.flush_backoff_completed(harness.now)

    assert harness.queue.pending_counts() == {"active": 2, "backoff": 0, "unschedulable": 0, "gated": 0}


def test_time_served_while_unschedulable_counts() -> None:
    """A pod woken after its back-off is over goes straight to active, one woken before goes to back-off."""
    harness = Harness(now=1000.0)
    harness.in_place(Place.UNSCHEDULABLE)
    harness.now = 1002.0
    harness.event(NODE_ADD)
    assert harness.place_of() is Place.ACTIVE

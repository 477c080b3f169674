"""Nothing of a pod stays in the queue after it is gone (koordinator#3185 and the like)."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest

from scheduler.core.queue.entry import Place
from scheduler.core.queue.lazy_heap import LazyHeap
from tests.unit.core.queue.harness import FIT, HOLDER, NODE_ADD, Harness, pod_info

ROUNDS = 10_000


def _held_items(harness: Harness) -> int:
    """Objects the queue's structures hold, stale heap items and index buckets included."""
    queue = harness.queue
    heaps: list[LazyHeap] = [queue._active, queue._backoff.rejected, queue._backoff.errored]
    parking = queue._parking
    return (
        len(queue._entries)
        + sum(len(heap._items) for heap in heaps)
        + len(parking.unschedulable)
        + len(parking.gated)
        + sum(len(group) for groups in parking._held.values() for group in [*groups.values(), [*groups]])
        + len(queue._in_flight)
        + queue._in_flight.recorded
    )


@pytest.mark.parametrize("place", list(Place))
def test_ten_thousand_pods_deleted_in_a_place_leave_nothing(place: Place) -> None:
    """10,000 rounds of creating a pod, bringing it to a place and deleting it leave only bounded garbage."""
    harness = Harness()
    for number in range(ROUNDS):
        name = f"pod-{number}"
        _bring(harness, place, name)
        harness.queue.delete(f"uid-{name}")

    assert harness.queue.pending_counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}
    assert _held_items(harness) <= 3 * 65


def _bring(harness: Harness, place: Place, name: str) -> None:
    if place is Place.GATED:
        harness.held = {name: HOLDER}
    harness.add(name)
    if place in (Place.ACTIVE, Place.GATED):
        return
    queued = harness.pop()
    if place is Place.BACKOFF:
        harness.event(NODE_ADD)
    if place is not Place.IN_FLIGHT:
        harness.fail(queued, FIT)


def test_pods_deleted_between_failure_and_requeue_leave_nothing() -> None:
    """10,000 pods deleted right after their attempt failed are never put back, tried again or kept."""
    harness = Harness()
    harness.add("long")
    long_attempt = harness.pop()
    for number in range(ROUNDS):
        harness.add(f"pod-{number}")
        queued = harness.pop()
        harness.queue.delete(queued.uid)
        assert harness.fail(queued, FIT) is None
    harness.queue.done(long_attempt)

    assert harness.queue.pop() is None
    assert _held_items(harness) == 0


class _Key(str):
    """A pod's key that can be watched by a weak reference."""

    __slots__ = ("__weakref__",)


def test_a_finished_pod_can_be_collected() -> None:
    """No structure of the queue keeps a pod alive that is done, deleted or cleared."""
    harness = Harness()
    alive: dict[str, weakref.ref[_Key]] = {}
    for name in ("done", "deleted", "cleared"):
        key = _Key(name)
        alive[name] = weakref.ref(key)
        harness.queue.add(replace(pod_info(name), key=key), harness.now)
        queued = harness.pop()
        if name == "done":
            harness.queue.done(queued)
        else:
            harness.fail(queued, FIT)
        if name == "deleted":
            harness.queue.delete(queued.uid)
        del key, queued
    harness.queue.clear()
    gc.collect()

    assert {name: reference() for name, reference in alive.items()} == dict.fromkeys(alive)

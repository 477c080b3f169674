"""The pods whose time to be tried again has not come yet."""

from collections.abc import Iterator
from math import floor

from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.queue.entry import Entry
from scheduler.core.queue.lazy_heap import LazyHeap, SortKey

_MAX_DOUBLINGS = 62
"""Beyond any configured maximum; keeps the power from overflowing a float."""


class BackoffQueue:
    """Two heaps by end of back-off: pods that were turned away, and pods whose attempt failed by an error.

    Ends fall on whole seconds, and pods that end in the same second stand in the order of the active queue: so that a
    flush moves whole windows, and an early pop takes the most important pod of the nearest window.

    Attributes:
        rejected: pods turned away; popped early when nothing is active.
        errored: pods whose last attempt failed by an error; never popped early, since trying at once what just broke
            (an API server that is away) would load it further.
    """

    __slots__ = ("_initial_seconds", "_max_seconds", "errored", "rejected")

    def __init__(self, tickets: Iterator[int], initial_seconds: float, max_seconds: float) -> None:
        """`max_seconds` 0 means no back-off at all."""
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds
        self.rejected = LazyHeap(tickets)
        self.errored = LazyHeap(tickets)

    @property
    def live(self) -> int:
        """Pods in back-off."""
        return self.rejected.live + self.errored.live

    def end_of(self, queued: QueuedPodInfo) -> float:
        """When the pod, whose attempt ended at its timestamp, may be tried again (monotonic seconds, whole).

        Initial x 2^(n-1) after the attempt and at most the maximum; n is the number of consecutive errors after an
        error, of unschedulable attempts otherwise. The pod backs off until the second in which that falls is over.
        """
        count = queued.consecutive_errors or queued.unschedulable_count
        if not count or not self._max_seconds:
            return 0.0
        delay = min(self._initial_seconds * 2.0 ** min(count - 1, _MAX_DOUBLINGS), self._max_seconds)
        return floor(queued.timestamp + delay) + 1.0

    def push(self, sort_key: SortKey, entry: Entry) -> None:
        """Add an entry; `sort_key` is its key in the active queue."""
        self._heap_of(entry).push((entry.queued.backoff_until, *sort_key), entry)

    def discard(self, entry: Entry) -> None:
        """Take out an entry."""
        self._heap_of(entry).discard(entry)

    def pop_completed(self, now: float) -> Iterator[Entry]:
        """Take out one after another the entries whose back-off is over."""
        for heap in (self.rejected, self.errored):
            while (entry := heap.peek()) is not None and entry.queued.backoff_until <= now:
                heap.pop()
                yield entry

    def next_completion(self) -> float | None:
        """When the next back-off ends (monotonic seconds); None when nobody backs off."""
        heads = (self.rejected.peek(), self.errored.peek())
        return min((head.queued.backoff_until for head in heads if head is not None), default=None)

    def clear(self) -> None:
        """Drop all entries."""
        self.rejected.clear()
        self.errored.clear()

    def ordered(self) -> list[Entry]:
        """The entries by end of back-off. Sorts: for dumps only."""
        return sorted(self.rejected.ordered() + self.errored.ordered(), key=lambda entry: entry.queued.backoff_until)

    def _heap_of(self, entry: Entry) -> LazyHeap:
        return self.errored if entry.queued.consecutive_errors else self.rejected

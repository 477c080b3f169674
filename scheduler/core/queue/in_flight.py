"""What happened while pods were being scheduled."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice

from scheduler.core.framework.events import POD_POPPED, UNSCHEDULABLE_TIMEOUT
from scheduler.core.queue.event_registry import Occurrence

MAX_EVENTS = 10_000
"""Events kept for attempts under way; an attempt that outlasts more of them is retried as if any event had come."""

_FORGOTTEN = Occurrence(UNSCHEDULABLE_TIMEOUT, None, None, {})


class InFlight:
    """The attempts under way and the events since the oldest of them began.

    An attempt decides on the state at its beginning. What changed since then may already have cured its failure, and no
    further event would tell: so the events are kept until every attempt that began before them has ended.
    """

    __slots__ = ("_begun_at", "_by_label", "_events", "_first")

    def __init__(self) -> None:
        # Events are numbered from the start of the process; `_first` is the number of `_events[0]`. An attempt is the
        # number of the first event after its beginning, and attempts stand in the order of their beginnings.
        self._begun_at: dict[str, int] = {}
        self._events: deque[Occurrence] = deque()
        self._first = 0
        self._by_label: Counter[str] = Counter()

    def __len__(self) -> int:
        """Attempts under way."""
        return len(self._begun_at)

    @property
    def recorded(self) -> int:
        """Events kept."""
        return len(self._events)

    def counts(self) -> dict[str, int]:
        """Events kept by label, and the attempts under way as `PodPopped`; the metric `inflight_events`."""
        return {POD_POPPED: len(self._begun_at), **self._by_label}

    def begin(self, uid: str) -> None:
        """An attempt for the pod begins."""
        self._begun_at[uid] = self._first + len(self._events)

    def finish(self, uid: str) -> None:
        """The pod's attempt is over; events that no other attempt needs are dropped."""
        begun_at = self._begun_at.pop(uid)
        if self._events and begun_at <= self._first:
            oldest = next(iter(self._begun_at.values()), None)
            if oldest is None:
                self._first += len(self._events)
                self._events.clear()
                self._by_label.clear()
                return
            while self._first < oldest:
                self._drop_oldest()

    def record(self, occurrence: Occurrence) -> None:
        """Keep what happened for the attempts under way, if any."""
        if not self._begun_at:
            return
        self._events.append(occurrence)
        self._by_label[occurrence.event.label] += 1
        if len(self._events) > MAX_EVENTS:
            self._drop_oldest()

    def events_during(self, uid: str) -> Iterator[Occurrence]:
        """What happened since the pod's attempt began, oldest first; a wildcard event first if some is forgotten."""
        begun_at = self._begun_at[uid]
        if begun_at < self._first:
            yield _FORGOTTEN
        for occurrence in islice(self._events, max(begun_at - self._first, 0), None):
            if occurrence.concerns(uid):
                yield occurrence

    def clear(self) -> None:
        """Forget all attempts and events."""
        self._begun_at.clear()
        self._events.clear()
        self._by_label.clear()

    def _drop_oldest(self) -> None:
        self._by_label[self._events.popleft().event.label] -= 1
        self._first += 1

"""A priority queue from which any entry can be taken in constant time."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from scheduler.core.queue.entry import Entry

SortKey: TypeAlias = tuple[int | float, ...]

_MIN_STALE = 64
"""Stale items that are not worth a compaction, however few entries are live."""


class LazyHeap:
    """Entries by key, smallest first; equal keys leave in the order in which they came.

    An entry that is discarded leaves a stale item behind, known by a ticket that is no longer the entry's. Stale items
    are dropped when they come to the top, and all at once when they outnumber the live ones.

    Attributes:
        live: entries in the heap.
    """

    __slots__ = ("_items", "_tickets", "live")

    def __init__(self, tickets: Iterator[int]) -> None:
        """`tickets` gives growing numbers above 0; heaps between which entries move must share it."""
        self._items: list[tuple[SortKey, int, Entry]] = []
        self._tickets = tickets
        self.live = 0

    def push(self, key: SortKey, entry: Entry) -> None:
        """Add an entry that is in no heap."""
        ticket = entry.ticket = next(self._tickets)
        heappush(self._items, (key, ticket, entry))
        self.live += 1

    def pop(self) -> Entry | None:
        """Take the first entry, None when there is none."""
        items = self._items
        while items:
            _, ticket, entry = heappop(items)
            if entry.ticket == ticket:
                entry.ticket = 0
                self.live -= 1
                return entry
        return None

    def peek(self) -> Entry | None:
        """The first entry, left where it is; None when there is none."""
        items = self._items
        while items:
            _, ticket, entry = items[0]
            if entry.ticket == ticket:
                return entry
            heappop(items)
        return None

    def discard(self, entry: Entry) -> None:
        """Take out an entry of this heap."""
        entry.ticket = 0
        self.live -= 1
        stale = len(self._items) - self.live
        if stale > _MIN_STALE and stale > self.live:
            self._items = [item for item in self._items if item[2].ticket == item[1]]
            heapify(self._items)

    def clear(self) -> None:
        """Drop all entries."""
        self._items.clear()
        self.live = 0

    def ordered(self) -> list[Entry]:
        """The entries in the order in which they would be popped. Sorts: for dumps only."""
        return [entry for _, ticket, entry in sorted(self._items, key=lambda item: item[:2]) if entry.ticket == ticket]

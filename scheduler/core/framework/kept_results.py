"""Results that may be asked for again, bounded in memory."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, Protocol, TypeVar

_FRESH_ENTRIES: Final = 16
_SEEN_KEYS: Final = 10_000


class Sized(Protocol):
    """What tells how much memory it takes."""

    @property
    def size_bytes(self) -> int:
        """About what it takes of memory."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
E = TypeVar("E", bound=Sized)


class Remembered(OrderedDict[K, V]):
    """A dictionary of so many entries at most; the one that stands first is forgotten.

    Whoever moves an entry to the end when it is used lets the one go that was not used for longest.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def remember(self, key: K, value: V) -> V:
        """Put an entry in and give its value back."""
        self[key] = value
        if len(self) > self._most:
            self.popitem(last=False)
        return value


class KeptResults(Generic[K, E]):
    """The entries used last, up to a number of bytes.

    An entry must be asked for twice to stay: a backlog of pods that are all different would fill the memory with what
    nobody asks for again. Whether a key was seen before is remembered for longer than its entry.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[K, E] = OrderedDict()
        self._fresh: OrderedDict[K, E] = OrderedDict()
        self._seen: OrderedDict[K, None] = OrderedDict()

    def get(self, key: K) -> E | None:
        """The entry under the key, None when it is not kept (any more)."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
            return entry
        entry = self._fresh.pop(key, None)
        if entry is not None:
            self._keep(key, entry)
        return entry

    def put(self, key: K, entry: E) -> None:
        """Keep an entry: for good if its key was seen before, else among the few newest."""
        if key in self._seen:
            self._keep(key, entry)
            return
        self._fresh[key] = entry
        self._seen[key] = None
        if len(self._fresh) > _FRESH_ENTRIES:
            self._fresh.popitem(last=False)
        if len(self._seen) > _SEEN_KEYS:
            self._seen.popitem(last=False)

    def _keep(self, key: K, entry: E) -> None:
        self._entries[key] = entry
        while len(self._entries) > max(2, self._limit_bytes // max(1, entry.size_bytes)):
            self._entries.popitem(last=False)

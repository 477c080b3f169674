"""One object for equal parts of many objects, so that 150,000 pods of a few thousand templates fit in memory."""

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

DEFAULT_LIMIT: Final = 16_384
"""Entries of one generation: more than a big cluster has templates, or a DaemonSet has pods."""


class SharingTable(dict[K, V], Generic[K, V]):
    """`table[key]` gives the one object for the key, made by `build` when it is not known.

    Bounded by two generations: when the young one (the dict itself) is full it becomes the old one, and what the old
    one held and nobody asked for meanwhile is dropped. Sharing is therefore likely, never promised: equal keys may
    have given two objects, so identity may save a comparison but must not replace it.

    A key must own its bytes: a view of a receive buffer would keep the buffer alive, or change under the table.
    """

    __slots__ = ("_build", "_limit", "_old")

    def __init__(self, build: Callable[[K], V], limit: int = DEFAULT_LIMIT) -> None:
        super().__init__()
        self._build = build
        self._limit = limit
        self._old: dict[K, V] = {}

    def __missing__(self, key: K) -> V:
        value = self._old[key] if key in self._old else self._build(key)
        if len(self) >= self._limit:
            self._old = self.copy()
            self.clear()
        self[key] = value
        return value


def decoded_parts(part_type: type[V]) -> SharingTable[bytes, V]:
    """A table from the JSON of a part to the part; looking up what is no such part raises `msgspec.ValidationError`."""
    return SharingTable(msgspec.json.Decoder(part_type).decode)

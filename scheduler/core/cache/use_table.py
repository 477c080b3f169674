"""Which rows use what."""

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_NOWHERE: Final[Mapping[int, int]] = MappingProxyType({})


class UseTable(Generic[K]):
    """How often each thing is used on each row."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[K, dict[int, int]] = {}

    def count(self, row: int, thing: K, uses: int) -> None:
        """So many more uses (or, negative, fewer) of the thing on the row."""
        rows = self._rows.setdefault(thing, {})
        rows[row] = rows.get(row, 0) + uses
        if not rows[row]:
            del rows[row]
        if not rows:
            del self._rows[thing]

    def of(self, thing: K) -> Mapping[int, int]:
        """The rows that use the thing, each with its number of uses; read only."""
        return self._rows.get(thing, _NOWHERE)

    def __contains__(self, thing: K) -> bool:
        return thing in self._rows

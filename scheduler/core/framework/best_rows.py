"""The rows with the highest total, kept while totals change one row at a time."""

from typing import Final, Protocol

import numpy as np

from scheduler.core.framework.types import BoolArray, IntArray, RowIndex

_DRAWS: Final = 16


class Rng(Protocol):
    """Where ties are decided; `random.Random` in the running scheduler."""

    def randrange(self, start: int, /) -> int:
        """A whole number from 0 to start - 1."""


class BestRows:
    """Draws one of the rows that share the highest total.

    Placements lower the total of one row each, so the others stay the best: a row that is no longer one of them is
    dropped when it is drawn, and only when none is left, or it can't be told, are all totals looked at again.
    """

    __slots__ = ("_count", "_rows", "_total")

    def __init__(self) -> None:
        self._rows: RowIndex = np.empty(0, np.intp)
        self._count = 0
        self._total = 0

    def forget(self) -> None:
        """Totals changed at large."""
        self._count = 0

    def note(self, row: int, old: int, new: int) -> None:
        """One row's total changes. One that rises to the best may be among them already: look again at all."""
        if self._count and new > old and new >= self._total:
            self._count = 0

    def draw(self, totals: IntArray, rng: Rng) -> int:
        """One of the rows with the highest of `totals`, each as likely as the other."""
        while True:
            if not self._count:
                self._total = int(totals.max())
                self._rows = np.flatnonzero(totals == self._total)
                self._count = len(self._rows)
            position = rng.randrange(self._count) if self._count > 1 else 0
            row = self._rows.item(position)
            if totals.item(row) == self._total:
                return row
            self._count -= 1
            self._rows[position] = self._rows[self._count]

    def draw_among(self, totals: IntArray, allowed: BoolArray, rng: Rng) -> int | None:
        """`draw` of the rows that are allowed; None where they are so few that a look at all of them is cheaper."""
        for _ in range(_DRAWS):
            row = self.draw(totals, rng)
            if allowed.item(row):
                return row
        return None

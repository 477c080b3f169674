"""Which rows changed since a reader last looked."""

from collections.abc import Sequence


class ChangeLog:
    """An append-only list of changed rows, read by position and bounded in length.

    A reader keeps the `end` it has seen and asks `since` for what came later.
    """

    __slots__ = ("_limit", "_rows", "_start")

    def __init__(self, limit: int = 16_384) -> None:
        self._rows: list[int] = []
        self._start = 0
        self._limit = limit

    @property
    def end(self) -> int:
        """The position after the newest entry."""
        return self._start + len(self._rows)

    def append(self, row: int) -> None:
        """Note that a row changed; the oldest half is dropped when the log is full."""
        self._rows.append(row)
        if len(self._rows) > self._limit:
            dropped = len(self._rows) // 2
            del self._rows[:dropped]
            self._start += dropped

    def since(self, position: int) -> list[int] | None:
        """Distinct rows changed since `position`; None when that is too long ago to tell: all may have."""
        if position < self._start:
            return None
        rows = self._rows[position - self._start :]
        return rows if len(rows) == 1 else list(set(rows))


def changed_since(logs: Sequence[ChangeLog], positions: list[int]) -> list[int] | None:
    """Distinct rows changed in any of the logs since `positions`, which are moved to the ends; None: all may have."""
    changed: set[int] | None = set()
    for number, log in enumerate(logs):
        rows = log.since(positions[number])
        positions[number] = log.end
        changed = None if changed is None or rows is None else changed.union(rows)
    return None if changed is None else list(changed)

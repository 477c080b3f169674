"""Small numbers for values that many nodes share."""

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Interned(Generic[V]):
    """Gives each distinct value a small id, counts its users, and uses the id again when nobody is left.

    Ids index `values`; a freed slot holds None. `version` grows whenever an id's meaning changes.
    """

    __slots__ = ("_free", "_ids", "_users", "values", "version")

    def __init__(self) -> None:
        self.values: list[V | None] = []
        self.version = 0
        self._ids: dict[V, int] = {}
        self._users: list[int] = []
        self._free: list[int] = []

    def acquire(self, value: V) -> int:
        """The id of `value`, with one user more."""
        found = self._ids.get(value)
        if found is not None:
            self._users[found] += 1
            return found
        self.version += 1
        if self._free:
            fresh = self._free.pop()
            self.values[fresh] = value
            self._users[fresh] = 1
        else:
            fresh = len(self.values)
            self.values.append(value)
            self._users.append(1)
        self._ids[value] = fresh
        return fresh

    def release(self, number: int) -> None:
        """One user less of the value with this id."""
        self._users[number] -= 1
        if not self._users[number]:
            value = self.values[number]
            if value is not None:
                del self._ids[value]
            self.values[number] = None
            self._free.append(number)
            self.version += 1

    def __len__(self) -> int:
        """Number of distinct values in use."""
        return len(self._ids)

    def find(self, value: V) -> int | None:
        """The id of `value` if anybody uses it."""
        return self._ids.get(value)

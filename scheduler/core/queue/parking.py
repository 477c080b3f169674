"""The pods that wait for something to happen: unschedulable ones and gated ones."""

from collections.abc import Collection, Hashable, Mapping
from typing import TypeAlias

from scheduler.core.queue.entry import Entry, Place
from scheduler.core.queue.event_registry import PluginKey

Group: TypeAlias = dict[str, Entry]
"""Entries by uid, never empty: parked under one plugin, alike to its hints."""


class Parking:
    """Unschedulable and gated pods, found by the plugins that hold them.

    An event looks only at the pods of plugins that asked for it, and of those at one of each *group*: pods that a
    plugin's hints cannot tell apart, by its `hint_signature`. So with thousands of pods waiting, an event that helps
    none of them costs nothing, or as much as there are kinds of pods. Both sets are ordered by the time of parking, so
    that a flush sees only pods that are due.

    Attributes:
        unschedulable: pods that plugins turned away, by uid.
        gated: pods that a PreEnqueue plugin holds, by uid.
    """

    __slots__ = ("_held", "gated", "unschedulable")

    def __init__(self) -> None:
        self.unschedulable: dict[str, Entry] = {}
        self.gated: dict[str, Entry] = {}
        self._held: dict[PluginKey, dict[Hashable, Group]] = {}

    def add(self, entry: Entry, keys: Mapping[PluginKey, Hashable | None], now: float) -> None:
        """Park an entry, whose `place` is set already, under the plugins that hold it, each with its signature.

        An entry that is alike to no other has the signature None.
        """
        self._places_of(entry)[entry.queued.uid] = entry
        entry.parked_since = now
        self._hold(entry, keys)

    def replace_keys(self, entry: Entry, keys: Mapping[PluginKey, Hashable | None]) -> None:
        """Its pod changed, and may not be alike any more to those it was alike to."""
        self._release(entry)
        self._hold(entry, keys)

    def remove(self, entry: Entry) -> None:
        """Take out a parked entry."""
        del self._places_of(entry)[entry.queued.uid]
        self._release(entry)

    def groups_held_by(self, key: PluginKey) -> Collection[Group]:
        """The groups of entries parked under a plugin; good until the next change."""
        held = self._held.get(key)
        return () if held is None else held.values()

    def parked_before(self, moment: float) -> list[Entry]:
        """The entries parked before that moment (monotonic seconds)."""
        due: list[Entry] = []
        for entries in (self.unschedulable, self.gated):
            for entry in entries.values():
                if entry.parked_since >= moment:
                    break
                due.append(entry)
        return due

    def all(self) -> list[Entry]:
        """Every parked entry."""
        return [*self.unschedulable.values(), *self.gated.values()]

    def clear(self) -> None:
        """Drop all entries."""
        self.unschedulable.clear()
        self.gated.clear()
        self._held.clear()

    def _hold(self, entry: Entry, keys: Mapping[PluginKey, Hashable | None]) -> None:
        uid = entry.queued.uid
        parked_under = []
        for key, signature in keys.items():
            group_key = entry if signature is None else signature
            self._held.setdefault(key, {}).setdefault(group_key, {})[uid] = entry
            parked_under.append((key, group_key))
        entry.parked_under = tuple(parked_under)

    def _release(self, entry: Entry) -> None:
        uid = entry.queued.uid
        for key, group_key in entry.parked_under:
            groups = self._held[key]
            group = groups[group_key]
            del group[uid]
            if not group:
                del groups[group_key]
        entry.parked_under = ()

    def _places_of(self, entry: Entry) -> dict[str, Entry]:
        return self.gated if entry.place is Place.GATED else self.unschedulable

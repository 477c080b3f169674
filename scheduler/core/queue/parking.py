"""The pods that wait for something to happen: unschedulable ones and gated ones."""

from collections import defaultdict
from collections.abc import Iterable

from scheduler.core.queue.entry import Entry, Place
from scheduler.core.queue.event_registry import PluginKey


class Parking:
    """Unschedulable and gated pods, found by the plugins that hold them.

    An event looks only at the pods of plugins that asked for it: with thousands of pods waiting, an event that helps
    none of them costs nothing. Both sets are ordered by the time of parking, so that a flush sees only pods that are
    due.

    Attributes:
        unschedulable: pods that plugins turned away, by uid.
        gated: pods that a PreEnqueue plugin holds, by uid.
    """

    __slots__ = ("_by_plugin", "gated", "unschedulable")

    def __init__(self) -> None:
        self.unschedulable: dict[str, Entry] = {}
        self.gated: dict[str, Entry] = {}
        self._by_plugin: defaultdict[PluginKey, dict[str, Entry]] = defaultdict(dict)

    def add(self, entry: Entry, keys: tuple[PluginKey, ...], now: float) -> None:
        """Park an entry, whose `place` is set already, under the plugins that hold it."""
        uid = entry.queued.uid
        self._places_of(entry)[uid] = entry
        entry.parked_since = now
        entry.parked_under = keys
        for key in keys:
            self._by_plugin[key][uid] = entry

    def remove(self, entry: Entry) -> None:
        """Take out a parked entry."""
        uid = entry.queued.uid
        del self._places_of(entry)[uid]
        for key in entry.parked_under:
            del self._by_plugin[key][uid]
        entry.parked_under = ()

    def held_by(self, keys: Iterable[PluginKey]) -> list[Entry]:
        """The entries parked under any of the keys, each once."""
        found: dict[str, Entry] = {}
        for key in keys:
            if (waiting := self._by_plugin.get(key)) is not None:
                found.update(waiting)
        return list(found.values())

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
        self._by_plugin.clear()

    def _places_of(self, entry: Entry) -> dict[str, Entry]:
        return self.gated if entry.place is Place.GATED else self.unschedulable

"""The cluster as one scheduling cycle sees it."""

from scheduler.core.cache.anti_affinity import ExistingAntiAffinity
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.columns import NodeColumns


class Snapshot:
    """Columns as of the last `refresh`, with logs of what changed, so that kept results can be caught up.

    Nothing but `refresh` changes it: between two refreshes a cycle reads one state.

    Attributes:
        nodes: the columns.
        node_changes: rows whose Node object changed, came or went.
        row_changes: rows whose Node object or pods changed.
        generation: number of refreshes that brought a change.
    """

    def __init__(self, cache: Cache) -> None:
        self.nodes = NodeColumns()
        self.node_changes = ChangeLog()
        self.row_changes = ChangeLog()
        self.generation = 0
        self._cache = cache

    @property
    def existing_anti_affinity(self) -> ExistingAntiAffinity:
        """Required anti-affinity terms of placed pods."""
        return self._cache.existing_anti_affinity

    def refresh(self) -> None:
        """Bring in what the cache learnt; the cost is proportional to the rows that changed. Start of every cycle."""
        changes = self._cache.take_changes()
        if not changes.nodes and not changes.usage:
            return
        self.generation += 1
        for row, info in changes.nodes.items():
            self.nodes.write_node(row, info)
            self.node_changes.append(row)
            self.row_changes.append(row)
        for row, info in changes.usage.items():
            self.nodes.write_usage(row, info)
            if row not in changes.nodes:
                self.row_changes.append(row)

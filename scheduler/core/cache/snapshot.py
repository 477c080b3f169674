"""The cluster as one scheduling cycle sees it."""

from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.columns import NodeColumns
from scheduler.core.cache.node_info import NodeInfo
from scheduler.core.cache.overlay import Overlay
from scheduler.core.cache.pod_counts import PodCounts


class Snapshot:
    """Columns as of the last `refresh`, with logs of what changed, so that kept results can be caught up.

    Nothing but `refresh` changes it: between two refreshes a cycle reads one state. An `overlay` changes it for as long
    as it is open.

    Attributes:
        nodes: the columns.
        nominator: pods that hold room on a node until they are placed there.
        objects: what else there is in the cluster.
        pod_counts: pods per selector, by topology.
        node_changes: rows whose Node object changed, came or went.
        row_changes: rows whose Node object, pods or nominated pods changed.
        start_changes: rows on which a pod began to run, which matters to preemption alone.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.nodes = NodeColumns(cluster.objects)
        self.nominator = cluster.nominator
        self.objects = cluster.objects
        self.pod_counts = PodCounts(self.nodes, cluster.objects.namespaces)
        self.node_changes = ChangeLog()
        self.row_changes = ChangeLog()
        self.start_changes = ChangeLog()
        self._cache = cluster.cache

    def node_info(self, row: int) -> NodeInfo | None:
        """The node of a row with its pods; None for a row without a node."""
        return self._cache.node_info(self.nodes.names[row]) if self.nodes.exists[row] else None

    def overlay(self) -> Overlay:
        """Tentative placements, for as long as the context lasts."""
        return Overlay(self.nodes, self.pod_counts)

    def refresh(self) -> None:
        """Bring in what the cache learnt; the cost is proportional to the rows that changed. Start of every cycle."""
        changes = self._cache.take_changes()
        for row, info in changes.nodes.items():
            self.nodes.write_node(row, info)
            self.node_changes.append(row)
            self.row_changes.append(row)
        for row, info in changes.usage.items():
            self.nodes.write_usage(row, info)
            if row not in changes.nodes:
                self.row_changes.append(row)
        for sign, pod, row in changes.pods:  # after the nodes, whose labels they are counted by
            self.pod_counts.count_pod(row, pod, sign)
        for row in changes.starts:
            self.start_changes.append(row)
        for name in self.nominator.take_changes():  # after the nodes, whose rows it needs
            changed = self.nodes.row_of(name)
            if changed is not None:
                self.row_changes.append(changed)

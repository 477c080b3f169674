"""What the scheduler believes of nodes and of the pods on them, placements in flight included.

A pod in the cache::

                assume_pod                add_pod (the watch confirms)
     Initial ---------------> Assumed ------------------------------> Added ---+
      |  ^                      |  |                                   ^ |  ^  | add_pod
      |  |     forget_pod       |  | remove_pod                        | |  +--+   (changed)
      |  +----------------------+  +------------> Deleted <------------+-+
      |                                              ^       remove_pod
      +----------------------------------------------|----> Added
                        add_pod (bound elsewhere)

Assumptions: the watch is the truth, so an assumed pod that the watch shows on another node moves there; an assumed pod
never expires by time, since a bind that is slow may still succeed: it leaves by confirmation, `forget_pod` or a delete.
Pods may name a node before its object arrives and may outlive it; they are counted all the while.

Only `event_handlers` and the scheduling cycle write here, on the scheduling loop. `Snapshot.refresh` takes the changes.
"""

from dataclasses import dataclass, field

from scheduler.api.quantity import QuantityError
from scheduler.api.types import Node
from scheduler.core.cache.node_info import NodeInfo
from scheduler.core.framework.types import PodInfo


@dataclass(slots=True)
class PodState:
    """A pod in the cache.

    Attributes:
        node_name: the node it counts on.
        assumed: whether only our own decision puts it there, not yet the watch.
    """

    pod: PodInfo
    node_name: str
    assumed: bool


class CacheError(Exception):
    """A transition that the state machine does not have: a fault in the caller."""


@dataclass(slots=True)
class Changes:
    """What changed since the last `Cache.take_changes`.

    Attributes:
        nodes, usage: node infos by row whose Node object, or whose pods, changed.
        pods: pods that came (1) or left (-1), each with its row, in order.
        starts: rows on which pods began to run.
    """

    nodes: dict[int, NodeInfo]
    usage: dict[int, NodeInfo]
    pods: list[tuple[int, PodInfo, int]] = field(default_factory=list)
    starts: set[int] = field(default_factory=set)


class Cache:
    """Node infos and pod states.

    Attributes:
        version: grows with each change of a node or of what counts on one.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        self._pods: dict[str, PodState] = {}
        self._assumed: set[str] = set()
        self._free_rows: list[int] = []
        self._rows = 0
        self._changes = Changes({}, {})
        self.version = 0

    # --- pods

    def assume_pod(self, pod: PodInfo, node_name: str) -> None:
        """Count a pod on the node just chosen for it.

        Raises:
            CacheError: the pod is in the cache already.
        """
        if pod.uid in self._pods:
            raise CacheError(f"pod {pod.key} ({pod.uid}) is in the cache, it can't be assumed")
        self._insert(PodState(pod, node_name, assumed=True))
        self._assumed.add(pod.uid)

    def forget_pod(self, uid: str) -> None:
        """Take back an assumption that came to nothing; does nothing if the watch has decided meanwhile."""
        if uid in self._assumed:
            self._delete(uid)

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        """The watch shows a pod on a node, new or changed: confirm the assumption, correct it, or learn of the pod."""
        state = self._pods.get(pod.uid)
        if state is not None:
            self._replace(state, pod, node_name)
        else:
            self._insert(PodState(pod, node_name, assumed=False))

    def remove_pod(self, uid: str) -> None:
        """The watch shows that the pod is gone or finished; does nothing for an unknown one."""
        if uid in self._pods:
            self._delete(uid)

    def pod_state(self, uid: str) -> PodState | None:
        """The pod's state, None when it isn't here."""
        return self._pods.get(uid)

    def is_assumed(self, uid: str) -> bool:
        """Whether the pod counts by our own decision only."""
        return uid in self._assumed

    # --- nodes

    def add_node(self, node: Node) -> None:
        """The watch shows a node, new or changed.

        Raises:
            QuantityError: an allocatable amount is not a quantity; what was known of the node stays.
        """
        info = self._info(node.metadata.name)
        try:
            info.set_node(node)
        except QuantityError:
            self._drop_if_empty(info)
            raise
        self.version += 1
        self._changes.nodes[info.row] = info
        self._changes.usage[info.row] = info

    def remove_node(self, name: str) -> None:
        """The watch shows that the node is gone; its pods stay counted until their own deletes come."""
        info = self._nodes.get(name)
        if info is None or info.node is None:
            return
        info.set_node(None)
        self.version += 1
        self._changes.nodes[info.row] = info
        self._drop_if_empty(info)

    def node_info(self, name: str) -> NodeInfo | None:
        """The node's info, which may lack its object."""
        return self._nodes.get(name)

    # --- as a whole

    def take_changes(self) -> Changes:
        """What changed since the last call; called by the snapshot at the start of each cycle."""
        taken, self._changes = self._changes, Changes({}, {})
        return taken

    def sizes(self) -> dict[str, int]:
        """Numbers for the metric ``scheduler_cache_size``: nodes, pods, assumed_pods."""
        return {"nodes": len(self._nodes), "pods": len(self._pods), "assumed_pods": len(self._assumed)}

    def node_infos(self) -> list[NodeInfo]:
        """All node infos; for dumps, comparisons and tests."""
        return list(self._nodes.values())

    # --- transitions

    def _insert(self, state: PodState) -> None:
        info = self._info(state.node_name)
        info.add_pod(state.pod)
        self._pods[state.pod.uid] = state
        self.version += 1
        self._changes.usage[info.row] = info
        self._changes.pods.append((1, state.pod, info.row))

    def _delete(self, uid: str) -> None:
        state = self._pods.pop(uid)
        self._assumed.discard(uid)
        info = self._nodes[state.node_name]
        info.remove_pod(uid)
        self.version += 1
        self._changes.usage[info.row] = info
        self._changes.pods.append((-1, state.pod, info.row))
        self._drop_if_empty(info)

    def _replace(self, state: PodState, pod: PodInfo, node_name: str) -> None:
        old = state.pod
        if state.node_name == node_name and counts_alike(old, pod):
            info = self._nodes[node_name]
            info.pods[pod.uid] = pod
            if old.pod.status.start_time != pod.pod.status.start_time:
                self._changes.starts.add(info.row)
            state.pod = pod
            state.assumed = False
            self._assumed.discard(pod.uid)
            return
        self._delete(pod.uid)
        self._insert(PodState(pod, node_name, assumed=False))

    def _info(self, name: str) -> NodeInfo:
        info = self._nodes.get(name)
        if info is None:
            if self._free_rows:
                row = self._free_rows.pop()
            else:
                row = self._rows
                self._rows += 1
            info = self._nodes[name] = NodeInfo(name, row)
        return info

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            del self._nodes[info.name]
            self._free_rows.append(info.row)


def counts_alike(old: PodInfo, new: PodInfo) -> bool:
    """Whether a changed pod leaves its node's columns and counters as they are (status updates do)."""
    before, now = old.pod.metadata, new.pod.metadata
    return (
        old.requests == new.requests
        and old.priority == new.priority
        and old.host_ports == new.host_ports
        and before.labels is now.labels
        and (before.deletion_timestamp is None) is (now.deletion_timestamp is None)
        and old.pod.spec.affinity is new.pod.spec.affinity
        and old.volumes == new.volumes
    )

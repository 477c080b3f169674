"""Which pending pods hold room on which nodes until they are placed there."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection

from scheduler.core.framework.types import PodInfo

_NOBODY: dict[str, PodInfo] = {}


class Nominator:
    """Nominations by node and by pod; at most one a pod.

    Written by the scheduling cycle (preemption nominates in memory before anything is written to the cluster) and by
    `event_handlers` (nominations found on pods, pods that are gone or bound, nodes that are gone); read by filtering.

    Attributes:
        version: grows with each change.
    """

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        self._pods_at: Counter[int] = Counter()
        self._priorities: list[int] = []
        self._changed: dict[str, None] = {}
        self.version = 0

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate the pod to a node, in place of the node it was nominated to before."""
        self.remove(pod.uid)
        self._node_of[pod.uid] = node_name
        self._by_node.setdefault(node_name, {})[pod.uid] = pod
        self._changed[node_name] = None
        self.version += 1
        self._pods_at[pod.priority] += 1
        if self._pods_at[pod.priority] == 1:
            self._priorities = sorted(self._pods_at)

    def remove(self, uid: str) -> str | None:
        """End the pod's nomination; the node it was nominated to, None if to none."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return None
        on_node = self._by_node[node_name]
        priority = on_node.pop(uid).priority
        if not on_node:
            del self._by_node[node_name]
        self._changed[node_name] = None
        self.version += 1
        self._pods_at[priority] -= 1
        if not self._pods_at[priority]:
            del self._pods_at[priority]
            self._priorities.remove(priority)
        return node_name

    def node_of(self, uid: str) -> str | None:
        """The node the pod is nominated to."""
        return self._node_of.get(uid)

    def on_node(self, node_name: str) -> Collection[PodInfo]:
        """The pods nominated to a node."""
        return self._by_node.get(node_name, _NOBODY).values()

    def nodes(self) -> Collection[str]:
        """Nodes to which some pod is nominated."""
        return self._by_node.keys()

    def level(self, priority: int) -> int | None:
        """The lowest priority of a nominated pod that is not below `priority`; None if all are below.

        Pods of equal level see the same nominated pods, so it is part of what their verdicts are kept by.
        """
        position = bisect_left(self._priorities, priority)
        return self._priorities[position] if position < len(self._priorities) else None

    def take_changes(self) -> Collection[str]:
        """Nodes whose nominated pods changed since the last call; asked at the start of each cycle."""
        if not self._changed:
            return ()
        changed, self._changed = self._changed, {}
        return changed

    def clear(self) -> None:
        """Forget every nomination."""
        for uid in list(self._node_of):
            self.remove(uid)

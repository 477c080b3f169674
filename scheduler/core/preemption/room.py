"""The room of one node at this moment, on plain numbers: for queueing hints, which are asked between two cycles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.core.cache.node_info import NodeInfo

Asked: TypeAlias = Sequence[tuple[str, int]]
"""The resources that a pod asks and NodeResourcesFit looks at, with the amounts (cpu in milli, others in units)."""


class LiveRoom:
    """What NodeResourcesFit would say of a waiting pod and a node if it were asked now.

    As its filter with nominated pods does, which is the stricter of the two passes: pods nominated to the node that are
    not of lower priority count as if they were there, the pod itself does not.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cache = cluster.cache
        self._nominator = cluster.nominator

    def is_nominated(self, pod: PodInfo, node_name: str | None = None) -> bool:
        """Whether room is held for the pod on that node, or on any."""
        held = self._nominator.node_of(pod.uid)
        return held is not None and node_name in (None, held)

    def fits(self, pod: PodInfo, asked: Asked, node_name: str) -> bool:
        """Whether there is room."""
        info = self._node(node_name)
        return info is not None and self._has_room(pod, asked, info, len(info.pods), info.requested)

    def fits_without_lower(self, pod: PodInfo, asked: Asked, node_name: str) -> bool:
        """Whether there would be room if all pods of lower priority left; if not, no preemption makes any."""
        info = self._node(node_name)
        if info is None:
            return False
        if all(priority >= pod.priority for priority in info.priorities):
            return self._has_room(pod, asked, info, len(info.pods), info.requested)
        staying = [other for other in info.pods.values() if other.priority >= pod.priority]
        requested = {resource: _sum(staying, resource) for resource, _ in asked}
        return self._has_room(pod, asked, info, len(staying), requested)

    def awaits_victims(self, pod: PodInfo, node_name: str) -> bool:
        """Whether pods of lower priority that a preemption evicted are still on the node."""
        info = self._cache.node_info(node_name)
        return info is not None and any_evicted_below(pod, info.pods.values())

    def _node(self, name: str) -> NodeInfo | None:
        info = self._cache.node_info(name)
        return None if info is None or info.node is None else info

    def _has_room(self, pod: PodInfo, asked: Asked, info: NodeInfo, pods: int, requested: dict[str, int]) -> bool:
        nominated = [
            other
            for other in self._nominator.on_node(info.name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        if pods + len(nominated) >= info.allocatable.get("pods", 0):
            return False
        for resource, ask in asked:
            used = requested.get(resource, 0) + _sum(nominated, resource)
            # In floats, as the columns have it: what passes there must pass here.
            if float(used) + ask > float(info.allocatable.get(resource, 0)):
                return False
        return True


def _sum(pods: Iterable[PodInfo], resource: str) -> int:
    return sum(pod.requests.get(resource) for pod in pods)


def any_evicted_below(preemptor: PodInfo, pods: Collection[PodInfo]) -> bool:
    """Whether one of the pods has lower priority, was evicted by a preemption, and has not left yet."""
    return any(other.priority < preemptor.priority and _is_evicted(other) for other in pods)


def _is_evicted(pod: PodInfo) -> bool:
    return pod.pod.metadata.deletion_timestamp is not None and any(
        (condition.type, condition.status, condition.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
        for condition in pod.pod.status.conditions or ()
    )

"""The room of one node at this moment, on plain numbers: for queueing hints, which are asked between two cycles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from scheduler.api.types import nominated_node
from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState

Asked: TypeAlias = Sequence[tuple[str, int]]
"""The resources that a pod asks and NodeResourcesFit looks at, with the amounts (cpu in milli, others in units)."""

_EXACT_IN_FLOATS: Final = 2**53
"""Columns are floats: of amounts beyond, what they find to fit must be found to fit here, so nothing is taken off."""


class _Free(NamedTuple):
    """What is left of a node: pods that it may still hold, and amounts by resource."""

    pods: int
    amounts: dict[str, int]


class LiveRoom:
    """What NodeResourcesFit would say of a waiting pod and a node if it were asked now.

    As its filter with nominated pods does, which is the stricter of the two passes: pods nominated to the node that are
    not of lower priority count as if they were there, the pod itself does not. A hint is asked about many kinds of pods
    one after the other: what was found out of a node is kept until cache or nominations change.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cache = cluster.cache
        self._nominator = cluster.nominator
        self._seen = (-1, -1)
        self._known: dict[tuple[str, int, bool], _Free] = {}

    def fits(self, pod: PodInfo, asked: Asked, node_name: str) -> bool:
        """Whether there is room."""
        return self._has_room(pod, asked, node_name, without_lower=False)

    def fits_without_lower(self, pod: PodInfo, asked: Asked, node_name: str) -> bool:
        """Whether there would be room if all pods of lower priority left; if not, no preemption makes any."""
        return self._has_room(pod, asked, node_name, without_lower=True)

    def awaited_node(self, pod: PodInfo) -> str | None:
        """The node whose victims the pod may be waiting for: where room is held for it, else what the pod says."""
        return self._nominator.node_of(pod.uid) or nominated_node(pod.pod)

    def awaits_victims(self, pod: PodInfo, node_name: str) -> bool:
        """Whether pods of lower priority that a preemption evicted are still on the node."""
        info = self._cache.node_info(node_name)
        return info is not None and any_evicted_below(pod, info.pods.values())

    def _has_room(self, pod: PodInfo, asked: Asked, node_name: str, *, without_lower: bool) -> bool:
        versions = (self._cache.version, self._nominator.version)
        if versions != self._seen:
            self._known.clear()
            self._seen = versions
        key = (node_name, pod.priority, without_lower)
        counts_itself = self._nominator.node_of(pod.uid) == node_name
        free = None if counts_itself else self._known.get(key)
        if free is None:
            free = self._free(pod, node_name, without_lower)
            if not counts_itself:
                self._known[key] = free
        if free.pods <= 0:
            return False
        for resource, ask in asked:  # noqa: SIM110 (half the time of all() and a generator)
            if ask > free.amounts.get(resource, 0):
                return False
        return True

    def _free(self, pod: PodInfo, node_name: str, without_lower: bool) -> _Free:
        info = self._cache.node_info(node_name)
        if info is None or info.node is None:
            return _Free(0, {})
        nominated = [
            other
            for other in self._nominator.on_node(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        pods, requested = len(info.pods), info.requested
        if without_lower and any(priority < pod.priority for priority in info.priorities):
            staying = [other for other in info.pods.values() if other.priority >= pod.priority]
            pods, requested = len(staying), _sums(staying)
        if nominated:
            pods += len(nominated)
            requested = _sums(nominated, requested)
        amounts = {
            resource: amount - requested.get(resource, 0) if amount < _EXACT_IN_FLOATS else amount
            for resource, amount in info.allocatable.items()
        }
        return _Free(info.allocatable.get("pods", 0) - pods, amounts)


def _sums(pods: Iterable[PodInfo], start: dict[str, int] | None = None) -> dict[str, int]:
    sums = dict(start or {})
    for pod in pods:
        for resource, amount in pod.requests.amounts:
            sums[resource] = sums.get(resource, 0) + amount
    return sums


def any_evicted_below(preemptor: PodInfo, pods: Collection[PodInfo]) -> bool:
    """Whether one of the pods has lower priority, was evicted by a preemption, and has not left yet."""
    return any(other.priority < preemptor.priority and _is_evicted(other) for other in pods)


def _is_evicted(pod: PodInfo) -> bool:
    return pod.pod.metadata.deletion_timestamp is not None and any(
        (condition.type, condition.status, condition.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
        for condition in pod.pod.status.conditions or ()
    )

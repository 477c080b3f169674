"""Whether a pod's requests fit on a node, and how well."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import numpy as np

from scheduler.api.requests import Requests, is_extended_resource
from scheduler.api.sharing import SharingTable
from scheduler.api.types import Node
from scheduler.config.plugin_args import NodeResourcesFitArgs, ScoringStrategyType, UtilizationShapePoint
from scheduler.core.cache.node_info import allocatable_amounts
from scheduler.core.framework.broken_line import scores_by_percent
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows, ScorePlugin
from scheduler.core.framework.resource_allocation import NATIVE, Allocation, N, allocation, allocation_of_row, percent
from scheduler.core.framework.status import Code, Reason, Status
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray, PodInfo, QueuedPodInfo
from scheduler.core.preemption.room import Asked, LiveRoom

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState


class ResourceScore(Protocol):
    """Score 0..100 of one resource, the pod added; anything where the resource is not offered."""

    def __call__(self, stands: Allocation[N], /) -> N:
        """For arrays and for plain numbers alike."""


_TOO_MANY_PODS: Final = 1
"""Bit of a verdict; the bits above it stand for the pod's resources in the order of `_asked`."""
_LAST_BIT: Final = 30
"""The highest that a verdict has; from there on resources share it."""


class NodeResourcesFit(FilterPlugin, ScorePlugin):
    """Filter: free resources and pod slots. Score: by the strategy in the args, over the resources named there."""

    name: ClassVar[str] = "NodeResourcesFit"
    depends: ClassVar[Depends] = Depends.ROW
    reads_sums_only: ClassVar[bool] = True

    def __init__(self, args: NodeResourcesFitArgs, cluster: ClusterState) -> None:
        self._room = LiveRoom(cluster)
        self._asked_by: SharingTable[Requests, Sequence[tuple[str, int]]] = SharingTable(self._ask)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = tuple((spec.name, spec.weight or 1) for spec in args.scoring_strategy.resources)
        strategy = args.scoring_strategy
        self._skips_zero_scores = strategy.type is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO
        if strategy.type is ScoringStrategyType.LEAST_ALLOCATED:
            self._score_resource: ResourceScore = least_allocated
        elif strategy.type is ScoringStrategyType.MOST_ALLOCATED:
            self._score_resource = most_allocated
        else:
            shape = strategy.requested_to_capacity_ratio.shape if strategy.requested_to_capacity_ratio else ()
            self._score_resource = requested_to_capacity_ratio(shape)

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The requests; equal ones are one object."""
        return pod.requests

    score_signature = filter_signature

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """A bit for each thing that is short; negative where the node could not hold the pod even when empty."""
        nodes = snapshot.nodes
        verdicts = (nodes.pod_count[rows] >= nodes.allowed_pods[rows]).astype(np.int32)
        unresolvable: BoolArray | None = None
        for bit, (resource, ask) in enumerate(self._asked(pod), start=1):
            allocatable = nodes.allocatable(resource)[rows]
            short = nodes.requested(resource)[rows] + ask > allocatable
            if short.any():
                verdicts |= short.astype(np.int32) << min(bit, _LAST_BIT)
                never = ask > allocatable
                unresolvable = never if unresolvable is None else unresolvable | never
        return verdicts if unresolvable is None else np.where(unresolvable, -verdicts, verdicts)

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row, on plain numbers."""
        nodes = snapshot.nodes
        verdict = int(nodes.pod_count.item(row) >= nodes.allowed_pods.item(row))
        resolvable = True
        for bit, (resource, ask) in enumerate(self._asked(pod), start=1):
            allocatable = nodes.allocatable_of_row(resource, row)
            if nodes.requested_of_row(resource, row) + ask > allocatable:
                verdict |= 1 << min(bit, _LAST_BIT)
                resolvable = resolvable and ask <= allocatable
        return verdict if resolvable else -verdict

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """All that is short: pods first, then cpu, memory, ephemeral storage, then extended resources by name."""
        bits = abs(verdict)
        reasons = [Reason("Too many pods", {"resource": "pods", "requested": 1})] if bits & _TOO_MANY_PODS else []
        reasons.extend(
            Reason(f"Insufficient {resource}", {"resource": resource, "requested": ask})
            for bit, (resource, ask) in enumerate(self._asked(pod), start=1)
            if bits >> min(bit, _LAST_BIT) & 1
        )
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if verdict < 0 else Code.UNSCHEDULABLE
        return Status(code, tuple(reasons))

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """Weighted mean over the resources that the node offers, 0 where it offers none of them."""
        total: FloatArray = np.zeros(len(snapshot.nodes.exists[rows]))
        weights: IntArray | int = 0
        for resource, weight in self._resources:
            stands = allocation(snapshot.nodes, resource, pod, rows, non_zero_defaults=True)
            if stands is None:
                continue
            scores = self._score_resource(stands)
            counts: BoolArray | bool = scores > 0 if self._skips_zero_scores else True
            if not stands.everywhere:
                offered = stands.allocatable > 0
                scores *= offered
                counts = offered & counts
            if weight != 1:
                scores *= weight
            total += scores
            weights = weights + weight * counts
        counted = np.maximum(weights, 1) if isinstance(weights, np.ndarray) else max(weights, 1)
        total /= counted
        if self._skips_zero_scores:
            # math.Round of the float quotient: halves go up, and scores are not negative.
            total += 0.5
        return total.astype(np.int64)

    def score_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row, on plain numbers where the strategy is a plain formula."""
        if self._skips_zero_scores:
            return super().score_row(state, pod, snapshot, row)
        total, weights = 0.0, 0
        for resource, weight in self._resources:
            stands = allocation_of_row(snapshot.nodes, resource, pod, row, non_zero_defaults=True)
            if stands is not None and stands.allocatable:
                total += self._score_resource(stands) * weight
                weights += weight
        return int(total) // weights if weights else 0

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Pods that leave or shrink; nodes that come or offer more; a pod that asks for less than before."""
        return (
            RegisteredEvent(
                ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
                self._has_room_of_pod,
            ),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN)),
            RegisteredEvent(
                ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE), self._has_room_on_node
            ),
        )

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The requests and what decides on a preemption; a pod that may wait for victims stands by itself."""
        if self._room.awaited_node(pod) is not None:
            return None
        return (pod.requests, pod.priority, pod.pod.spec.preemption_policy)

    def _has_room_of_pod(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """Whether a pod that left a node, ended its nomination to it or shrank there makes room for the waiting one.

        Looks at the node as it is now, room held for nominated pods included, so that a pod which leaves for one
        preemptor does not wake all the others. Nothing is missed:

        * This plugin's verdict about a node improves only when a pod leaves or shrinks there, a nomination to it ends,
          or the node comes or grows, and each of these is an event. Whichever of them made enough room, alone or after
          others, the room is there when the hint is asked about it: right after it, or at the end of an attempt that
          was under way, when all its events are asked about. Should somebody have taken the room by then, that one's
          leaving is an event again. Where another plugin was the first to reject the node, that one's hints answer.
        * A pod waiting for its victims has nothing more to wait for when the last has left, whether or not the room is
          still there, nor when its own nomination ends: it must look elsewhere.
        * A pod may wait for more than room, namely for a node that a preemption can clear: with the pods of lower
          priority out of the way in any case, only leaving of the others can bring that about.
        """
        left = new or old
        if not isinstance(left, PodInfo) or left.held_node is None:
            return True
        pod, node_name = queued.pod_info, left.held_node
        asked = self._asked(pod)
        if left.uid == pod.uid or self._room.fits(pod, asked, node_name):
            return True
        if self._room.awaited_node(pod) == node_name and not self._room.awaits_victims(pod, node_name):
            return True
        return (
            left.priority >= pod.priority and _may_preempt(pod) and self._room.fits_without_lower(pod, asked, node_name)
        )

    def _has_room_on_node(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """Whether a node that came or offers more of what the pod asks has room, or could be cleared by a preemption.

        By the state of the node at this moment, for the reasons given at `_has_room_of_pod`.
        """
        pod = queued.pod_info
        asked = self._asked(pod)
        if not isinstance(new, Node) or (isinstance(old, Node) and not _grew(old, new, asked)):
            return False
        fits = self._room.fits_without_lower if _may_preempt(pod) else self._room.fits
        return fits(pod, asked, new.metadata.name)

    def _asked(self, pod: PodInfo) -> Sequence[tuple[str, int]]:
        return self._asked_by[pod.requests]

    def _ask(self, requests: Requests) -> Sequence[tuple[str, int]]:
        """What the filter looks at, in the order of messages; zero requests are not looked at."""
        amounts = [(name, ask) for name, ask in requests.amounts if ask]
        native = sorted((pair for pair in amounts if pair[0] in NATIVE), key=lambda pair: NATIVE.index(pair[0]))
        return native + [pair for pair in amounts if pair[0] not in NATIVE and not self._is_ignored(pair[0])]

    def _is_ignored(self, resource: str) -> bool:
        return is_extended_resource(resource) and (
            resource in self._ignored or resource.split("/", 1)[0] in self._ignored_groups
        )


def _may_preempt(pod: PodInfo) -> bool:
    return pod.pod.spec.preemption_policy != "Never"


def _grew(old: Node, new: Node, asked: Asked) -> bool:
    """Whether the node offers more of what is asked, or takes more pods."""
    before, now = allocatable_amounts(old), allocatable_amounts(new)
    return any(now.get(resource, 0) > before.get(resource, 0) for resource, _ in (("pods", 1), *asked))


def least_allocated(stands: Allocation[N]) -> N:
    """(allocatable - requested) * 100 / allocatable, 0 when over-committed."""
    free = stands.allocatable - stands.requested - stands.ask
    if isinstance(free, float):
        free = max(free, 0.0)
    else:
        np.maximum(free, 0.0, out=free)
    return percent(free, _divisor(stands), exact_in_floats=stands.exact_in_floats)


def most_allocated(stands: Allocation[N]) -> N:
    """Requested * 100 / allocatable, requested capped to allocatable."""
    used = stands.requested + stands.ask
    if isinstance(used, float):
        used = min(used, stands.allocatable)
    else:
        np.minimum(used, stands.allocatable, out=used)
    return percent(used, _divisor(stands), exact_in_floats=stands.exact_in_floats)


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> ResourceScore:
    """A broken line through the shape's points, flat outside them; utilisation is a whole number of percent."""
    table = scores_by_percent(shape)

    def score(stands: Allocation[N]) -> N:
        utilization = most_allocated(stands)
        if isinstance(utilization, float):
            return table.item(int(utilization))
        return table[utilization.astype(np.intp)]

    return score


def _divisor(stands: Allocation[N]) -> N:
    """What is allocatable, 1 where that is nothing."""
    return stands.allocatable if stands.everywhere else stands.allocatable + (stands.allocatable == 0)

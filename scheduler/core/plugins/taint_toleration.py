"""Matches a pod's tolerations with the taints of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scheduler.api.types import Node, Taint
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Normalize, Rows, ScorePlugin
from scheduler.core.framework.node_matching import per_taint_set, repels, tolerated
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState


class TaintToleration(FilterPlugin, ScorePlugin):
    """Filter: untolerated NoSchedule and NoExecute taints. Score: fewer untolerated PreferNoSchedule taints.

    Computed once per distinct tuple of taints, then spread over the rows that have it.
    """

    name: ClassVar[str] = "TaintToleration"
    depends: ClassVar[Depends] = Depends.NODE
    normalization: ClassVar[Normalize] = Normalize.REVERSED

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The tolerations; equal ones are one object."""
        return id(pod.pod.spec.tolerations) if pod.pod.spec.tolerations else 0

    score_signature = filter_signature

    def hint_signature(self, pod: PodInfo) -> Hashable:
        """The tolerations."""
        return id(pod.pod.spec.tolerations) if pod.pod.spec.tolerations else 0

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 where a NoSchedule or NoExecute taint is not tolerated."""
        tolerations = pod.pod.spec.tolerations or ()
        return per_taint_set(snapshot.nodes, rows, lambda taints: -repels(taints, tolerations)).astype(np.int32)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)")

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """The number of PreferNoSchedule taints that the pod does not tolerate."""
        tolerations = tuple(t for t in pod.pod.spec.tolerations or () if t.effect in (None, "", "PreferNoSchedule"))

        def untolerated(taints: tuple[Taint, ...]) -> int:
            return sum(taint.effect == "PreferNoSchedule" and not tolerated(taint, tolerations) for taint in taints)

        return per_taint_set(snapshot.nodes, rows, untolerated)

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Nodes that come without a repelling taint, or lose it; new tolerations of the pod."""
        return (
            RegisteredEvent(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _admits_now),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION)),
        )


def _admits_now(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return _admits(new, queued.pod_info) and not _admits(old, queued.pod_info)


def _admits(node: object | None, pod: PodInfo) -> bool:
    return isinstance(node, Node) and not repels(node.spec.taints or (), pod.pod.spec.tolerations or ())

"""Keeps pods off cordoned nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.tolerations import tolerates
from scheduler.api.types import Node, Taint
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin):
    """Filter: nodes with ``spec.unschedulable``, unless the pod tolerates the taint that stands for it."""

    name: ClassVar[str] = "NodeUnschedulable"
    depends: ClassVar[Depends] = Depends.NODE

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """All pods that do not tolerate a cordon are alike."""
        return None if _tolerates_cordon(pod) else True

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 for cordoned nodes."""
        return -snapshot.nodes.unschedulable[rows].astype(np.int32)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Nodes that come open or are uncordoned; a pod that tolerates a cordon now."""
        return (
            RegisteredEvent(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _is_open_now),
            RegisteredEvent(
                ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION),
                lambda queued, old, new: isinstance(new, PodInfo) and _tolerates_cordon(new),
            ),
        )

    def hint_signature(self, pod: PodInfo) -> Hashable:
        """All pods that it rejects are alike."""
        return True


def _tolerates_cordon(pod: PodInfo) -> bool:
    return any(tolerates(toleration, _CORDON) for toleration in pod.pod.spec.tolerations or ())


def _is_open_now(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return _is_open(new) and not _is_open(old)


def _is_open(node: object | None) -> bool:
    return isinstance(node, Node) and not node.spec.unschedulable

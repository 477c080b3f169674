"""Keeps pods off cordoned nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.tolerations import tolerates
from scheduler.api.types import Taint
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo

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
        tolerated = any(tolerates(toleration, _CORDON) for toleration in pod.pod.spec.tolerations or ())
        return None if tolerated else True

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 for cordoned nodes."""
        return -snapshot.nodes.unschedulable[rows].astype(np.int32)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Nodes that come or are uncordoned; new tolerations of the pod."""
        return (
            RegisteredEvent(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION)),
        )

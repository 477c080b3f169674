"""Holds a pod to the node it names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scheduler.api.types import Node
from scheduler.core.framework.events import NODE_ADD, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState


class NodeName(FilterPlugin):
    """Filter: only the node in ``spec.nodeName``, when that is set."""

    name: ClassVar[str] = "NodeName"
    depends: ClassVar[Depends] = Depends.NODE

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The node's name."""
        return pod.pod.spec.node_name or None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 for every other node."""
        verdicts = np.full(snapshot.nodes.count, -1, np.int32)
        row = snapshot.nodes.row_of(pod.pod.spec.node_name or "")
        if row is not None:
            verdicts[row] = 0
        return verdicts[rows]

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match the requested node name")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """The node that the pod names, when it comes."""
        return (RegisteredEvent(NODE_ADD, _is_the_one),)

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The node's name."""
        return pod.pod.spec.node_name


def _is_the_one(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return isinstance(new, Node) and new.metadata.name == queued.pod_info.pod.spec.node_name

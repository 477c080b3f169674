"""Keeps pods that want the same host port apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.core.framework.events import ASSIGNED_POD_DELETE, NODE_ADD, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_EVERY_IP: Final = "0.0.0.0"  # noqa: S104 - the wildcard of a hostPort, nothing is bound


class NodePorts(FilterPlugin):
    """Filter: nodes where a pod already takes one of this pod's host ports on an overlapping host IP."""

    name: ClassVar[str] = "NodePorts"
    depends: ClassVar[Depends] = Depends.ROW

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The host ports; None without any."""
        return pod.host_ports or None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """1 where a port is taken."""
        taken = np.zeros(snapshot.nodes.count, np.int32)
        for port in pod.host_ports:
            for used_ip, using in snapshot.nodes.ports.rows.get((port.protocol, port.port), {}).items():
                if _overlap(port.ip, used_ip):
                    taken[list(using)] = 1
        return taken[rows]

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE, "node(s) didn't have free ports for the requested pod ports")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """A pod that leaves may free the port; a new node has it free."""
        return (RegisteredEvent(ASSIGNED_POD_DELETE, _frees_a_port), RegisteredEvent(NODE_ADD))

    def hint_signature(self, pod: PodInfo) -> Hashable:
        """The host ports."""
        return pod.host_ports


def _overlap(ip: str, other_ip: str) -> bool:
    return _EVERY_IP in (ip, other_ip) or ip == other_ip


def _frees_a_port(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Whether the pod that left, or is nominated no more, took a port that the waiting one wants."""
    return isinstance(old, PodInfo) and any(
        (wanted.protocol, wanted.port) == (freed.protocol, freed.port) and _overlap(wanted.ip, freed.ip)
        for freed in old.host_ports
        for wanted in queued.pod_info.host_ports
    )

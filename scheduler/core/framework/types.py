"""Pods as the core sees them: parsed once, shared, and in the queue."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler.api.pod_volumes import NO_VOLUMES, PodVolumes
from scheduler.api.requests import HostPort, Requests
from scheduler.api.types import Pod

IntArray: TypeAlias = npt.NDArray[np.integer]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
RowIndex: TypeAlias = npt.NDArray[np.intp]


@dataclass(slots=True, eq=False)
class PodInfo:
    """A pod with what the core derives from it. Made by `parse_pod`, compared by identity, never mutated.

    Attributes:
        requests: shared by value between pods: its identity is a signature.
        host_ports: what the pod takes of its node's own ports.
        volumes: those of its volumes that matter to where it can run.
    """

    pod: Pod
    uid: str
    key: str
    namespace: str
    priority: int
    requests: Requests
    host_ports: tuple[HostPort, ...] = ()
    volumes: PodVolumes = NO_VOLUMES

    @property
    def name(self) -> str:
        """The pod's name within its namespace."""
        return self.pod.metadata.name

    @property
    def held_node(self) -> str | None:
        """The node on which the pod holds room, as its object says: the one it is on, else the one it is nominated to.

        That is so in the events that tell that a pod has left; elsewhere cache and nominator know better.
        """
        return self.pod.spec.node_name or self.pod.status.nominated_node_name

    def on_node(self, node_name: str) -> "PodInfo":
        """The pod with that node as its own: one that is only assumed there does not name it."""
        if self.pod.spec.node_name == node_name:
            return self
        spec = msgspec.structs.replace(self.pod.spec, node_name=node_name)
        return replace(self, pod=msgspec.structs.replace(self.pod, spec=spec))

    def nominated_to(self, node_name: str) -> "PodInfo":
        """The pod as nominated to that node and on none, whatever has become of it since."""
        spec = msgspec.structs.replace(self.pod.spec, node_name=None)
        status = msgspec.structs.replace(self.pod.status, nominated_node_name=node_name)
        return replace(self, pod=msgspec.structs.replace(self.pod, spec=spec, status=status))


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pending pod in the queue: one object from its first sight until it is bound or deleted.

    Times are monotonic seconds.

    Attributes:
        timestamp: when it was first seen, then when its last failed attempt ended; ties of priority are broken by it.
        initial_attempt_timestamp: first entry into the active queue (start of the SLI), None before.
        attempts: scheduling attempts so far.
        unschedulable_count: attempts that ended unschedulable; drives the back-off.
        consecutive_errors: errors since the last other outcome; drives the back-off of errors.
        unschedulable_plugins: who rejected it in the last attempt.
        pending_plugins: who put it aside with `Code.PENDING` in the last attempt.
        gating_plugin: the PreEnqueue plugin that holds it, empty when none.
        backoff_until: when it may be tried again after its last failure, 0 before the first.
    """

    pod_info: PodInfo
    timestamp: float
    initial_attempt_timestamp: float | None = None
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    gating_plugin: str = ""
    backoff_until: float = 0.0

    @property
    def uid(self) -> str:
        """The pod's UID: its identity in the queue."""
        return self.pod_info.uid

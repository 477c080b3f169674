"""Keeps pods out of the active queue while they have scheduling gates."""

from collections.abc import Sequence
from typing import ClassVar

from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import PreEnqueuePlugin
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo


class SchedulingGates(PreEnqueuePlugin):
    """PreEnqueue: gates the pod while ``spec.schedulingGates`` is not empty."""

    name: ClassVar[str] = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A status that lists the gates, None without gates."""
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"waiting for scheduling gates: [{names}]")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Removal of the gates."""
        return (RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)),)

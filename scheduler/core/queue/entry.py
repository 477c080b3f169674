"""What the scheduling queue keeps of each pod it knows."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from scheduler.core.framework.types import PodInfo, QueuedPodInfo


class Place(Enum):
    """Where a pod of the queue is; see the state machine in `scheduling_queue`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in_flight"


@dataclass(slots=True, eq=False)
class Entry:
    """An entity of the queue (a pod) and the one place it is in.

    Attributes:
        place: where it is; of a new entry, where it is on its way to.
        ticket: number of its item in the heap that holds it, 0 outside of heaps.
        parked_since: when it became unschedulable or gated (monotonic seconds).
        parked_under: the plugins, and for each the group, by which an event finds it while unschedulable or gated.
        newest: the pod as updated during the attempt under way, None if it was not.
    """

    queued: QueuedPodInfo
    place: Place = Place.ACTIVE
    ticket: int = 0
    parked_since: float = 0.0
    parked_under: tuple[tuple[tuple[str, str], Hashable], ...] = ()
    newest: PodInfo | None = None

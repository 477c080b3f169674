"""Orders the queue: higher priority first, then the pod that entered earlier."""

from typing import ClassVar

from scheduler.core.framework.interface import QueueSortPlugin
from scheduler.core.framework.types import QueuedPodInfo


class PrioritySort(QueueSortPlugin):
    """QueueSort by priority, then by the time of the last entry into the active queue."""

    name: ClassVar[str] = "PrioritySort"

    def sort_key(self, queued: QueuedPodInfo) -> tuple[int | float, ...]:
        """Smaller comes first."""
        return (-queued.pod_info.priority, queued.timestamp)

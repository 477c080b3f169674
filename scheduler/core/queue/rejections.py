"""How many pending pods each plugin turned away, as `unschedulable_pods` tells it."""

from scheduler.core.framework.types import QueuedPodInfo


class Rejections:
    """Counts of waiting pods by the plugins that rejected or gate them: a pod counts with every one of them.

    A pod counts from its failed attempt (or its gate) until it is taken for the next attempt or is gone.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, queued: QueuedPodInfo) -> None:
        """The pod waits because of its rejecting plugins."""
        self._change(queued, 1)

    def remove(self, queued: QueuedPodInfo) -> None:
        """It waits no more because of them; they are still those that `add` saw."""
        self._change(queued, -1)

    def counts(self) -> dict[tuple[str, str], int]:
        """Pods by plugin and schedulerName; 0 for those that have none any more. May be asked on another thread."""
        return self._counts.copy()

    def clear(self) -> None:
        """No pod waits."""
        self._counts = dict.fromkeys(self._counts, 0)

    def _change(self, queued: QueuedPodInfo, pods: int) -> None:
        profile = queued.pod_info.pod.spec.scheduler_name or ""
        for plugin in queued.unschedulable_plugins | queued.pending_plugins:
            key = (plugin, profile)
            self._counts[key] = self._counts.get(key, 0) + pods

"""Which events can help a pod, by what the plugins that rejected it registered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from scheduler.core.framework.events import ClusterEvent, EventResource, QueueingHint, RegisteredEvent
from scheduler.core.framework.status import PluginError
from scheduler.core.framework.types import QueuedPodInfo

PluginKey: TypeAlias = tuple[str, str]
"""A profile's schedulerName and a plugin's name."""

UNREGISTERED: PluginKey = ("", "")
"""Stands for every plugin that the registry does not know: any event may help its pods."""


class Requeue(Enum):
    """Where an event sends a pod."""

    SKIP = "stays unschedulable"
    AFTER_BACKOFF = "active once its back-off is over"
    IMMEDIATELY = "active now"


@dataclass(slots=True, eq=False)
class Occurrence:
    """An event as it happened.

    Attributes:
        old: the object before, None for an added one. Pods are `PodInfo`.
        new: the object after, None for a deleted one.
        matched: the registrations that ask for the event, by plugin.
        target_uid: the only pod it concerns, empty when it may concern all.
        excluded_uid: the pod it does not concern, empty when there is none.
    """

    event: ClusterEvent
    old: object | None
    new: object | None
    matched: Mapping[PluginKey, tuple[RegisteredEvent, ...]]
    target_uid: str = ""
    excluded_uid: str = ""

    def concerns(self, uid: str) -> bool:
        """Whether the event may help that pod at all."""
        return self.target_uid in ("", uid) and self.excluded_uid != uid


class EventRegistry:
    """The events that the plugins of all profiles registered."""

    def __init__(
        self,
        registered: Mapping[str, Mapping[str, Sequence[RegisteredEvent]]],
        report_fault: Callable[[PluginError], None],
    ) -> None:
        """`registered` is keyed by schedulerName, then by plugin name; `report_fault` hears of hints that raise."""
        self._registered: dict[PluginKey, tuple[RegisteredEvent, ...]] = {
            (scheduler_name, plugin): tuple(events)
            for scheduler_name, plugins in registered.items()
            for plugin, events in plugins.items()
        }
        self._report_fault = report_fault
        self._matched: dict[ClusterEvent, dict[PluginKey, tuple[RegisteredEvent, ...]]] = {}

    def occurrence(
        self, event: ClusterEvent, old: object | None, new: object | None, target_uid: str = ""
    ) -> Occurrence:
        """The event with the registrations that ask for it."""
        matched = self._matched.get(event)
        if matched is None:
            matched = self._matched[event] = self._match(event)
        return Occurrence(event, old, new, matched, target_uid)

    def keys(self, scheduler_name: str, plugins: Iterable[str]) -> tuple[PluginKey, ...]:
        """The keys by which an occurrence's `matched` names these plugins of a profile."""
        keys = {(scheduler_name, plugin) for plugin in plugins}
        known = keys & self._registered.keys()
        return (*known, UNREGISTERED) if len(known) < len(keys) else tuple(known)

    def verdict(self, queued: QueuedPodInfo, occurrence: Occurrence) -> Requeue:
        """What the event means for the pod.

        An error (no plugin rejected it) is cured by anything, a wildcard event cures everything. A gated pod is helped
        only by what its gate asked for. Otherwise each plugin that rejected the pod and asked for the event is heard:
        one that put it aside as pending sends it straight on, any other after its back-off.
        """
        if occurrence.event.resource is EventResource.WILDCARD:
            return Requeue.AFTER_BACKOFF
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        scheduler_name = queued.pod_info.pod.spec.scheduler_name or ""
        if queued.gating_plugin and not self._asks(scheduler_name, queued.gating_plugin, occurrence):
            return Requeue.SKIP
        for plugin in queued.pending_plugins:
            if self._helps(scheduler_name, plugin, queued, occurrence):
                return Requeue.IMMEDIATELY
        for plugin in queued.unschedulable_plugins:
            if self._helps(scheduler_name, plugin, queued, occurrence):
                return Requeue.AFTER_BACKOFF
        return Requeue.SKIP

    def _match(self, event: ClusterEvent) -> dict[PluginKey, tuple[RegisteredEvent, ...]]:
        matched: dict[PluginKey, tuple[RegisteredEvent, ...]] = {UNREGISTERED: ()}
        for key, registrations in self._registered.items():
            asking = tuple(registered for registered in registrations if event.matches(registered.event))
            if asking:
                matched[key] = asking
        return matched

    def _asks(self, scheduler_name: str, plugin: str, occurrence: Occurrence) -> bool:
        key = (scheduler_name, plugin)
        return key in occurrence.matched or key not in self._registered

    def _helps(self, scheduler_name: str, plugin: str, queued: QueuedPodInfo, occurrence: Occurrence) -> bool:
        key = (scheduler_name, plugin)
        registrations = occurrence.matched.get(key)
        if registrations is None:
            return key not in self._registered
        for registered in registrations:
            if registered.hint is None or self._ask(plugin, registered.hint, queued, occurrence):
                return True
        return False

    def _ask(self, plugin: str, hint: QueueingHint, queued: QueuedPodInfo, occurrence: Occurrence) -> bool:
        try:
            return hint(queued, occurrence.old, occurrence.new)
        except Exception as cause:  # noqa: BLE001 - a plugin may raise anything; its pod must not be stuck for that
            fault = PluginError(plugin, "QueueingHint", f"event {occurrence.event.label}: {cause!r}")
            fault.__cause__ = cause
            self._report_fault(fault)
            return True

"""Which events can help a pod, by what the plugins that rejected it registered."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from scheduler.core.framework.events import (
    ClusterEvent,
    EventResource,
    HintResult,
    HintSignature,
    QueueingHint,
    RegisteredEvent,
)
from scheduler.core.framework.recorder import HintRecorder
from scheduler.core.framework.status import PluginError
from scheduler.core.framework.types import QueuedPodInfo

PluginKey: TypeAlias = tuple[str, str]
"""A profile's schedulerName and a plugin's name."""


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
    """The events that the plugins of all profiles registered.

    Attributes:
        unregistered: plugins that rejected a pod though the registry does not know them: any event may help it.
    """

    def __init__(
        self,
        registered: Mapping[str, Mapping[str, Sequence[RegisteredEvent]]],
        signatures: Mapping[str, Mapping[str, HintSignature]],
        recorder: HintRecorder,
        report_fault: Callable[[PluginError], None],
    ) -> None:
        """`registered` and `signatures` are keyed by schedulerName, then by plugin; `report_fault` hears of faults."""
        self._registered: dict[PluginKey, tuple[RegisteredEvent, ...]] = {
            (scheduler_name, plugin): tuple(events)
            for scheduler_name, plugins in registered.items()
            for plugin, events in plugins.items()
        }
        self._signatures: dict[PluginKey, HintSignature] = {
            (scheduler_name, plugin): signature
            for scheduler_name, plugins in signatures.items()
            for plugin, signature in plugins.items()
        }
        self._recorder = recorder
        self._report_fault = report_fault
        self._matched: dict[ClusterEvent, dict[PluginKey, tuple[RegisteredEvent, ...]]] = {}
        self.unregistered: set[PluginKey] = set()

    def occurrence(
        self, event: ClusterEvent, old: object | None, new: object | None, target_uid: str = ""
    ) -> Occurrence:
        """The event with the registrations that ask for it."""
        matched = self._matched.get(event)
        if matched is None:
            matched = self._matched[event] = self._match(event)
        return Occurrence(event, old, new, matched, target_uid)

    def keys(self, queued: QueuedPodInfo, plugins: Iterable[str]) -> Mapping[PluginKey, Hashable | None]:
        """The keys of these plugins, with the pod's hint signature for each."""
        scheduler_name = queued.pod_info.pod.spec.scheduler_name or ""
        keys: dict[PluginKey, Hashable | None] = {}
        for plugin in plugins:
            key = (scheduler_name, plugin)
            if key not in self._registered:
                self.unregistered.add(key)
            signature = self._signatures.get(key)
            keys[key] = None if signature is None else signature(queued.pod_info)
        return keys

    def verdict(self, queued: QueuedPodInfo, occurrence: Occurrence) -> Requeue:
        """What the event means for the pod.

        An error (no plugin rejected it) is cured by anything, a wildcard event cures everything. A gated pod is helped
        only by what opens its gate. Otherwise each plugin that rejected the pod and asked for the event is heard: one
        that put it aside as pending sends it straight on, any other after its back-off.
        """
        if occurrence.event.resource is EventResource.WILDCARD:
            return Requeue.AFTER_BACKOFF
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        scheduler_name = queued.pod_info.pod.spec.scheduler_name or ""
        if queued.gating_plugin:
            opens = self.helps((scheduler_name, queued.gating_plugin), queued, occurrence)
            return Requeue.AFTER_BACKOFF if opens else Requeue.SKIP
        for plugin in queued.pending_plugins:
            if self.helps((scheduler_name, plugin), queued, occurrence):
                return Requeue.IMMEDIATELY
        for plugin in queued.unschedulable_plugins:
            if self.helps((scheduler_name, plugin), queued, occurrence):
                return Requeue.AFTER_BACKOFF
        return Requeue.SKIP

    def helps(self, key: PluginKey, queued: QueuedPodInfo, occurrence: Occurrence) -> bool:
        """Whether the event may turn the plugin's rejection of the pod around."""
        registrations = occurrence.matched.get(key)
        if registrations is None:
            return key not in self._registered
        for registered in registrations:
            if registered.hint is None or self._ask(key[1], registered.hint, queued, occurrence):
                return True
        return False

    def _match(self, event: ClusterEvent) -> dict[PluginKey, tuple[RegisteredEvent, ...]]:
        matched: dict[PluginKey, tuple[RegisteredEvent, ...]] = {}
        for key, registrations in self._registered.items():
            asking = tuple(registered for registered in registrations if event.matches(registered.event))
            if asking:
                matched[key] = asking
        return matched

    def _ask(self, plugin: str, hint: QueueingHint, queued: QueuedPodInfo, occurrence: Occurrence) -> bool:
        label = occurrence.event.label
        started = self._recorder.clock()
        try:
            helps = hint(queued, occurrence.old, occurrence.new)
        except Exception as cause:  # noqa: BLE001 - a plugin may raise anything; its pod must not be stuck for that
            self._recorder.queueing_hint(plugin, label, HintResult.ERROR, self._recorder.clock() - started)
            fault = PluginError(plugin, "QueueingHint", f"event {label}: {cause!r}")
            fault.__cause__ = cause
            self._report_fault(fault)
            return True
        result = HintResult.QUEUE if helps else HintResult.SKIP
        self._recorder.queueing_hint(plugin, label, result, self._recorder.clock() - started)
        return helps

"""Refuses pods that ask for what is not supported yet: nothing in a pod's spec is silently ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from scheduler.api.types import Pod
from scheduler.api.volumes import READ_KINDS, UNREAD_KINDS
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import PreFilterPlugin, PreFilterResult
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class UnsupportedFeatures(PreFilterPlugin):
    """PreFilter, in every profile: the first unsupported feature ends the attempt and is named in the message."""

    name: ClassVar[str] = "UnsupportedFeatures"

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """A rejection that names the feature, None for a pod that is understood in full."""
        feature = next(unsupported(pod.pod), None) or _device_class(pod)
        if feature is None:
            return None
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"pod uses {feature}, which is not supported yet")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Any change of what the pod asks."""
        return (RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE), _asks_otherwise),)


def _asks_otherwise(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Not so when only the status changed, as by the scheduler's own condition."""
    if not isinstance(old, PodInfo) or not isinstance(new, PodInfo):
        return True
    return old.pod.spec != new.pod.spec


def _device_class(pod: PodInfo) -> str | None:
    """The first resource by which the pod asks for devices of a class; no node offers such a one by itself.

    A class may stand behind any other extended resource, too. Whether one does is not watched: where a node offers the
    resource by itself it is counted there as ever, elsewhere it is insufficient.
    """
    for resource, amount in pod.requests.amounts:
        if amount and resource.startswith(DEVICE_CLASS_PREFIX):
            return f"the resource {resource}"
    return None


def unsupported(pod: Pod) -> Iterator[str]:
    """What the pod uses that is not supported yet, by name."""
    spec = pod.spec
    for kind in sorted(spec.volume_kinds - UNREAD_KINDS - READ_KINDS):
        yield f"a volume of kind {kind}"
    if spec.resource_claims:
        yield "resourceClaims"
    if spec.scheduling_group is not None:
        yield "schedulingGroup"

"""Refuses pods that ask for what is not supported yet: nothing in a pod's spec is silently ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from scheduler.api.types import Pod
from scheduler.api.volumes import READ_KINDS, UNREAD_KINDS
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import PreFilterPlugin, PreFilterResult
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState


class UnsupportedFeatures(PreFilterPlugin):
    """PreFilter, in every profile: the first unsupported feature ends the attempt and is named in the message."""

    name: ClassVar[str] = "UnsupportedFeatures"

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """A rejection that names the feature, None for a pod that is understood in full."""
        for feature in unsupported(pod.pod):
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"pod uses {feature}, which is not supported yet")
        return None

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Any change of what the pod asks."""
        return (RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE), _asks_otherwise),)


def _asks_otherwise(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Not so when only the status changed, as by the scheduler's own condition."""
    if not isinstance(old, PodInfo) or not isinstance(new, PodInfo):
        return True
    return old.pod.spec != new.pod.spec


def unsupported(pod: Pod) -> Iterator[str]:
    """What the pod uses that is not supported yet, by name."""
    spec = pod.spec
    for kind in sorted(spec.volume_kinds - UNREAD_KINDS - READ_KINDS):
        yield f"a volume of kind {kind}"
    if spec.resource_claims:
        yield "resourceClaims"
    if spec.scheduling_group is not None:
        yield "schedulingGroup"

"""Which changes in the cluster may give a pod a volume that it was refused for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scheduler.api.storage import migrated_plugins
from scheduler.api.types import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from scheduler.core.framework.events import (
    ASSIGNED_POD_DELETE,
    Action,
    ClusterEvent,
    EventResource,
    QueueingHint,
    RegisteredEvent,
)
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.volumes.provisioning import volume_limit

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_objects import ClusterObjects

_ADDED_OR_UPDATED: Final = Action.ADD | Action.UPDATE_OTHER
_CHANGED_OR_GONE: Final = Action.UPDATE_OTHER | Action.DELETE


def mounts(pod: PodInfo, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim is one of the pod's, an ephemeral volume's included."""
    key = (claim.metadata.namespace, claim.metadata.name)
    return any((use.namespace, use.name) == key for use in pod.volumes.claims)


def _own_claim(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return not isinstance(new, PersistentVolumeClaim) or mounts(queued.pod_info, new)


def _may_be_had(objects: ClusterObjects) -> QueueingHint:
    def hint(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """A volume that names a claim is of interest to the pods of that claim alone, one that names none to all."""
        if not isinstance(new, PersistentVolume):
            return True
        reference = new.spec.claim_ref
        for use in queued.pod_info.volumes.claims:
            claim = objects.persistent_volume_claims.get(use.name, use.namespace)
            if claim is not None and claim.spec.volume_name == new.metadata.name:
                return True
            if reference is not None and (reference.namespace, reference.name) == (use.namespace, use.name):
                return True
        return reference is None

    return hint


def _held_a_claim_back(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """A volume that names a claim of the pod is the only one for it; without it there may be others."""
    reference = old.spec.claim_ref if isinstance(old, PersistentVolume) else None
    if reference is None:
        return False
    key = (reference.namespace, reference.name)
    return any((use.namespace, use.name) == key for use in queued.pod_info.volumes.claims)


def _gives_back_volumes(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """A pod that did not get to its node after all leaves the volumes that were assumed for it."""
    return not isinstance(old, PodInfo) or (bool(old.volumes.claims) and not old.pod.spec.node_name)


def _admits_others(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(old, StorageClass) or not isinstance(new, StorageClass):
        return True
    return old.allowed_topologies != new.allowed_topologies


def _migrates_others(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(old, CSINode) or not isinstance(new, CSINode):
        return True
    return migrated_plugins(old) != migrated_plugins(new)


def _tells_no_capacity(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Without it every node counts as having room."""
    if not isinstance(old, CSIDriver):
        return True
    return bool(old.spec.storage_capacity) and not (isinstance(new, CSIDriver) and new.spec.storage_capacity)


def _has_more_room(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(old, CSIStorageCapacity) or not isinstance(new, CSIStorageCapacity):
        return True
    before, now = volume_limit(old), volume_limit(new)
    return now is not None and (before is None or now > before)


def waking_events(objects: ClusterObjects) -> Sequence[RegisteredEvent]:
    """What VolumeBinding registers; its hints read of a pod nothing but the claims."""
    return (
        RegisteredEvent(ClusterEvent(EventResource.STORAGE_CLASS, _ADDED_OR_UPDATED), _admits_others),
        RegisteredEvent(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, _ADDED_OR_UPDATED), _own_claim),
        RegisteredEvent(ClusterEvent(EventResource.PERSISTENT_VOLUME, _ADDED_OR_UPDATED), _may_be_had(objects)),
        RegisteredEvent(ClusterEvent(EventResource.PERSISTENT_VOLUME, Action.DELETE), _held_a_claim_back),
        RegisteredEvent(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
        RegisteredEvent(ClusterEvent(EventResource.CSI_NODE, _ADDED_OR_UPDATED), _migrates_others),
        RegisteredEvent(ClusterEvent(EventResource.CSI_DRIVER, _CHANGED_OR_GONE), _tells_no_capacity),
        RegisteredEvent(ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, _ADDED_OR_UPDATED), _has_more_room),
        RegisteredEvent(ASSIGNED_POD_DELETE, _gives_back_volumes),
    )

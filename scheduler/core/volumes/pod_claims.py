"""The claims of a pod, by how far they are from being bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.api.pod_volumes import is_made_for
from scheduler.api.storage import WAIT_FOR_FIRST_CONSUMER, claim_class, is_bound

if TYPE_CHECKING:
    from scheduler.api.pod_volumes import ClaimUse
    from scheduler.api.types import PersistentVolumeClaim
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.framework.types import PodInfo


class ClassError(Exception):
    """A claim's StorageClass does not say when its claims are bound."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """Each claim once, in the order of the pod's volumes.

    Attributes:
        bound: their volumes are settled.
        waiting: to be bound when the pod has a node.
        immediate: whether others, that should be bound already, are not.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    waiting: tuple[PersistentVolumeClaim, ...]
    immediate: bool


def problem(pod: PodInfo, objects: ClusterObjects) -> str | None:
    """Why the pod's claims can't be used at all; None when they can."""
    for use in pod.volumes.claims:
        claim = objects.persistent_volume_claims.get(use.name, use.namespace)
        if claim is None:
            if use.ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
            return f'persistentvolumeclaim "{use.name}" not found'
        found = _problem(claim, use, pod)
        if found is not None:
            return found
    return None


def _problem(claim: PersistentVolumeClaim, use: ClaimUse, pod: PodInfo) -> str | None:
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name or ""
        return f'persistentvolumeclaim "{use.name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{use.name}" is being deleted'
    if use.ephemeral and not is_made_for(claim, pod.pod):
        return f"PVC {use.namespace}/{use.name} was not created for pod {pod.key} (pod is not owner)"
    return None


def claims_of(pod: PodInfo, objects: ClusterObjects) -> PodClaims:
    """The pod's claims as they are assumed to be; called where there is no `problem` with them.

    Raises:
        ClassError: see there.
    """
    bound: list[PersistentVolumeClaim] = []
    waiting: list[PersistentVolumeClaim] = []
    immediate = False
    for namespace, name in dict.fromkeys((use.namespace, use.name) for use in pod.volumes.claims):
        claim = objects.assumed_claims.get(name, namespace)
        if claim is None:
            continue
        if is_bound(claim):
            bound.append(claim)
        elif not claim.spec.volume_name and _waits(claim, objects):
            waiting.append(claim)
        else:
            immediate = True
    return PodClaims(tuple(bound), tuple(waiting), immediate)


def _waits(claim: PersistentVolumeClaim, objects: ClusterObjects) -> bool:
    name = claim_class(claim)
    storage_class = objects.storage_classes.get(name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise ClassError(f'VolumeBindingMode not set for StorageClass "{name}"')
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

"""What is set aside for a pod between its placement and the end of its volumes' binding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from scheduler.api.meta import ObjectReference
from scheduler.api.storage import (
    BOUND_BY_CONTROLLER_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    PersistentVolume,
    PersistentVolumeClaim,
    is_for,
)
from scheduler.core.cache.cluster_objects import AssumptionError

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.volumes.node_volumes import NodeVolumes


@dataclass(slots=True)
class Binding:
    """A volume that is there and the claim that is to get it.

    Attributes:
        volume: as it is to be written; once it is written, as the API server answered.
        pending: whether it is yet to be written.
    """

    volume: PersistentVolume
    claim: PersistentVolumeClaim
    pending: bool


@dataclass(slots=True)
class Provisioned:
    """A claim for which a volume is to be made, as it is to be written; once it is written, as the server answered."""

    claim: PersistentVolumeClaim


@dataclass(slots=True)
class Reservation:
    """The volumes and claims assumed for a pod; those written stay so, whatever becomes of the pod."""

    bindings: list[Binding] = field(default_factory=list)
    provisions: list[Provisioned] = field(default_factory=list)

    def give_back(self, objects: ClusterObjects) -> None:
        """Take back the assumptions about what is not written. May be called twice."""
        for binding in self.bindings:
            objects.assumed_volumes.restore(binding.volume)
        for provisioned in self.provisions:
            objects.assumed_claims.restore(provisioned.claim)


def reserve(found: NodeVolumes, row: int, node_name: str, objects: ClusterObjects) -> Reservation:
    """Assume what the pod's volumes become on the row's node.

    Raises:
        AssumptionError: an object changed since it was looked at; nothing is assumed then.
    """
    reservation = Reservation()
    try:
        for claim, name in found.bindings(row):
            volume = bound_to(objects.assumed_volumes[name], claim)
            if volume is not objects.assumed_volumes[name]:
                objects.assumed_volumes.assume(volume)
            pending = volume is not objects.persistent_volumes.get(name)
            reservation.bindings.append(Binding(volume, claim, pending))
        for claim in found.to_provision(row):
            annotations = {**(claim.metadata.annotations or {}), SELECTED_NODE_ANNOTATION: node_name}
            decided = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
            objects.assumed_claims.assume(decided)
            reservation.provisions.append(Provisioned(decided))
    except AssumptionError:
        reservation.give_back(objects)
        raise
    return reservation


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it is when it names the claim; itself if it does already.

    One that no user meant for the claim is marked as the controller marks what it chose.
    """
    annotations = volume.metadata.annotations or {}
    meant = is_for(volume, claim)
    reference = volume.spec.claim_ref
    if meant and reference is not None and reference.uid == claim.metadata.uid:
        return volume
    claim_reference = ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=claim.metadata.namespace,
        name=claim.metadata.name,
        uid=claim.metadata.uid,
        resource_version=claim.metadata.resource_version,
    )
    if not meant and BOUND_BY_CONTROLLER_ANNOTATION not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER_ANNOTATION: "yes"}
    return replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations or None),
        spec=replace(volume.spec, claim_ref=claim_reference),
    )

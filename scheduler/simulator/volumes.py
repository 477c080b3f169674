"""What becomes of volumes in a simulation: the volume controller's and the provisioners' part, done at once.

A volume that was chosen is bound to its claim. Where a class makes volumes, one is made as a CSI driver makes it: of
the claim's size, and to be reached from the topology of the node that was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from scheduler.api.storage import (
    BIND_COMPLETED_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
)
from scheduler.api.types import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta, ObjectReference
from scheduler.core.framework.interface import VolumeWriter

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.event_handlers import EventHandlers

_FIRST_VERSION: Final = 10**9
"""Above those of the objects that are read."""
_BOUND: Final = "Bound"


class SimulatedVolumes(VolumeWriter):
    """Writes take effect at once, and so does what the controllers make of them."""

    def __init__(self) -> None:
        self._world: tuple[ClusterState, EventHandlers] | None = None
        self._version = _FIRST_VERSION

    def connect(self, cluster: ClusterState, handlers: EventHandlers) -> None:
        """What is there, and who is told of changes from now on."""
        self._world = cluster, handlers

    @property
    def _cluster(self) -> ClusterState:
        assert self._world is not None
        return self._world[0]

    @property
    def _watch(self) -> EventHandlers:
        assert self._world is not None
        return self._world[1]

    async def bind_volume(self, volume: PersistentVolume) -> PersistentVolume:
        """Volume and claim are bound to each other."""
        written = replace(
            volume, metadata=self._next_version(volume.metadata), status=replace(volume.status, phase=_BOUND)
        )
        old = self._cluster.objects.persistent_volumes.get(volume.metadata.name)
        assert old is not None
        self._watch.object_updated(old, written)
        reference = volume.spec.claim_ref
        assert reference is not None
        claim = self._cluster.objects.persistent_volume_claims.get(reference.name or "", reference.namespace or "")
        if claim is not None:
            self._bind(claim, volume.metadata.name)
        return written

    async def select_node(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """The claim's volume is made, and bound to it."""
        volume = self._made(claim)
        self._watch.object_added(volume)
        return self._bind(claim, volume.metadata.name)

    async def until(
        self, settled: Callable[[], bool], claims: Sequence[tuple[str, str]], timeout_seconds: float
    ) -> bool:
        """Nothing is left to wait for: what is not settled by now never will be."""
        return settled()

    def _bind(self, claim: PersistentVolumeClaim, volume_name: str) -> PersistentVolumeClaim:
        annotations = {**(claim.metadata.annotations or {}), BIND_COMPLETED_ANNOTATION: "yes"}
        new = replace(
            claim,
            metadata=replace(self._next_version(claim.metadata), annotations=annotations),
            spec=replace(claim.spec, volume_name=volume_name),
            status=replace(claim.status, phase=_BOUND),
        )
        old = self._cluster.objects.persistent_volume_claims.get(claim.metadata.name, claim.metadata.namespace)
        assert old is not None
        self._watch.object_updated(old, new)
        return new

    def _next_version(self, metadata: ObjectMeta) -> ObjectMeta:
        self._version += 1
        return replace(metadata, resource_version=str(self._version))

    def _made(self, claim: PersistentVolumeClaim) -> PersistentVolume:
        name = f"pvc-{claim.metadata.uid}"
        class_name = claim.spec.storage_class_name or ""
        storage_class = self._cluster.objects.storage_classes.get(class_name)
        driver = storage_class.provisioner if storage_class is not None else ""
        resources = claim.spec.resources
        reference = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=claim.metadata.namespace,
            name=claim.metadata.name,
            uid=claim.metadata.uid,
        )
        spec = PersistentVolumeSpec(
            capacity=resources.requests if resources is not None else None,
            access_modes=claim.spec.access_modes,
            storage_class_name=class_name,
            claim_ref=reference,
            csi=CSIPersistentVolumeSource(driver, name),
            node_affinity=self._topology(driver, (claim.metadata.annotations or {})[SELECTED_NODE_ANNOTATION]),
        )
        metadata = self._next_version(ObjectMeta(name, uid=name))
        return PersistentVolume(metadata, spec, PersistentVolumeStatus(phase=_BOUND))

    def _topology(self, driver: str, node_name: str) -> VolumeNodeAffinity | None:
        """The part of the cluster that the driver says the node belongs to; None where it says nothing."""
        csi_node = self._cluster.objects.csi_nodes.get(node_name)
        info = self._cluster.cache.node_info(node_name)
        if csi_node is None or info is None or info.node is None:
            return None
        labels = info.node.metadata.labels or {}
        keys = [key for each in csi_node.spec.drivers if each.name == driver for key in each.topology_keys or ()]
        terms = tuple(NodeSelectorRequirement(key, "In", (labels[key],)) for key in keys if key in labels)
        return VolumeNodeAffinity(NodeSelector((NodeSelectorTerm(terms),))) if terms else None

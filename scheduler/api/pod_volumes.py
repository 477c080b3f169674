"""What of a pod's volumes matters to where it can run."""

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from scheduler.api.csi_migration import CsiVolume, MigrationError, csi_volume, in_tree_plugin
from scheduler.api.meta import OwnerReference
from scheduler.api.storage import PersistentVolumeClaim
from scheduler.api.types import Pod
from scheduler.api.volumes import Volume


class ClaimUse(Struct, frozen=True, cache_hash=True):
    """A claim that the pod mounts; `ephemeral` says that the claim is made for this pod."""

    namespace: str
    name: str
    ephemeral: bool = False


class DiskKind(Enum):
    """Disks that pods name in place and that must not be mounted twice on a node."""

    GCE_PERSISTENT_DISK = "gcePersistentDisk"
    AWS_ELASTIC_BLOCK_STORE = "awsElasticBlockStore"
    ISCSI = "iscsi"
    RBD = "rbd"


class DiskUse(Struct, frozen=True, cache_hash=True):
    """A disk that the pod mounts in place. Two pods may share it if both only read."""

    kind: DiskKind
    identity: tuple[str, ...]
    read_only: bool


VolumeUse: TypeAlias = ClaimUse | DiskUse | CsiVolume


class PodVolumes(Struct, frozen=True):
    """A pod's volumes, each kind in the order of the spec.

    Attributes:
        in_place: in-tree volumes without a claim, as the CSI driver knows them that mounts them.
        counts: whether a limit of volumes a node may concern the pod.
        fault: why a volume in place can't be mounted by the driver that took over; "" when all can.
    """

    claims: tuple[ClaimUse, ...] = ()
    disks: tuple[DiskUse, ...] = ()
    in_place: tuple[CsiVolume, ...] = ()
    counts: bool = False
    fault: str = ""

    def uses(self) -> Iterator[VolumeUse]:
        """All of them; what a pod mounts twice comes twice."""
        yield from self.claims
        yield from self.disks
        yield from self.in_place

    def __bool__(self) -> bool:
        return bool(self.claims or self.disks or self.counts)


NO_VOLUMES: Final = PodVolumes()


def pod_volumes(pod: Pod) -> PodVolumes:
    """The pod's volumes; `NO_VOLUMES` where none matters."""
    volumes = pod.spec.volumes
    if not volumes:
        return NO_VOLUMES
    claims: list[ClaimUse] = []
    disks: list[DiskUse] = []
    in_place: list[CsiVolume] = []
    counts = False
    fault = ""
    namespace = pod.metadata.namespace
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            claims.append(ClaimUse(namespace, volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            claims.append(ClaimUse(namespace, f"{pod.metadata.name}-{volume.name}", ephemeral=True))
        elif in_tree_plugin(volume) is not None:
            counts = True
            try:
                translated = csi_volume(volume)
            except MigrationError as error:
                fault = fault or f"converting volume({volume.name}) from inline to csi: {error}"
            else:
                in_place += [translated] if translated is not None else []
        disks += _disks(volume)
    found = PodVolumes(tuple(claims), tuple(disks), tuple(in_place), counts or bool(claims), fault)
    return found or NO_VOLUMES


def _disks(volume: Volume) -> Iterator[DiskUse]:
    if volume.gce_persistent_disk is not None:
        gce = volume.gce_persistent_disk
        yield DiskUse(DiskKind.GCE_PERSISTENT_DISK, (gce.pd_name,), bool(gce.read_only))
    if volume.aws_elastic_block_store is not None:
        # Not even readers may share one.
        yield DiskUse(DiskKind.AWS_ELASTIC_BLOCK_STORE, (volume.aws_elastic_block_store.volume_id,), read_only=False)
    if volume.iscsi is not None:
        yield DiskUse(DiskKind.ISCSI, (volume.iscsi.iqn,), bool(volume.iscsi.read_only))
    if volume.rbd is not None:
        rbd = volume.rbd
        for monitor in rbd.monitors:
            yield DiskUse(DiskKind.RBD, (monitor, rbd.pool or "", rbd.image), bool(rbd.read_only))


def is_made_for(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether the claim of an ephemeral volume was made for this very pod."""
    owners = claim.metadata.owner_references or ()
    return any(_controls(owner, pod) for owner in owners) and claim.metadata.namespace == pod.metadata.namespace


def _controls(owner: OwnerReference, pod: Pod) -> bool:
    return bool(owner.controller) and owner.uid == pod.metadata.uid

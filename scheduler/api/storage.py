"""Persistent volumes, claims on them, and what CSI drivers say of nodes and capacity."""

from typing import Final

from msgspec import field

from scheduler.api.meta import ApiStruct, LabelSelector, ObjectMeta, ObjectReference, Quantity, ResourceList
from scheduler.api.pod import NodeSelector
from scheduler.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    VsphereVirtualDiskVolumeSource,
)

STORAGE: Final = "storage"
"""The resource that volumes offer and claims request."""

STORAGE_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""The older way to name a class; where it stands, it counts."""

SELECTED_NODE_ANNOTATION: Final = "volume.kubernetes.io/selected-node"
"""On a claim: the node for which its volume is to be made; a provisioner that fails takes it away again."""

BIND_COMPLETED_ANNOTATION: Final = "pv.kubernetes.io/bind-completed"
"""On a claim: it and its volume are bound to each other."""

BOUND_BY_CONTROLLER_ANNOTATION: Final = "pv.kubernetes.io/bound-by-controller"
"""On a volume: the claim that it names was not chosen by a user."""

MIGRATED_PLUGINS_ANNOTATION: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""On a CSINode: the in-tree plugins, joined by commas, whose volumes the node mounts through CSI."""

WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
"""The binding mode of a class whose claims are bound once a pod is placed."""

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""The provisioner of a class whose volumes are all made by hand."""

READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
"""The access mode of a volume that one pod alone may use."""


class VolumeNodeAffinity(ApiStruct, frozen=True):
    """Nodes from which the volume can be reached."""

    required: NodeSelector | None = None


class CSIPersistentVolumeSource(ApiStruct, frozen=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(ApiStruct, frozen=True):
    """A volume's size, reach and source."""

    capacity: ResourceList | None = None
    access_modes: tuple[str, ...] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None


class PersistentVolumeStatus(ApiStruct, frozen=True):
    """Phases Pending, Available, Bound, Released, Failed."""

    phase: str | None = None


class PersistentVolume(ApiStruct, frozen=True):
    """A volume of the cluster."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class VolumeResourceRequirements(ApiStruct, frozen=True):
    """The size a claim asks for, under `storage`."""

    requests: ResourceList | None = None


class PersistentVolumeClaimSpec(ApiStruct, frozen=True):
    """What volume a claim wants; `storage_class_name` "" is not the same as absent."""

    access_modes: tuple[str, ...] | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(ApiStruct, frozen=True):
    """Phases Pending, Bound, Lost."""

    phase: str | None = None


class PersistentVolumeClaim(ApiStruct, frozen=True):
    """A claim on a volume."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(ApiStruct, frozen=True):
    """The node's label must have one of the values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(ApiStruct, frozen=True):
    """All its conditions must hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(ApiStruct, frozen=True):
    """How volumes are made."""

    metadata: ObjectMeta
    provisioner: str = ""
    parameters: dict[str, str] | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class VolumeNodeResources(ApiStruct, frozen=True):
    """How many volumes of a driver the node can hold; absent means no limit."""

    count: int | None = None


class CSINodeDriver(ApiStruct, frozen=True):
    """A driver that runs on the node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] | None = None
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ApiStruct, frozen=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiStruct, frozen=True):
    """The CSI drivers of the node of the same name."""

    metadata: ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiStruct, frozen=True):
    """What a driver asks of the scheduler."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(ApiStruct, frozen=True):
    """A CSI driver, by its name."""

    metadata: ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiStruct, frozen=True):
    """Room for new volumes of a class on the nodes of a topology."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(ApiStruct, frozen=True):
    """What is attached: a volume of the cluster, or one described in place."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(ApiStruct, frozen=True):
    """Who attaches what to which node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(ApiStruct, frozen=True):
    """Whether it has been done."""

    attached: bool = False


class VolumeAttachment(ApiStruct, frozen=True):
    """A volume that is, or is to be, attached to a node."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()


def volume_class(volume: PersistentVolume) -> str:
    """The name of the volume's StorageClass, "" for none."""
    annotated = (volume.metadata.annotations or {}).get(STORAGE_CLASS_ANNOTATION)
    return annotated if annotated is not None else volume.spec.storage_class_name or ""


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The name of the claim's StorageClass, "" for none."""
    annotated = (claim.metadata.annotations or {}).get(STORAGE_CLASS_ANNOTATION)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def requested_storage(claim: PersistentVolumeClaim) -> Quantity | None:
    """The size that the claim asks for, None where it names none."""
    resources = claim.spec.resources
    return (resources.requests or {}).get(STORAGE) if resources is not None else None


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether claim and volume are bound to each other for good."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED_ANNOTATION in (claim.metadata.annotations or {})


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume names the claim, by hand or by a controller."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.metadata.name
        and reference.namespace == claim.metadata.namespace
        and (not reference.uid or reference.uid == claim.metadata.uid)
    )


def migrated_plugins(csi_node: CSINode) -> frozenset[str]:
    """The in-tree plugins whose volumes the node mounts through CSI."""
    annotation = (csi_node.metadata.annotations or {}).get(MIGRATED_PLUGINS_ANNOTATION)
    return frozenset(annotation.split(",")) if annotation else frozenset()

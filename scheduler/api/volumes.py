"""Volumes: sources that a scheduler reads, whether they stand in a pod or in a PersistentVolume."""

from msgspec import field

from scheduler.api.meta import ApiStruct

UNREAD_KINDS = frozenset(
    {
        "cephfs",
        "configMap",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gitRepo",
        "glusterfs",
        "hostPath",
        "nfs",
        "photonPersistentDisk",
        "projected",
        "quobyte",
        "scaleIO",
        "secret",
        "storageos",
    }
)
"""Kinds of pod volume that bind the pod to no node and that no plugin reads."""


class PersistentVolumeClaimVolumeSource(ApiStruct, frozen=True):
    """A claim of the pod's namespace."""

    claim_name: str = ""
    read_only: bool | None = None


class EphemeralVolumeSource(ApiStruct, frozen=True):
    """A claim made for this pod alone; its name is the pod's, `-`, and the volume's."""


class GCEPersistentDiskVolumeSource(ApiStruct, frozen=True):
    """A Google persistent disk."""

    pd_name: str = ""
    read_only: bool | None = None


class AWSElasticBlockStoreVolumeSource(ApiStruct, frozen=True):
    """An Amazon volume."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool | None = None


class AzureDiskVolumeSource(ApiStruct, frozen=True):
    """An Azure disk."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class AzureFileVolumeSource(ApiStruct, frozen=True):
    """An Azure file share; `secret_namespace` exists in a PersistentVolume only."""

    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None


class CinderVolumeSource(ApiStruct, frozen=True):
    """An OpenStack volume."""

    volume_id: str = field(default="", name="volumeID")


class VsphereVirtualDiskVolumeSource(ApiStruct, frozen=True):
    """A vSphere disk."""

    volume_path: str = ""


class PortworxVolumeSource(ApiStruct, frozen=True):
    """A Portworx volume."""

    volume_id: str = field(default="", name="volumeID")


class ISCSIVolumeSource(ApiStruct, frozen=True):
    """An iSCSI disk, told apart by its qualified name."""

    iqn: str = ""
    read_only: bool | None = None


class RBDVolumeSource(ApiStruct, frozen=True):
    """A Ceph block device; a pool that is absent is `rbd`."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str | None = None
    read_only: bool | None = None


class CSIVolumeSource(ApiStruct, frozen=True):
    """A volume that a CSI driver makes in place for the pod."""

    driver: str = ""


class ImageVolumeSource(ApiStruct, frozen=True):
    """An image mounted as a volume."""

    reference: str | None = None


class Volume(ApiStruct, frozen=True):
    """A pod's volume; one of the sources is there, or none when its kind is not read."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None


READ_KINDS = frozenset(Volume.__struct_encode_fields__) - {"name"}
"""Kinds of pod volume that some plugin reads."""

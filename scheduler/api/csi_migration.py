"""Volumes of in-tree plugins as the CSI drivers know them that took over their work.

Which fields make a CSI volume's handle, and which labels of a node replace the zone labels, is laid down by each
driver; the rules are those of Kubernetes' own translation, for the plugins whose migration can't be turned off.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from scheduler.api.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity
from scheduler.api.volumes import AzureDiskVolumeSource, Volume

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"

ZONE_DELIMITER: Final = "__"
"""Stands between the zones of a volume that is in several."""

_UNSPECIFIED: Final = "UNSPECIFIED"
_PARTS_OF_ZONE: Final = 3
"""Of a zone's name: continent, region, and the zone's letter."""
_MANAGED: Final = "managed"
_EBS_VOLUME: Final = re.compile(r"vol-[^/]*", re.ASCII)


class CsiVolume(Struct, frozen=True, cache_hash=True):
    """A volume as its driver names it."""

    driver: str
    handle: str


class MigrationError(ValueError):
    """The volume can't be translated; the text is kube-scheduler's."""


class _Plugin(Struct, frozen=True):
    """An in-tree plugin.

    Attributes:
        field: of a volume's sources, this one is the plugin's.
        driver: which took over.
        migrated: whether the driver is used wherever it runs.
        zone_key: the driver's node label for a zone; "" where volumes have none.
    """

    name: str
    field: str
    driver: str
    migrated: bool = True
    zone_key: str = ""


_PLUGINS: Final = (
    _Plugin(
        "kubernetes.io/aws-ebs",
        "aws_elastic_block_store",
        "ebs.csi.aws.com",
        zone_key="topology.ebs.csi.aws.com/zone",
    ),
    _Plugin(
        "kubernetes.io/gce-pd",
        "gce_persistent_disk",
        "pd.csi.storage.gke.io",
        zone_key="topology.gke.io/zone",
    ),
    _Plugin("kubernetes.io/azure-disk", "azure_disk", "disk.csi.azure.com"),
    _Plugin(
        "kubernetes.io/cinder",
        "cinder",
        "cinder.csi.openstack.org",
        zone_key="topology.cinder.csi.openstack.org/zone",
    ),
    _Plugin("kubernetes.io/portworx-volume", "portworx_volume", "pxd.portworx.com"),
    _Plugin("kubernetes.io/azure-file", "azure_file", "file.csi.azure.com", migrated=False),
    _Plugin("kubernetes.io/vsphere-volume", "vsphere_volume", "csi.vsphere.vmware.com", migrated=False),
)
_BY_NAME: Final = {plugin.name: plugin for plugin in _PLUGINS}


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str | None:
    """The name of the in-tree plugin that a volume is of, None for any other volume."""
    plugin = _plugin_of(source)
    return None if plugin is None else plugin.name


def driver_of_provisioner(provisioner: str) -> str | None:
    """The CSI driver that makes a StorageClass's volumes; None for an in-tree plugin that is not migrated."""
    plugin = _BY_NAME.get(provisioner)
    if plugin is None:
        return provisioner or None
    return plugin.driver if plugin.migrated else None


def migrated_driver(source: Volume | PersistentVolumeSpec) -> str | None:
    """The CSI driver that took over a volume; None when none did."""
    plugin = _plugin_of(source)
    return plugin.driver if plugin is not None and plugin.migrated else None


def csi_volume(source: Volume | PersistentVolumeSpec, labels: Mapping[str, str] | None = None) -> CsiVolume | None:
    """An in-tree volume as its driver names it; None when no driver took over. `labels` are a PersistentVolume's.

    Raises:
        MigrationError: the source is of a kind that the driver does not have.
    """
    plugin = _plugin_of(source)
    if plugin is None or not plugin.migrated:
        return None
    handle = ""
    if source.aws_elastic_block_store is not None:
        handle = _ebs_volume_id(source.aws_elastic_block_store.volume_id)
    elif source.gce_persistent_disk is not None:
        handle = _gce_disk(source.gce_persistent_disk.pd_name, labels or {})
    elif source.azure_disk is not None:
        handle = _azure_disk(source.azure_disk)
    elif source.cinder is not None:
        handle = source.cinder.volume_id
    elif source.portworx_volume is not None:
        handle = source.portworx_volume.volume_id
    return CsiVolume(plugin.driver, handle)


def migrated_affinity(volume: PersistentVolume) -> VolumeNodeAffinity | None:
    """From where an in-tree volume can be reached, in its driver's node labels."""
    affinity = volume.spec.node_affinity
    plugin = _plugin_of(volume.spec)
    if plugin is None or not plugin.zone_key:
        return affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
    labels = volume.metadata.labels or {}
    zone, region = _zone_and_region(terms, labels)
    if _values(terms, zone):
        terms = _renamed(terms, zone, plugin.zone_key)
    elif zone in labels:
        zones = tuple(sorted({each.strip() for each in labels[zone].split(ZONE_DELIMITER)} - {""}))
        if zones:
            added = NodeSelectorRequirement(plugin.zone_key, "In", zones)
            terms = tuple(
                replace(term, match_expressions=(*(term.match_expressions or ()), added))
                for term in terms or (NodeSelectorTerm(),)
            )
    if region == BETA_REGION and _values(terms, region):
        terms = _renamed(terms, region, REGION)
    return VolumeNodeAffinity(NodeSelector(terms)) if terms else affinity


def _plugin_of(source: Volume | PersistentVolumeSpec) -> _Plugin | None:
    return next((plugin for plugin in _PLUGINS if getattr(source, plugin.field) is not None), None)


def _zone_and_region(terms: tuple[NodeSelectorTerm, ...], labels: Mapping[str, str]) -> tuple[str, str]:
    """The pair of labels that the volume goes by: of its affinity, else of its own labels."""
    keys = {requirement.key for term in terms for requirement in term.match_expressions or ()}
    for present in (keys, labels):
        if ZONE in present:
            return ZONE, REGION
        if BETA_ZONE in present:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> set[str]:
    return {
        value
        for term in terms
        for requirement in term.match_expressions or ()
        if requirement.key == key
        for value in requirement.values or ()
    }


def _renamed(terms: tuple[NodeSelectorTerm, ...], key: str, new_key: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(requirement, key=new_key) if requirement.key == key else requirement
                for requirement in term.match_expressions or ()
            ),
        )
        for term in terms
    )


def _ebs_volume_id(volume_id: str) -> str:
    """`vol-…` from `aws://zone/vol-…`, `aws:///vol-…` or itself."""
    if not volume_id.startswith("aws://"):
        return volume_id
    found = urlsplit(volume_id).path.strip("/")
    if _EBS_VOLUME.fullmatch(found) is None:
        raise MigrationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return found


def _gce_disk(name: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE) or "").split(ZONE_DELIMITER)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(each[:2]) for each in parts}
    if len(regions) != 1 or any(len(each) != _PARTS_OF_ZONE for each in parts):
        raise MigrationError(f"failed to get region from zones: no one region of {', '.join(zones)}")
    return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{name}"


def _azure_disk(source: AzureDiskVolumeSource) -> str:
    if source.kind is not None and source.kind.lower() != _MANAGED:
        raise MigrationError(f"kind({source.kind}) is not supported in csi migration")
    return source.disk_uri

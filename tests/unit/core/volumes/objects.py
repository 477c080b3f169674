"""Volumes, claims and what belongs to them, with few words."""

from typing import Any

import msgspec

from scheduler.api.decoding import DECODERS
from scheduler.api.types import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from scheduler.core.cache.cluster_objects import ApiObject, ClusterObjects

HOSTNAME = "kubernetes.io/hostname"
WAITING_CLASS = "waits"


def decoded(kind: str, name: str, *, namespace: str = "", version: int = 1, **fields: Any) -> Any:
    """An object of the kind; a field of its metadata is given as `labels`, `annotations` or `uid`."""
    of_metadata: dict[str, Any] = {key: fields.pop(key) for key in ("labels", "annotations", "uid") if key in fields}
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version), **of_metadata}
    return DECODERS[kind](msgspec.json.encode({"metadata": metadata, **fields}))


def volume(
    name: str,
    *,
    size: str = "1Gi",
    nodes: tuple[str, ...] | None = None,
    claim: str = "",
    class_name: str = WAITING_CLASS,
    phase: str = "Available",
    handle: str | None = None,
    **metadata: Any,
) -> PersistentVolume:
    """A volume, reached from these nodes alone (by their hostname label) or from all."""
    spec: dict[str, Any] = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    spec |= {"storageClassName": class_name, "csi": {"driver": "csi.example", "volumeHandle": handle or name}}
    if nodes is not None:
        on_nodes = {"key": HOSTNAME, "operator": "In", "values": list(nodes)}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_nodes]}]}}
    if claim:
        spec["claimRef"] = {"namespace": "default", "name": claim}
    made: PersistentVolume = decoded("PersistentVolume", name, spec=spec, status={"phase": phase}, **metadata)
    return made


def claim(
    name: str,
    *,
    size: str = "1Gi",
    volume_name: str = "",
    class_name: str = WAITING_CLASS,
    bound: bool = False,
    annotations: dict[str, str] | None = None,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    **metadata: Any,
) -> PersistentVolumeClaim:
    """A claim of the namespace `default`."""
    spec: dict[str, Any] = {"accessModes": modes, "resources": {"requests": {"storage": size}}}
    spec |= {"storageClassName": class_name, **({"volumeName": volume_name} if volume_name else {})}
    annotations = (annotations or {}) | ({"pv.kubernetes.io/bind-completed": "yes"} if bound else {})
    made: PersistentVolumeClaim = decoded(
        "PersistentVolumeClaim",
        name,
        namespace="default",
        uid=f"uid of {name}",
        annotations=annotations,
        spec=spec,
        status={"phase": "Bound" if bound else "Pending"},
        **metadata,
    )
    return made


def storage_class(
    name: str = WAITING_CLASS,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = "WaitForFirstConsumer",
    **fields: Any,
) -> StorageClass:
    """A class whose claims wait for pods."""
    made: StorageClass = decoded("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **fields)
    return made


def csi_node(name: str, **limits: int | None) -> CSINode:
    """Drivers by name (`_` for `.`) with their limits, None for no limit."""
    drivers = [
        {"name": driver.replace("_", "."), **({} if limit is None else {"allocatable": {"count": limit}})}
        for driver, limit in limits.items()
    ]
    made: CSINode = decoded("CSINode", name, spec={"drivers": drivers})
    return made


def attachment(name: str, node: str, volume_name: str) -> VolumeAttachment:
    """Says that the volume is attached to the node."""
    source = {"persistentVolumeName": volume_name}
    spec = {"attacher": "csi.example", "nodeName": node, "source": source}
    made: VolumeAttachment = decoded("VolumeAttachment", name, spec=spec)
    return made


def capacity(
    name: str, size: str, class_name: str, topology: dict[str, Any] | None, **fields: Any
) -> CSIStorageCapacity:
    """So much room for volumes of the class on the nodes of the topology."""
    made: CSIStorageCapacity = decoded(
        "CSIStorageCapacity",
        name,
        namespace="default",
        storageClassName=class_name,
        capacity=size,
        nodeTopology=topology,
        **fields,
    )
    return made


def objects_of(*objects: ApiObject) -> ClusterObjects:
    """Stores with these objects."""
    stores = ClusterObjects()
    for obj in objects:
        stores.set(obj)
    return stores

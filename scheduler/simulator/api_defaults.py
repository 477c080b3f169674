"""What the API server fills in where the author of an object left it out, for the kinds beside pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from scheduler.simulator.quantities import rounded, rounded_resources

Object = dict[str, Any]

NAME_LABEL: Final = "kubernetes.io/metadata.name"


def defaulted(kind: str, value: Object) -> Object:
    """The object as it would be stored; every field is of the right type. Never changed in place."""
    default = _DEFAULTS.get(kind)
    return value if default is None else default(value)


def _with(value: Object, part: str, **defaults: object) -> Object:
    """The object with some fields of a part of it set where they are absent."""
    present = value.get(part) or {}
    missing = {name: default for name, default in defaults.items() if present.get(name) in (None, "")}
    return {**value, part: {**present, **missing}} if missing else value


def _node(node: Object) -> Object:
    status = node.get("status") or {}
    amounts = {name: rounded_resources(status[name]) for name in ("capacity", "allocatable") if status.get(name)}
    if "capacity" in amounts and status.get("allocatable") is None:
        amounts["allocatable"] = amounts["capacity"]
    return {**node, "status": {**status, **amounts}} if amounts else node


def _namespace(namespace: Object) -> Object:
    metadata = namespace["metadata"]
    labels = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
    return {**namespace, "metadata": {**metadata, "labels": labels}}


def _replication_controller(controller: Object) -> Object:
    spec = controller.get("spec") or {}
    template = spec.get("template")
    labels = ((template.get("metadata") or {}).get("labels") or {}) if isinstance(template, dict) else {}
    if labels and not spec.get("selector"):
        controller = _with(controller, "spec", selector=labels)
    if labels and not controller["metadata"].get("labels"):
        controller = _with(controller, "metadata", labels=labels)
    return controller


def _persistent_volume(volume: Object) -> Object:
    volume = _with(_with(volume, "spec", volumeMode="Filesystem"), "status", phase="Pending")
    spec = volume["spec"]
    if spec.get("capacity"):
        spec = {**spec, "capacity": rounded_resources(spec["capacity"])}
    if spec.get("rbd"):
        spec = _with(spec, "rbd", pool="rbd")
    return {**volume, "spec": spec}


def _persistent_volume_claim(claim: Object) -> Object:
    claim = _with(_with(claim, "spec", volumeMode="Filesystem"), "status", phase="Pending")
    resources = claim["spec"].get("resources") or {}
    if not resources.get("requests"):
        return claim
    resources = {**resources, "requests": rounded_resources(resources["requests"])}
    return {**claim, "spec": {**claim["spec"], "resources": resources}}


def _storage_class(storage_class: Object) -> Object:
    mode = storage_class.get("volumeBindingMode")
    return storage_class if mode else {**storage_class, "volumeBindingMode": "Immediate"}


def _csi_driver(driver: Object) -> Object:
    return _with(driver, "spec", attachRequired=True, storageCapacity=False, preventPodSchedulingIfMissing=False)


def _csi_storage_capacity(capacity: Object) -> Object:
    amounts = {
        name: rounded(capacity[name]) for name in ("capacity", "maximumVolumeSize") if capacity.get(name) is not None
    }
    return {**capacity, **amounts}


def _priority_class(priority_class: Object) -> Object:
    policy = priority_class.get("preemptionPolicy")
    return priority_class if policy else {**priority_class, "preemptionPolicy": "PreemptLowerPriority"}


_DEFAULTS: Final[Mapping[str, Callable[[Object], Object]]] = {
    "Node": _node,
    "Namespace": _namespace,
    "ReplicationController": _replication_controller,
    "PersistentVolume": _persistent_volume,
    "PersistentVolumeClaim": _persistent_volume_claim,
    "StorageClass": _storage_class,
    "CSIDriver": _csi_driver,
    "CSIStorageCapacity": _csi_storage_capacity,
    "PriorityClass": _priority_class,
}

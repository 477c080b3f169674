"""What the API server would refuse of the kinds beside pods and nodes, as far as a decision depends on it."""

from __future__ import annotations

from typing import Final

from scheduler.api.quantity import nano_value
from scheduler.api.types import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
    StorageClass,
)
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.simulator.validity_rules import INT32, POLICIES, Problems, amounts, label_selector, node_selector, one_of

_USER_PRIORITIES: Final = range(-(2**31), 1_000_000_001)
_ACCESS_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Filesystem", "Block")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")


def object_problems(obj: ApiObject) -> Problems:
    """Paths of fields, and what is wrong with them."""
    match obj:
        case PriorityClass():
            yield from _priority_class(obj)
        case StorageClass():
            yield from _storage_class(obj)
        case PersistentVolumeClaim():
            yield from _claim(obj)
        case PersistentVolume():
            yield from _volume(obj.spec)
        case CSINode():
            yield from _csi_node(obj)
        case CSIStorageCapacity():
            yield from label_selector(obj.node_topology, "nodeTopology")
            for name, amount in (("capacity", obj.capacity), ("maximumVolumeSize", obj.maximum_volume_size)):
                if amount is not None and nano_value(amount) < 0:
                    yield name, f"{amount} is below 0"
        case PodDisruptionBudget() | ReplicaSet() | StatefulSet():
            yield from label_selector(obj.spec.selector, "spec.selector")


def _priority_class(priority_class: PriorityClass) -> Problems:
    system = priority_class.metadata.name.startswith("system-")
    if priority_class.value not in (INT32 if system else _USER_PRIORITIES):
        yield "value", f"{priority_class.value} is not between -2147483648 and 1000000000"
    yield from one_of(priority_class.preemption_policy, POLICIES, "preemptionPolicy")


def _storage_class(storage_class: StorageClass) -> Problems:
    yield from one_of(storage_class.volume_binding_mode, _BINDING_MODES, "volumeBindingMode")
    for index, term in enumerate(storage_class.allowed_topologies or ()):
        for number, condition in enumerate(term.match_label_expressions or ()):
            path = f"allowedTopologies[{index}].matchLabelExpressions[{number}]"
            if not condition.key:
                yield f"{path}.key", "is missing"
            if not condition.values:
                yield f"{path}.values", "has at least one value"


def _claim(claim: PersistentVolumeClaim) -> Problems:
    yield from _modes(claim.spec.access_modes, claim.spec.volume_mode)
    yield from label_selector(claim.spec.selector, "spec.selector")
    if claim.spec.resources is not None:
        yield from amounts(claim.spec.resources.requests, "spec.resources.requests")


def _volume(spec: PersistentVolumeSpec) -> Problems:
    yield from _modes(spec.access_modes, spec.volume_mode)
    yield from amounts(spec.capacity, "spec.capacity")
    if spec.node_affinity is not None and spec.node_affinity.required is not None:
        yield from node_selector(spec.node_affinity.required, "spec.nodeAffinity.required")


def _modes(access_modes: tuple[str, ...] | None, volume_mode: str | None) -> Problems:
    for index, mode in enumerate(access_modes or ()):
        yield from one_of(mode, _ACCESS_MODES, f"spec.accessModes[{index}]")
    yield from one_of(volume_mode, _VOLUME_MODES, "spec.volumeMode")


def _csi_node(csi_node: CSINode) -> Problems:
    for index, driver in enumerate(csi_node.spec.drivers):
        count = None if driver.allocatable is None else driver.allocatable.count
        if count is not None and count < 0:
            yield f"spec.drivers[{index}].allocatable.count", f"{count} is below 0"

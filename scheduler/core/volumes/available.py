"""The volumes that a claim may be bound to, and which of them is the smallest on each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.quantity import value
from scheduler.api.selectors import NodeTerm, compile_label_selector, compile_node_selector
from scheduler.api.storage import STORAGE, VolumeNodeAffinity, claim_class, is_for, requested_storage, volume_class
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray
from scheduler.core.volumes.reach import NOWHERE, Reach, Terms, reached

if TYPE_CHECKING:
    from scheduler.api.types import PersistentVolume, PersistentVolumeClaim
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.cache.columns import NodeColumns

NONE: Final = -1
"""Stands where a node has no volume for the claim."""

_AVAILABLE: Final = "Available"
_FILESYSTEM: Final = "Filesystem"
_SMALLEST_CAPACITY: Final = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """Which volume a claim would be bound to, node by node.

    Attributes:
        slots: int64 a row, an index into the others; NONE where there is no volume.
        names: of the volumes.
        capacity_bytes: float64, likewise.
        otherwise_named: by slot, the class that a volume's spec names where its annotation names the claim's.
    """

    claim: PersistentVolumeClaim
    storage_class: str
    slots: IntArray
    names: Sequence[str]
    capacity_bytes: FloatArray
    otherwise_named: Mapping[int, str]


class OfClass:
    """The volumes of one StorageClass that are there for any claim; a column a property, a slot a volume."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.capacity_bytes: FloatArray = np.zeros(_SMALLEST_CAPACITY)
        self._slot_of: dict[str, int] = {}
        self._free: list[int] = []
        self._volumes: dict[int, PersistentVolume] = {}
        self._kinds: IntArray = np.zeros(_SMALLEST_CAPACITY, np.int64)
        self._kind_ids: dict[tuple[str, str], int] = {}
        self._access: IntArray = np.zeros(_SMALLEST_CAPACITY, np.int64)
        self._access_bits: dict[str, int] = {}
        self._reach = Reach()
        self._order: IntArray | None = None
        self._otherwise_named: dict[int, str] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._slot_of)

    def put(self, volume: PersistentVolume) -> None:
        """The volume is to be had, new or changed."""
        name = volume.metadata.name
        slot = self._slot_of.get(name)
        if slot is None:
            slot = self._slot_of[name] = self._free.pop() if self._free else len(self.names)
            if slot == len(self.names):
                self.names.append(name)
                self._reserve(slot)
            self.names[slot] = name
        self._volumes[slot] = volume
        self.capacity_bytes[slot] = capacity_of(volume)
        self._kinds[slot] = self._kind_ids.setdefault(_kind(volume), len(self._kind_ids))
        self._access[slot] = self._bits(volume.spec.access_modes or ())
        self._reach.put(slot, volume_terms(volume.spec.node_affinity))
        if _is_otherwise_named(volume):
            self._otherwise_named[slot] = volume.spec.storage_class_name or ""
        else:
            self._otherwise_named.pop(slot, None)
        self._order = None

    def remove(self, name: str) -> None:
        """The volume is not to be had any more; does nothing for one that isn't here."""
        slot = self._slot_of.pop(name, None)
        if slot is None:
            return
        del self._volumes[slot]
        self._otherwise_named.pop(slot, None)
        self._free.append(slot)
        self._reach.remove(slot)
        if self._order is not None:
            self._order = self._order[self._order != slot]

    def choose(self, claim: PersistentVolumeClaim, nodes: NodeColumns, taken: Sequence[Choice]) -> Choice:
        """The smallest volume that the claim fits, on each node, but for those `taken` there by the pod's claims."""
        order = self._sorted()
        order = order[self._fitting(claim, order)]
        position_of = np.full(len(self.names), NOWHERE)
        position_of[order] = np.arange(len(order))
        mine = [other for other in taken if other.names is self.names]
        found = self._reach.first(position_of, nodes, 1 + len(mine))
        for other in mine:
            theirs = np.where(other.slots == NONE, NOWHERE, position_of[other.slots])
            found = np.where(found == theirs[:, np.newaxis], NOWHERE, found)
        smallest = found.min(axis=1)
        none = (smallest == NOWHERE) | ~nodes.exists
        slots = np.full(nodes.count, NONE) if none.all() else np.where(none, NONE, order[np.where(none, 0, smallest)])
        return Choice(claim, claim_class(claim), slots, self.names, self.capacity_bytes, self._otherwise_named)

    def _fitting(self, claim: PersistentVolumeClaim, slots: IntArray) -> BoolArray:
        wanted = self._bits(claim.spec.access_modes or ())
        fitting: BoolArray = (
            (self.capacity_bytes[slots] >= requested_bytes(claim))
            & (self._kinds[slots] == self._kind_ids.get(_kind(claim), -1))
            & (self._access[slots] & wanted == wanted)
        )
        if claim.spec.selector is not None:
            selector = compile_label_selector(claim.spec.selector)
            for index in np.flatnonzero(fitting).tolist():
                volume = self._volumes[int(slots[index])]
                fitting[index] = selector.matches(volume.metadata.labels or {})
        return fitting

    def _sorted(self) -> IntArray:
        """Slots by size; of equal ones by name."""
        if self._order is None:
            by_name = [self._slot_of[name] for name in sorted(self._slot_of)]
            slots = np.array(by_name, np.int64)
            self._order = slots[np.argsort(self.capacity_bytes[slots], kind="stable")]
        return self._order

    def _bits(self, modes: Sequence[str]) -> int:
        bits = 0
        for mode in modes:
            bits |= 1 << self._access_bits.setdefault(mode, len(self._access_bits))
        return bits

    def _reserve(self, slot: int) -> None:
        if slot < len(self._kinds):
            return
        self.capacity_bytes = np.resize(self.capacity_bytes, 2 * slot)
        self._kinds = np.resize(self._kinds, 2 * slot)
        self._access = np.resize(self._access, 2 * slot)


class AvailableVolumes:
    """All volumes that no claim has yet, as they are assumed to be. Follows the objects; made once.

    ::

        no claim, Available       -> of its class: any claim may have it
        names a claim, not bound  -> prebound: for that claim alone
    """

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._of_class: dict[str, OfClass] = {}
        self._prebound: dict[tuple[str, str], set[str]] = {}
        objects.assumed_volumes.follow(self._changed)

    def choose(self, claim: PersistentVolumeClaim, nodes: NodeColumns, taken: Sequence[Choice]) -> Choice | None:
        """What the claim would be bound to; a volume that names it is the only one there is for it. None for nothing.

        Raises:
            SelectorError: the claim's selector can't be understood.
        """
        named = self._named(claim)
        if named is not None:
            reachable = reached(volume_terms(named.spec.node_affinity), nodes)
            slots = np.where(reachable & nodes.exists, 0, NONE)
            size = np.array([capacity_of(named)], np.float64)
            otherwise = {0: named.spec.storage_class_name or ""} if _is_otherwise_named(named) else {}
            return Choice(claim, claim_class(claim), slots, [named.metadata.name], size, otherwise)
        of_class = self._of_class.get(claim_class(claim))
        return None if of_class is None else of_class.choose(claim, nodes, taken)

    def _named(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        names = self._prebound.get((claim.metadata.namespace, claim.metadata.name), ())
        for name in sorted(names):
            volume = self._objects.assumed_volumes.get(name)
            if (
                volume is not None
                and is_for(volume, claim)
                and volume_class(volume) == claim_class(claim)
                and capacity_of(volume) >= requested_bytes(claim)
                and _kind(volume) == _kind(claim)
                and volume.metadata.deletion_timestamp is None
            ):
                return volume
        return None

    def _changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        if old is not None:
            self._forget(old, new)
        if new is None:
            return
        reference = new.spec.claim_ref
        if reference is not None:
            key = (reference.namespace or "", reference.name or "")
            self._prebound.setdefault(key, set()).add(new.metadata.name)
        elif _is_available(new):
            of_class = self._of_class.get(volume_class(new))
            if of_class is None:
                of_class = self._of_class[volume_class(new)] = OfClass()
            of_class.put(new)

    def _forget(self, old: PersistentVolume, new: PersistentVolume | None) -> None:
        reference, name = old.spec.claim_ref, old.metadata.name
        if reference is not None:
            key = (reference.namespace or "", reference.name or "")
            self._prebound[key].discard(name)
            if not self._prebound[key]:
                del self._prebound[key]
        elif _is_available(old) and not (
            new is not None and _is_available(new) and volume_class(new) == volume_class(old)
        ):
            of_class = self._of_class[volume_class(old)]
            of_class.remove(name)
            if not of_class:
                del self._of_class[volume_class(old)]


def _is_otherwise_named(volume: PersistentVolume) -> bool:
    return volume_class(volume) != (volume.spec.storage_class_name or "")


def _is_available(volume: PersistentVolume) -> bool:
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == _AVAILABLE
        and volume.metadata.deletion_timestamp is None
    )


def _kind(obj: PersistentVolume | PersistentVolumeClaim) -> tuple[str, str]:
    """What must be equal of volume and claim: volume mode and VolumeAttributesClass."""
    return obj.spec.volume_mode or _FILESYSTEM, obj.spec.volume_attributes_class_name or ""


def capacity_of(volume: PersistentVolume) -> int:
    """The volume's size in bytes, 0 where it states none."""
    return value((volume.spec.capacity or {}).get(STORAGE, 0))


def requested_bytes(claim: PersistentVolumeClaim) -> int:
    """The size that the claim asks for in bytes, 0 where it names none."""
    requested = requested_storage(claim)
    return 0 if requested is None else value(requested)


def volume_terms(affinity: VolumeNodeAffinity | None) -> Terms | None:
    """The terms of the nodes from which a volume is reached, None for all.

    As in kube-scheduler they are compared with a node's labels alone: its name, as a field, is taken to be empty.
    """
    if affinity is None or affinity.required is None:
        return None
    terms = compile_node_selector(affinity.required).terms
    return tuple(
        NodeTerm(term.labels) for term in terms if all(each.negated == bool(each.value) for each in term.fields)
    )

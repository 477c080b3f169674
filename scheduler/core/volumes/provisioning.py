"""On which nodes a volume could be made for a claim, and with how much room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.quantity import value
from scheduler.api.selectors import NodeTerm, Operator, Requirement, Selector, SelectorError, compile_label_selector
from scheduler.api.storage import NO_PROVISIONER, claim_class, requested_storage
from scheduler.core.framework.node_matching import matches_any_term
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray
from scheduler.core.volumes.reach import NOWHERE, Reach, Terms

if TYPE_CHECKING:
    from scheduler.api.types import CSIStorageCapacity, PersistentVolumeClaim, StorageClass
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.cache.columns import NodeColumns


_SMALLEST_CAPACITY: Final = 64
_NOTHING: Final = -1.0
"""Less than any claim asks for."""


class ProvisioningError(Exception):
    """The claim can't be looked at; the text is kube-scheduler's."""


@dataclass(frozen=True, slots=True)
class Provision:
    """How a volume for the claim could be made, node by node.

    Attributes:
        allowed: whether its class makes volumes for the node at all.
        sufficient: whether the room there is large enough; always, where nothing is known of room.
        room_bytes: how much is known to be there; NaN where nothing is known, None for nowhere.
    """

    claim: PersistentVolumeClaim
    storage_class: str
    allowed: BoolArray
    sufficient: BoolArray
    room_bytes: FloatArray | None = None


class _OfClass:
    """The CSIStorageCapacities of one StorageClass; a slot each, a column a property."""

    def __init__(self) -> None:
        self.room_bytes: FloatArray = np.zeros(_SMALLEST_CAPACITY)
        self._largest_bytes: FloatArray = np.zeros(_SMALLEST_CAPACITY)
        self._slot_of: dict[tuple[str, str], int] = {}
        self._free: list[int] = []
        self._reach = Reach()
        self._order: IntArray | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._slot_of)

    def put(self, capacity: CSIStorageCapacity) -> None:
        """The capacity is there, new or changed."""
        key = (capacity.metadata.namespace, capacity.metadata.name)
        slot = self._slot_of.get(key)
        if slot is None:
            slot = self._slot_of[key] = self._free.pop() if self._free else len(self._slot_of)
            if slot >= len(self.room_bytes):
                self.room_bytes = np.resize(self.room_bytes, 2 * slot)
                self._largest_bytes = np.resize(self._largest_bytes, 2 * slot)
            self._order = None
        self._largest_bytes[slot] = _NOTHING if (limit := volume_limit(capacity)) is None else limit
        self.room_bytes[slot] = 0 if capacity.capacity is None else value(capacity.capacity)
        self._reach.put(slot, _topology(capacity))

    def remove(self, capacity: CSIStorageCapacity) -> None:
        """The capacity is gone."""
        slot = self._slot_of.pop((capacity.metadata.namespace, capacity.metadata.name))
        self._free.append(slot)
        self._reach.remove(slot)
        self._order = None

    def first_large_enough(self, requested_bytes: int, nodes: NodeColumns) -> IntArray:
        """For each row the slot of the first capacity, by namespace and name, that is; -1 for none."""
        if self._order is None:
            self._order = np.array([self._slot_of[key] for key in sorted(self._slot_of)], np.int64)
        order = self._order[self._largest_bytes[self._order] >= requested_bytes]
        position_of = np.full(len(self.room_bytes), NOWHERE)
        position_of[order] = np.arange(len(order))
        first = self._reach.first(position_of, nodes, 1).min(axis=1)
        none = first == NOWHERE
        return np.full(len(first), -1) if none.all() else np.where(none, -1, order[np.where(none, 0, first)])


class Provisioning:
    """Answers for all nodes at once. Follows the CSIStorageCapacities; made once a profile."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._capacities: dict[str, _OfClass] = {}
        objects.csi_storage_capacities.follow(self._changed)

    def provision(self, claim: PersistentVolumeClaim, nodes: NodeColumns) -> Provision:
        """How a volume could be made for the claim.

        Raises:
            ProvisioningError: its class is gone.
        """
        name = claim_class(claim)
        storage_class = self._objects.storage_classes.get(name)
        if storage_class is None:
            raise ProvisioningError(f'failed to find storage class "{name}"')
        everywhere = np.ones(nodes.count, np.bool_)
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return Provision(claim, name, ~everywhere, everywhere)
        allowed = _allowed(storage_class, nodes)
        requested = requested_storage(claim)
        driver = self._objects.csi_drivers.get(storage_class.provisioner)
        if requested is None or driver is None or not driver.spec.storage_capacity:
            return Provision(claim, name, allowed, everywhere)
        room = np.full(nodes.count, np.nan)
        capacities = self._capacities.get(name)
        if capacities is None:
            return Provision(claim, name, allowed, ~everywhere, room)
        slots = capacities.first_large_enough(value(requested), nodes)
        sufficient = slots >= 0
        room[sufficient] = capacities.room_bytes[slots[sufficient]]
        return Provision(claim, name, allowed, sufficient, room)

    def _changed(self, old: CSIStorageCapacity | None, new: CSIStorageCapacity | None) -> None:
        if old is not None and (new is None or new.storage_class_name != old.storage_class_name):
            of_class = self._capacities[old.storage_class_name]
            of_class.remove(old)
            if not of_class:
                del self._capacities[old.storage_class_name]
        if new is not None:
            self._capacities.setdefault(new.storage_class_name, _OfClass()).put(new)


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume that can be made there, in bytes; None where nothing is known."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return None if limit is None else value(limit)


def _topology(capacity: CSIStorageCapacity) -> Terms | None:
    """Terms of the nodes that reach the storage; none without a topology, or with one that can't be understood."""
    if capacity.node_topology is None:
        return ()
    try:
        selector = compile_label_selector(capacity.node_topology)
    except SelectorError:
        return ()
    return (NodeTerm(selector),) if selector.requirements else None


def _allowed(storage_class: StorageClass, nodes: NodeColumns) -> BoolArray:
    """Rows that one of the class's topologies admits; all without topologies."""
    if not storage_class.allowed_topologies:
        return np.ones(nodes.count, np.bool_)
    terms = [
        NodeTerm(
            Selector(tuple(Requirement(each.key, Operator.IN, each.values) for each in term.match_label_expressions))
        )
        for term in storage_class.allowed_topologies
        if term.match_label_expressions
    ]
    return matches_any_term(nodes, terms, slice(None))

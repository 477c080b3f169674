"""On which nodes a volume could be made for a claim, and with how much room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.api.quantity import value
from scheduler.api.selectors import NodeTerm, Operator, Requirement, Selector, SelectorError, compile_label_selector
from scheduler.api.storage import NO_PROVISIONER, claim_class, requested_storage
from scheduler.core.framework.node_matching import matches_any_term
from scheduler.core.framework.types import BoolArray, FloatArray
from scheduler.core.volumes.reach import NOWHERE, Reach, Terms

if TYPE_CHECKING:
    from scheduler.api.types import CSIStorageCapacity, PersistentVolumeClaim, StorageClass
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.cache.columns import NodeColumns


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


class _Capacities:
    """The CSIStorageCapacities of a class that some node reaches, as of a version of their store."""

    def __init__(self, objects: ClusterObjects, storage_class: str) -> None:
        of_class = [each for each in objects.csi_storage_capacities if each.storage_class_name == storage_class]
        of_class.sort(key=lambda each: (each.metadata.namespace, each.metadata.name))
        self.version = objects.csi_storage_capacities.version
        self.reach = Reach()
        largest: list[int] = []
        room: list[int] = []
        for each in of_class:
            terms = _topology(each)
            limit = each.maximum_volume_size if each.maximum_volume_size is not None else each.capacity
            if terms == () or limit is None:
                continue
            self.reach.put(len(largest), terms)
            largest.append(value(limit))
            room.append(value(each.capacity) if each.capacity is not None else 0)
        self.largest_bytes = np.array(largest, np.float64)
        self.room_bytes = np.array(room, np.float64)


class Provisioning:
    """Answers for all nodes at once; keeps what CSIStorageCapacities say until they change."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._capacities: dict[str, _Capacities] = {}

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
        capacities = self._of_class(name)
        position_of = np.where(
            capacities.largest_bytes >= value(requested), np.arange(len(capacities.largest_bytes)), NOWHERE
        )
        first = capacities.reach.first(position_of, nodes, 1).min(axis=1)
        sufficient = first < NOWHERE
        room = np.full(nodes.count, np.nan)
        room[sufficient] = capacities.room_bytes[first[sufficient]]
        return Provision(claim, name, allowed, sufficient, room)

    def _of_class(self, name: str) -> _Capacities:
        known = self._capacities.get(name)
        if known is None or known.version != self._objects.csi_storage_capacities.version:
            known = self._capacities[name] = _Capacities(self._objects, name)
        return known


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

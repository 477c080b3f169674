"""What a pod's volumes would be on each node: which ones it has, which would be bound, which made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.csi_migration import in_tree_plugin, migrated_affinity, migrated_driver
from scheduler.api.storage import SELECTED_NODE_ANNOTATION, migrated_plugins
from scheduler.core.framework.types import BoolArray, IntArray
from scheduler.core.volumes.available import NONE, AvailableVolumes, Choice, requested_bytes, volume_terms
from scheduler.core.volumes.pod_claims import PodClaims
from scheduler.core.volumes.provisioning import Provision, Provisioning
from scheduler.core.volumes.reach import reached

if TYPE_CHECKING:
    from scheduler.api.types import CSINode, PersistentVolume, PersistentVolumeClaim
    from scheduler.core.cache.cluster_objects import ClusterObjects
    from scheduler.core.cache.columns import NodeColumns

UNREACHABLE: Final = 1
UNBINDABLE: Final = 2
NO_ROOM: Final = 4
VOLUME_GONE: Final = 8
"""Bits of what is wrong on a node."""


@dataclass(frozen=True, slots=True)
class NodeVolumes:
    """The pod's volumes on every row.

    Attributes:
        faults: int32 a row: what is wrong there, 0 for nothing.
        choices: claims that may be bound to a volume that is there already.
        provisions: claims for which a volume may be made; those of `choices` where they have none, and others that
            a scheduler has decided about before.
    """

    faults: IntArray
    choices: Sequence[Choice] = ()
    provisions: Sequence[Provision] = ()

    def bindings(self, row: int) -> list[tuple[PersistentVolumeClaim, str]]:
        """The claims that get a volume which is there, on the row, with its name."""
        return [
            (choice.claim, choice.names[choice.slots.item(row)])
            for choice in self.choices
            if choice.slots.item(row) != NONE
        ]

    def to_provision(self, row: int) -> list[PersistentVolumeClaim]:
        """The claims for which a volume is to be made, on the row."""
        matched = {id(choice.claim) for choice in self.choices if choice.slots.item(row) != NONE}
        return [each.claim for each in self.provisions if id(each.claim) not in matched]


class VolumeFinder:
    """Finds a pod's volumes for all nodes at once. One a profile; follows the objects."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._available = AvailableVolumes(objects)
        self._provisioning = Provisioning(objects)

    def find(self, claims: PodClaims, nodes: NodeColumns) -> NodeVolumes:
        """The pod's volumes on every row.

        Raises:
            ProvisioningError, SelectorError: a claim can't be looked at.
        """
        faults = self._bound(claims.bound, nodes)
        if not claims.waiting:
            return NodeVolumes(faults)
        elsewhere = np.zeros(nodes.count, np.bool_)
        decided, open_ones = [], []
        for claim in claims.waiting:
            selected = (claim.metadata.annotations or {}).get(SELECTED_NODE_ANNOTATION)
            if selected is None:
                open_ones.append(claim)
                continue
            decided.append(claim)
            here = nodes.row_of(selected)
            others = np.ones(nodes.count, np.bool_)
            if here is not None:
                others[here] = False
            elsewhere |= others
        choices: list[Choice] = []
        wanting = [(claim, np.ones(nodes.count, np.bool_)) for claim in decided]
        for claim in sorted(open_ones, key=requested_bytes):
            choice = self._available.choose(claim, nodes, choices)
            if choice is not None:
                choices.append(choice)
            wanting.append((claim, np.ones(nodes.count, np.bool_) if choice is None else choice.slots == NONE))
        faults[elsewhere] |= UNBINDABLE
        provisions = self._provision(wanting, nodes, faults, elsewhere)
        return NodeVolumes(faults, choices, provisions)

    def _provision(
        self,
        wanting: Sequence[tuple[PersistentVolumeClaim, BoolArray]],
        nodes: NodeColumns,
        faults: IntArray,
        decided: BoolArray,
    ) -> list[Provision]:
        """Where a claim wants a volume to be made and can't have it, say so; the first such claim decides."""
        provisions = []
        decided = decided.copy()
        for claim, wants in wanting:
            if not wants.any():
                continue
            provision = self._provisioning.provision(claim, nodes)
            provisions.append(provision)
            for possible, fault in ((provision.allowed, UNBINDABLE), (provision.sufficient, NO_ROOM)):
                refused = wants & ~decided & ~possible
                faults[refused] |= fault
                decided |= refused
        return provisions

    def _bound(self, claims: Sequence[PersistentVolumeClaim], nodes: NodeColumns) -> IntArray:
        """What is wrong with the claims that have volumes; the first one that can't be had decides."""
        faults = np.zeros(nodes.count, np.int32)
        for claim in claims:
            volume = self._objects.assumed_volumes.get(claim.spec.volume_name or "")
            if volume is None:
                faults[faults == 0] = VOLUME_GONE
                break
            if volume.spec.node_affinity is not None or in_tree_plugin(volume.spec) is not None:
                faults[(faults == 0) & ~self._reached(volume, nodes)] = UNREACHABLE
        return faults

    def _reached(self, volume: PersistentVolume, nodes: NodeColumns) -> BoolArray:
        """Rows that reach the volume; where its in-tree plugin is migrated, by the labels of the driver."""
        reachable = reached(volume_terms(volume.spec.node_affinity), nodes)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or migrated_driver(volume.spec) is None:
            return reachable
        by_driver = reached(volume_terms(migrated_affinity(volume)), nodes)
        return np.where(nodes.volumes.limits.migrated(plugin, slice(0, nodes.count)), by_driver, reachable)


def reaches(volume: PersistentVolume, labels: Mapping[str, str], csi_node: CSINode | None) -> bool:
    """Whether a node with these labels reaches the volume."""
    affinity = volume.spec.node_affinity
    plugin = in_tree_plugin(volume.spec)
    if csi_node is not None and migrated_driver(volume.spec) is not None and plugin in migrated_plugins(csi_node):
        affinity = migrated_affinity(volume)
    terms = volume_terms(affinity)
    return terms is None or any(term.matches(labels, "") for term in terms)

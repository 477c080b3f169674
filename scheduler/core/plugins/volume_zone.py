"""Keeps a pod in the zones of its volumes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np

from scheduler.api.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_DELIMITER
from scheduler.api.pod_volumes import ClaimUse
from scheduler.api.storage import WAIT_FOR_FIRST_CONSUMER, claim_class
from scheduler.api.types import PersistentVolume, PersistentVolumeClaim, StorageClass
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

Topology: TypeAlias = tuple[str, frozenset[str]]
"""A label key, and the values of which a node must have one."""

_KEYS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_OF_BETA: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}
"""What nodes call it nowadays."""
_MISMATCH: Final = -1
_SKIP: Final = Status.of(Code.SKIP)


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Filter: nodes outside the zone or region that the labels of the pod's bound volumes name.

    A label may name several zones. Nodes without any such label are in no zone and can have every volume.
    """

    name: ClassVar[str] = "VolumeZone"

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Reject a pod whose volume can't be told, skip one whose volumes name no zone."""
        if not pod.volumes.claims:
            return _SKIP
        topologies: list[Topology] = []
        for use in pod.volumes.claims:
            if use.ephemeral:
                continue
            found = _of_claim(use, snapshot)
            if isinstance(found, str):
                return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, found)
            topologies += found
        if not topologies:
            return _SKIP
        state.write(self.name, _verdicts(topologies, snapshot.nodes))
        return None

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The claims; None without any."""
        return pod.volumes.claims or None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """Pods on the nodes make no difference, so all rows have been decided in PreFilter."""
        return state.read(self.name, np.ndarray)[rows]

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row."""
        return int(state.read(self.name, np.ndarray)[row])

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had no available volume zone")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """What may bind the pod's claims or move their volumes; nodes that come or change labels."""
        added_or_updated = Action.ADD | Action.UPDATE_OTHER
        return (
            RegisteredEvent(ClusterEvent(EventResource.STORAGE_CLASS, Action.ADD), _waits_for_consumer),
            RegisteredEvent(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
            RegisteredEvent(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, added_or_updated), _is_claim_of),
            RegisteredEvent(ClusterEvent(EventResource.PERSISTENT_VOLUME, added_or_updated), _is_elsewhere),
        )

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The claims."""
        return pod.volumes.claims


def _of_claim(use: ClaimUse, snapshot: Snapshot) -> list[Topology] | str:
    """The topologies of the claim's volume, none for one that waits for the pod; else what is wrong with it."""
    objects = snapshot.objects
    if not use.name:
        return "PersistentVolumeClaim had no name"
    claim = objects.persistent_volume_claims.get(use.name, use.namespace)
    if claim is None:
        return f'persistentvolumeclaim "{use.name}" not found'
    name = claim.spec.volume_name
    if name:
        volume = objects.persistent_volumes.get(name)
        return f'persistentvolume "{name}" not found' if volume is None else _topologies(volume)
    class_name = claim_class(claim)
    if not class_name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = objects.storage_classes.get(class_name)
    if storage_class is None:
        return f'storageclass.storage.k8s.io "{class_name}" not found'
    if storage_class.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{class_name}"'
    return [] if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"


def _topologies(volume: PersistentVolume) -> list[Topology]:
    """A label that can't be read counts as absent."""
    labels: Mapping[str, str] = volume.metadata.labels or {}
    zones = {key: [zone.strip() for zone in labels[key].split(ZONE_DELIMITER)] for key in _KEYS if key in labels}
    return [(key, frozenset(names)) for key, names in zones.items() if all(names)]


def _verdicts(topologies: Sequence[Topology], nodes: NodeColumns) -> IntArray:
    has_zone = np.zeros(nodes.count, np.bool_)
    for key in _KEYS:
        has_zone |= nodes.label(key)[0] >= 0
    reachable = np.ones(nodes.count, np.bool_)
    for key, values in topologies:
        present, matching = _label_in(nodes, key, values)
        if key in _OF_BETA:
            _, matching_now = _label_in(nodes, _OF_BETA[key], values)
            matching |= ~present & matching_now
        reachable &= matching
    return np.where(has_zone & ~reachable, _MISMATCH, 0).astype(np.int32)


def _label_in(nodes: NodeColumns, key: str, values: frozenset[str]) -> tuple[BoolArray, BoolArray]:
    """Rows that have the label, and those where it has one of the values."""
    ids, known = nodes.label(key)
    wanted = [number for value in values if (number := known.find(value)) is not None]
    return ids >= 0, np.isin(ids, wanted)


def _waits_for_consumer(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    return not isinstance(new, StorageClass) or new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _is_claim_of(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(new, PersistentVolumeClaim):
        return True
    return ClaimUse(new.metadata.namespace, new.metadata.name) in queued.pod_info.volumes.claims


def _is_elsewhere(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(old, PersistentVolume) or not isinstance(new, PersistentVolume):
        return True
    return _topologies(old) != _topologies(new)

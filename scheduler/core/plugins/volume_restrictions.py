"""Keeps pods apart that can't mount the same volume."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.pod_volumes import ClaimUse, DiskUse
from scheduler.api.storage import READ_WRITE_ONCE_POD
from scheduler.api.types import PersistentVolumeClaim
from scheduler.core.framework.events import ASSIGNED_POD_DELETE, NODE_ADD, Action, ClusterEvent, EventResource
from scheduler.core.framework.events import RegisteredEvent as Registered
from scheduler.core.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_DISK_IN_USE: Final = 1
_CLAIM_IN_USE: Final = 2
_REASONS: Final = {
    _DISK_IN_USE: "node(s) had no available disk",
    _CLAIM_IN_USE: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
    "by another pod",
}
_SKIP: Final = Status.of(Code.SKIP)


@dataclass(frozen=True, slots=True)
class _Exclusive:
    """The pod's claims that one pod alone may use, as they stood when the cycle began.

    Attributes:
        in_use: how many of them some pod uses.
        references: how often pods name them.
    """

    claims: tuple[ClaimUse, ...]
    in_use: int
    references: int


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Filter: nodes with a pod that mounts one of the pod's disks, unless both only read (an EBS volume never twice).

    And every node while another pod, wherever it is, uses a ReadWriteOncePod claim of the pod.
    """

    name: ClassVar[str] = "VolumeRestrictions"

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Reject a pod whose claim does not exist; skip one whose volumes nobody else can have."""
        if not pod.volumes:
            return _SKIP
        claims = dict.fromkeys(use for use in pod.volumes.claims if not use.ephemeral)
        exclusive = []
        for use in claims:
            claim = snapshot.objects.persistent_volume_claims.get(use.name, use.namespace)
            if claim is None:
                return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f'persistentvolumeclaim "{use.name}" not found')
            if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()):
                exclusive.append(use)
        references = [_references(snapshot, use) for use in exclusive]
        in_use = sum(1 for number in references if number)
        if not in_use and not pod.volumes.disks:
            return _SKIP
        state.write(self.name, _Exclusive(tuple(exclusive), in_use, sum(references)))
        return None

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The volumes; None without any."""
        return pod.volumes or None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """Which of the two it is; a disk comes first."""
        verdicts = np.zeros(snapshot.nodes.count, np.int32)
        if self._claims_in_use(state, snapshot):
            verdicts[:] = _CLAIM_IN_USE
        for disk in pod.volumes.disks:
            for conflicting in _conflicting(disk):
                verdicts[list(snapshot.nodes.volumes.uses.of(conflicting))] = _DISK_IN_USE
        return verdicts[rows]

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same for one row."""
        uses = snapshot.nodes.volumes.uses
        for disk in pod.volumes.disks:
            if any(row in uses.of(conflicting) for conflicting in _conflicting(disk)):
                return _DISK_IN_USE
        return _CLAIM_IN_USE if self._claims_in_use(state, snapshot) else 0

    def _claims_in_use(self, state: CycleState, snapshot: Snapshot) -> bool:
        """Pods that are tried away or added count by each reference, those that are there as one a claim."""
        exclusive = state.read(self.name, _Exclusive)
        if not exclusive.claims:
            return False
        references = sum(_references(snapshot, use) for use in exclusive.claims)
        return exclusive.in_use + references - exclusive.references > 0

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The reason."""
        return Status.of(Code.UNSCHEDULABLE, _REASONS[verdict])

    def events_to_register(self) -> Sequence[Registered]:
        """A pod that leaves a disk or claim of the pod; a new node; a claim of the pod that appears."""
        return (
            Registered(ASSIGNED_POD_DELETE, _frees_a_volume),
            Registered(NODE_ADD),
            Registered(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD), _is_claim_of),
        )

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """The volumes."""
        return pod.volumes


def _references(snapshot: Snapshot, use: ClaimUse) -> int:
    """How often pods on nodes name the claim."""
    exists = snapshot.nodes.exists
    return sum(uses for row, uses in snapshot.nodes.volumes.uses.of(use).items() if exists.item(row))


def _conflicting(disk: DiskUse) -> Iterator[DiskUse]:
    """The uses of a disk that exclude this one."""
    yield DiskUse(disk.kind, disk.identity, read_only=False)
    if not disk.read_only:
        yield DiskUse(disk.kind, disk.identity, read_only=True)


def _frees_a_volume(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    """Disks are the same in every namespace, unlike claims."""
    if not isinstance(old, PodInfo):
        return True
    waiting, gone = queued.pod_info.volumes, old.volumes
    if any(conflicting in gone.disks for disk in waiting.disks for conflicting in _conflicting(disk)):
        return True
    return any(use in gone.claims for use in waiting.claims if not use.ephemeral)


def _is_claim_of(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(new, PersistentVolumeClaim):
        return True
    return ClaimUse(new.metadata.namespace, new.metadata.name) in queued.pod_info.volumes.claims

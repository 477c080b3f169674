"""Which volumes the pods on each row mount."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scheduler.api.csi_migration import CsiVolume
from scheduler.api.pod_volumes import ClaimUse, PodVolumes, VolumeUse
from scheduler.core.cache.attached_volumes import AttachedVolumes, RowOf
from scheduler.core.cache.use_table import UseTable
from scheduler.core.cache.volume_limits import VolumeLimits

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_objects import ClusterObjects


class VolumeTable:
    """Claims and disks by row, and what follows from them for CSI drivers.

    Attributes:
        uses: claims and disks that pods mount, by row.
        attached: how many volumes of each driver that makes.
        limits: how many there can be.
    """

    __slots__ = ("_by_row", "attached", "limits", "uses")

    def __init__(self, objects: ClusterObjects, row_of: RowOf, capacity: int) -> None:
        self.uses: UseTable[VolumeUse] = UseTable()
        self.attached = AttachedVolumes(objects, row_of, capacity)
        self.limits = VolumeLimits(objects, row_of, capacity)
        self._by_row: dict[int, dict[VolumeUse, int]] = {}

    def write(self, row: int, used: Mapping[VolumeUse, int]) -> None:
        """Replace what is known of the row's pods; values are numbers of uses."""
        before = self._by_row.pop(row, None)
        if before is None and not used:
            return
        for use, uses in (before or {}).items():
            if used.get(use, 0) != uses:
                self._count(row, use, used.get(use, 0) - uses)
        for use, uses in used.items():
            if before is None or use not in before:
                self._count(row, use, uses)
        if used:
            self._by_row[row] = dict(used)

    def count_pod(self, row: int, volumes: PodVolumes, sign: int) -> None:
        """Count a pod's volumes in (1) or out (-1); called by an overlay, which takes it back itself."""
        for use in volumes.uses():
            self._count(row, use, sign)

    def write_node(self, row: int, name: str | None) -> None:
        """The row holds another node now, the one of this name, or none any more."""
        self.attached.write_node(row, name)
        self.limits.write_node(row, name)

    def reserve(self, capacity: int) -> None:
        """Make room for rows below `capacity`."""
        self.attached.reserve(capacity)
        self.limits.reserve(capacity)

    def _count(self, row: int, use: VolumeUse, uses: int) -> None:
        if isinstance(use, CsiVolume):
            self.attached.count_volume(row, use, uses)
            return
        self.uses.count(row, use, uses)
        if isinstance(use, ClaimUse):
            self.attached.count_claim(row, use, uses)

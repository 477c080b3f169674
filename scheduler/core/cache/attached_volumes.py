"""How many volumes of each CSI driver a node has attached.

A volume counts on a node when a pod there mounts it, or when a VolumeAttachment says that it is attached; once, however
many say so. What a pod mounts is a claim: which volume that is can be seen from the claim and its PersistentVolume, and
before they are bound from the StorageClass, which tells at least the driver. So counts follow pods, claims, volumes,
classes and attachments as they come and go, one at a time; nothing is counted again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from scheduler.api.csi_migration import CsiVolume, MigrationError, csi_volume, driver_of_provisioner
from scheduler.api.pod_volumes import ClaimUse
from scheduler.api.storage import claim_class
from scheduler.core.cache.growth import grown
from scheduler.core.cache.use_table import UseTable
from scheduler.core.framework.types import IntArray, RowIndex

if TYPE_CHECKING:
    from scheduler.api.types import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
    from scheduler.core.cache.cluster_objects import ClusterObjects

T = TypeVar("T")

RowOf: TypeAlias = "Callable[[str], int | None]"
"""The row of the node of a name, None if there is no such node."""

ClaimKey: TypeAlias = tuple[str, str]
"""Namespace and name."""

_NONE: Final[frozenset[CsiVolume]] = frozenset()
_UNBOUND: Final = "unbound:"
"""Before the name of a claim that is no volume yet: a handle that no driver gives."""


class AttachedVolumes:
    """Columns by driver, and the volumes behind them. Written through the node columns and by what `objects` tells.

    Attributes:
        by_pods: volumes that pods mount, by row.
    """

    def __init__(self, objects: ClusterObjects, row_of: RowOf, capacity: int) -> None:
        self.by_pods: UseTable[CsiVolume] = UseTable()
        self._by_attachments: UseTable[CsiVolume] = UseTable()
        self._counts: dict[str, IntArray] = {}
        self._capacity = capacity
        self._objects = objects
        self._row_of = row_of
        self._claims: UseTable[ClaimKey] = UseTable()
        self._volume_of: dict[ClaimKey, CsiVolume | None] = {}
        self._bound_to: dict[ClaimKey, str] = {}
        self._claims_of: dict[str, set[ClaimKey]] = {}
        self._attachments_on: dict[str, dict[str, VolumeAttachment]] = {}
        self._nodes_of: dict[str, dict[str, str]] = {}
        self._attached_on: dict[int, frozenset[CsiVolume]] = {}
        objects.persistent_volume_claims.follow(self._claim_changed)
        objects.persistent_volumes.follow(self._volume_changed)
        objects.storage_classes.follow(self._class_changed)
        objects.volume_attachments.follow(self._attachment_changed)

    # --- reading

    def count(self, driver: str, rows: slice | RowIndex) -> IntArray | int:
        """Volumes of the driver that are attached to each of the rows."""
        column = self._counts.get(driver)
        return 0 if column is None else column[rows]

    def count_on(self, driver: str, row: int) -> int:
        """`count` of one row."""
        column = self._counts.get(driver)
        return 0 if column is None else column.item(row)

    # --- pods

    def count_claim(self, row: int, use: ClaimUse, uses: int) -> None:
        """So many more uses (or, negative, fewer) of a claim by the row's pods."""
        key = (use.namespace, use.name)
        if key not in self._volume_of:
            self._learn(key)
        volume = self._volume_of[key]
        if volume is not None:
            self.count_volume(row, volume, uses)
        self._claims.count(row, key, uses)
        if key not in self._claims:
            self._link(key, None)
            del self._volume_of[key]

    def count_volume(self, row: int, volume: CsiVolume, uses: int) -> None:
        """So many more uses (or, negative, fewer) of a volume by the row's pods."""
        self._count(self.by_pods, row, volume, uses)

    def _count(self, table: UseTable[CsiVolume], row: int, volume: CsiVolume, uses: int) -> None:
        before = self._is_attached(row, volume)
        table.count(row, volume, uses)
        after = self._is_attached(row, volume)
        if before != after:
            column = self._counts.get(volume.driver)
            if column is None:
                column = self._counts[volume.driver] = np.zeros(self._capacity, np.int64)
            column[row] += after - before

    def _is_attached(self, row: int, volume: CsiVolume) -> bool:
        return row in self.by_pods.of(volume) or row in self._by_attachments.of(volume)

    # --- nodes

    def write_node(self, row: int, name: str | None) -> None:
        """The row holds another node now, the one of this name, or none any more."""
        self._write_attachments(row, name)

    def reserve(self, capacity: int) -> None:
        """Make room for rows below `capacity`."""
        for driver, column in self._counts.items():
            self._counts[driver] = grown(column, capacity, fill=0)
        self._capacity = capacity

    # --- claims, volumes, classes

    def _learn(self, key: ClaimKey) -> None:
        claim = self._objects.persistent_volume_claims.get(key[1], key[0])
        self._volume_of[key] = None if claim is None else volume_of(claim, self._objects)[0]
        self._link(key, None if claim is None else claim.spec.volume_name)

    def _link(self, key: ClaimKey, name: str | None) -> None:
        before = self._bound_to.pop(key, None)
        if before is not None:
            self._claims_of[before].remove(key)
            if not self._claims_of[before]:
                del self._claims_of[before]
        if name:
            self._bound_to[key] = name
            self._claims_of.setdefault(name, set()).add(key)

    def _learn_again(self, key: ClaimKey) -> None:
        old = self._volume_of[key]
        self._learn(key)
        new = self._volume_of[key]
        if old == new:
            return
        for row, uses in self._claims.of(key).items():
            if old is not None:
                self.count_volume(row, old, -uses)
            if new is not None:
                self.count_volume(row, new, uses)

    def _claim_changed(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        claim = new or old
        assert claim is not None
        key = (claim.metadata.namespace, claim.metadata.name)
        if key in self._volume_of:
            self._learn_again(key)

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        volume = new or old
        assert volume is not None
        for key in tuple(self._claims_of.get(volume.metadata.name, ())):
            self._learn_again(key)
        for node_name in set(self._nodes_of.get(volume.metadata.name, {}).values()):
            self._attachments_changed(node_name)

    def _class_changed(self, old: StorageClass | None, new: StorageClass | None) -> None:
        storage_class = new or old
        assert storage_class is not None
        for key in tuple(self._volume_of):
            claim = self._objects.persistent_volume_claims.get(key[1], key[0])
            if claim is not None and claim_class(claim) == storage_class.metadata.name:
                self._learn_again(key)

    # --- attachments

    def _attachment_changed(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        if old is not None:
            spec, name = old.spec, old.metadata.name
            _drop(self._attachments_on, spec.node_name, name)
            _drop(self._nodes_of, spec.source.persistent_volume_name or "", name)
        if new is not None:
            spec, name = new.spec, new.metadata.name
            self._attachments_on.setdefault(spec.node_name, {})[name] = new
            self._nodes_of.setdefault(spec.source.persistent_volume_name or "", {})[name] = spec.node_name
        for node_name in {each.spec.node_name for each in (old, new) if each is not None}:
            self._attachments_changed(node_name)

    def _attachments_changed(self, node_name: str) -> None:
        row = self._row_of(node_name)
        if row is not None:
            self._write_attachments(row, node_name)

    def _write_attachments(self, row: int, name: str | None) -> None:
        """Count what is attached to the row's node by its VolumeAttachments, in place of what was."""
        attachments = self._attachments_on.get(name, {}).values() if name is not None else ()
        before = self._attached_on.pop(row, _NONE)
        now = frozenset(volume for each in attachments if (volume := self._attached(each)) is not None)
        for volume in before - now:
            self._count(self._by_attachments, row, volume, -1)
        for volume in now - before:
            self._count(self._by_attachments, row, volume, 1)
        if now:
            self._attached_on[row] = now

    def _attached(self, attachment: VolumeAttachment) -> CsiVolume | None:
        name = attachment.spec.source.persistent_volume_name
        volume = self._objects.persistent_volumes.get(name) if name else None
        if volume is None or volume.spec.csi is None or not attachment.spec.attacher:
            return None
        return CsiVolume(attachment.spec.attacher, volume.spec.csi.volume_handle)


def _drop(table: dict[str, dict[str, T]], key: str, name: str) -> None:
    entries = table[key]
    del entries[name]
    if not entries:
        del table[key]


def volume_of(claim: PersistentVolumeClaim, objects: ClusterObjects) -> tuple[CsiVolume | None, bool]:
    """The volume that a claim is or will be, None if no driver attaches it.

    And whether it is one of an in-tree plugin, which only a node with a CSINode leaves to the driver.
    """
    name = claim.spec.volume_name
    volume = objects.persistent_volumes.get(name) if name else None
    if volume is None:
        return _volume_to_be(claim, objects)
    csi = volume.spec.csi
    if csi is not None:
        return (CsiVolume(csi.driver, csi.volume_handle) if csi.driver and csi.volume_handle else None), False
    try:
        migrated = csi_volume(volume.spec, volume.metadata.labels)
    except MigrationError:
        return None, True
    return (migrated if migrated is not None and migrated.handle else None), True


def _volume_to_be(claim: PersistentVolumeClaim, objects: ClusterObjects) -> tuple[CsiVolume | None, bool]:
    storage_class = objects.storage_classes.get(claim_class(claim))
    driver = None if storage_class is None else driver_of_provisioner(storage_class.provisioner)
    if driver is None or storage_class is None:
        return None, False
    handle = f"{_UNBOUND}{claim.metadata.namespace}/{claim.metadata.name}"
    return CsiVolume(driver, handle), driver != storage_class.provisioner

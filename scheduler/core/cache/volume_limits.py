"""Which CSI drivers run on a node, and how many volumes of each it can have attached, as its CSINode says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.storage import migrated_plugins
from scheduler.core.cache.growth import grown
from scheduler.core.framework.types import BoolArray, IntArray, RowIndex

if TYPE_CHECKING:
    from scheduler.api.types import CSINode
    from scheduler.core.cache.attached_volumes import RowOf
    from scheduler.core.cache.cluster_objects import ClusterObjects

NO_LIMIT: Final = 2**31
"""Stands where a driver has no limit on a node, or does not run there."""


class VolumeLimits:
    """Columns by driver. Written through the node columns and by what `objects` tells."""

    def __init__(self, objects: ClusterObjects, row_of: RowOf, capacity: int) -> None:
        self._objects = objects
        self._row_of = row_of
        self._capacity = capacity
        self._limits: dict[str, IntArray] = {}
        self._installed: dict[str, BoolArray] = {}
        self._migrated: dict[str, BoolArray] = {}
        self._has_csi_node: BoolArray = np.zeros(capacity, np.bool_)
        objects.csi_nodes.follow(self._csi_node_changed)

    def limit(self, driver: str, rows: slice | RowIndex) -> IntArray | int:
        """How many volumes of the driver each of the rows can have, NO_LIMIT for any number."""
        column = self._limits.get(driver)
        return NO_LIMIT if column is None else column[rows]

    def limit_on(self, driver: str, row: int) -> int:
        """`limit` of one row."""
        column = self._limits.get(driver)
        return NO_LIMIT if column is None else column.item(row)

    def installed(self, driver: str, rows: slice | RowIndex) -> BoolArray:
        """On which of the rows the driver runs."""
        column = self._installed.get(driver)
        return np.zeros_like(self._has_csi_node[rows]) if column is None else column[rows]

    def migrated(self, plugin: str, rows: slice | RowIndex) -> BoolArray:
        """On which of the rows an in-tree plugin's volumes are mounted through CSI."""
        column = self._migrated.get(plugin)
        return np.zeros_like(self._has_csi_node[rows]) if column is None else column[rows]

    def has_csi_node(self, rows: slice | RowIndex) -> BoolArray:
        """Which of the rows have a CSINode."""
        return self._has_csi_node[rows]

    def write_node(self, row: int, name: str | None) -> None:
        """The row holds another node now, the one of this name, or none any more."""
        self._write(row, None if name is None else self._objects.csi_nodes.get(name))

    def reserve(self, capacity: int) -> None:
        """Make room for rows below `capacity`."""
        for driver, limits in self._limits.items():
            self._limits[driver] = grown(limits, capacity, fill=NO_LIMIT)
        for columns in (self._installed, self._migrated):
            for name, column in columns.items():
                columns[name] = grown(column, capacity, fill=False)
        self._has_csi_node = grown(self._has_csi_node, capacity, fill=False)
        self._capacity = capacity

    def _csi_node_changed(self, old: CSINode | None, new: CSINode | None) -> None:
        csi_node = new or old
        assert csi_node is not None
        row = self._row_of(csi_node.metadata.name)
        if row is not None:
            self._write(row, new)

    def _write(self, row: int, csi_node: CSINode | None) -> None:
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for column in (*self._installed.values(), *self._migrated.values()):
            column[row] = False
        self._has_csi_node[row] = csi_node is not None
        for driver in csi_node.spec.drivers if csi_node is not None else ():
            if driver.name not in self._installed:
                self._installed[driver.name] = np.zeros(self._capacity, np.bool_)
                self._limits[driver.name] = np.full(self._capacity, NO_LIMIT, np.int64)
            self._installed[driver.name][row] = True
            if driver.allocatable is not None and driver.allocatable.count is not None:
                self._limits[driver.name][row] = driver.allocatable.count
        for plugin in migrated_plugins(csi_node) if csi_node is not None else ():
            if plugin not in self._migrated:
                self._migrated[plugin] = np.zeros(self._capacity, np.bool_)
            self._migrated[plugin][row] = True

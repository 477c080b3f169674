"""Sums of pods by the values of a node label: what topologies look like to spreading and affinity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from scheduler.core.cache.columns import MISSING
from scheduler.core.framework.types import BoolArray, IntArray, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.change_log import ChangeLog
    from scheduler.core.cache.columns import InternedColumn, NodeColumns

RowSums: TypeAlias = "Mapping[int, int]"
"""Row to number of pods."""

_NEVER: Final = -1


class NodeMask:
    """Which nodes count, for instance those that a pod's spreading looks at; follows the nodes.

    Args:
        matches: whether the nodes of certain rows of the columns count, a row each; depends on Node objects alone.

    Attributes:
        rows: a row each, as of the last `refresh`.
        version: grows when `rows` changes.
    """

    __slots__ = ("_domains", "_matches", "_position", "rows", "version")

    def __init__(self, matches: Callable[[NodeColumns, RowIndex | slice], BoolArray]) -> None:
        self.rows: BoolArray = np.zeros(0, np.bool_)
        self.version = 0
        self._matches = matches
        self._position = _NEVER
        self._domains: dict[str, tuple[InternedColumn[str], int, int, BoolArray, int]] = {}

    def refresh(self, nodes: NodeColumns, node_changes: ChangeLog) -> None:
        """Ask again about nodes that changed. Called before each use in a cycle."""
        if self._position == node_changes.end and len(self.rows) == nodes.count:
            return
        changed = None if self._position == _NEVER else node_changes.since(self._position)
        self._position = node_changes.end
        if changed is None or len(self.rows) != nodes.count:
            fresh = self._matches(nodes, slice(0, nodes.count))
        else:
            fresh = self.rows.copy()
            fresh[changed] = self._matches(nodes, np.array(changed, np.intp))
        if len(fresh) != len(self.rows) or bool((fresh != self.rows).any()):
            self.version += 1
            self.rows = fresh

    def domains(self, nodes: NodeColumns, key: str) -> tuple[BoolArray, int]:
        """Which values of a label are had by a node that counts (a value id each), and how many they are."""
        column = nodes.label_column(key)
        known = self._domains.get(key)
        if known is not None and known[:3] == (column, column.version, self.version):
            return known[3], known[4]
        exist = np.zeros(len(column.values.values) + 1, np.bool_)
        exist[column.ids[: nodes.count][self.rows]] = True
        exist = exist[:-1]
        self._domains[key] = (column, column.version, self.version, exist, int(np.count_nonzero(exist)))
        return self._domains[key][3:]


class TopologySums:
    """Pods by the values of one label, over all nodes or those of a mask.

    Attributes:
        by_value: int64 a value id of the label; one entry more, at the end, which index MISSING reads: pods on nodes
            without the label (or that the mask leaves out when they lack it).
        taken: which of these are not 0; never the one of MISSING.
        values_taken: how many.
    """

    __slots__ = (
        "_column",
        "_column_version",
        "_mask",
        "_mask_rows",
        "_mask_version",
        "by_value",
        "taken",
        "values_taken",
    )

    def __init__(self, mask: NodeMask | None) -> None:
        self.by_value: IntArray = np.zeros(1, np.int64)
        self.taken: BoolArray = np.zeros(1, np.bool_)
        self.values_taken = 0
        self._mask = mask
        self._mask_rows: BoolArray | None = None
        self._mask_version = _NEVER
        self._column: InternedColumn[str] | None = None
        self._column_version = _NEVER

    def is_current(self, column: InternedColumn[str]) -> bool:
        """Whether it still fits the label's values and the mask."""
        return (
            self._column is column
            and self._column_version == column.version
            and (self._mask is None or self._mask_version == self._mask.version)
        )

    def rebuild(self, column: InternedColumn[str], placed: Iterable[tuple[RowSums, int]]) -> None:
        """Count anew.

        Args:
            column: the label.
            placed: rows with their pods, and how much each pod counts.
        """
        self._column, self._column_version = column, column.version
        if self._mask is not None:
            self._mask_rows, self._mask_version = self._mask.rows, self._mask.version
        by_value = np.zeros(len(column.values.values) + 1, np.int64)
        for sums, weight in placed:
            rows = np.fromiter(sums.keys(), np.intp, len(sums))
            pods = np.fromiter(sums.values(), np.int64, len(sums)) * weight
            if self._mask_rows is not None:
                counting = self._mask_rows[rows]
                rows, pods = rows[counting], pods[counting]
            np.add.at(by_value, column.ids[rows], pods)
        self.by_value = by_value
        self.taken = by_value != 0
        self.taken[MISSING] = False
        self.values_taken = int(np.count_nonzero(self.taken))

    def add(self, row: int, amount: int) -> None:
        """So much more (or, negative, less) on a row. A version that is out of date is counted anew when next used."""
        column = self._column
        if column is None or self._column_version != column.version:
            return
        if self._mask_rows is not None and not (row < len(self._mask_rows) and self._mask_rows[row]):
            return
        value = column.ids.item(row)
        self.by_value[value] = pods = self.by_value.item(value) + amount
        if value != MISSING and (pods != 0) is not self.taken.item(value):
            self.taken[value] = pods != 0
            self.values_taken += 1 if pods else -1

"""Tentative placements: what the columns would say if some pods came or went."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final

from scheduler.core.framework.types import FloatArray, IntArray, PodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns, Sums
    from scheduler.core.cache.pod_counts import PodCounts

_ALL: Final = slice(None)


class Overlay:
    """Adds and removes pods on the columns for as long as the context lasts; leaving it rolls everything back.

    ::

        with snapshot.overlay() as overlay:
            overlay.remove_pod(row, victim)
            ...  # filters asked about this row see the node without it

    Only filters asked directly see it: verdicts that are kept belong to the snapshot itself, and nothing may be
    refreshed or kept while an overlay is open.
    """

    def __init__(self, nodes: NodeColumns, pod_counts: PodCounts) -> None:
        self._nodes = nodes
        self._pod_counts = pod_counts
        self._before: dict[int, Sums] = {}
        self._counted: list[tuple[int, PodInfo, int]] = []
        self._all_before: Sums | None = None

    def __enter__(self) -> Overlay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.rollback()

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Count the pod on the row's node."""
        self._change(row, pod, 1)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """Count the pod, which is on the row's node, no more."""
        self._change(row, pod, -1)

    def change_many(self, rows: RowIndex, pods: int | IntArray, amounts: Mapping[str, FloatArray]) -> None:
        """So many more pods (or, negative, fewer) and their requests on each of the rows, which are all different.

        Host ports, volumes, counters and scoring's defaults stay as they are.
        """
        if self._all_before is None:
            self._all_before = self._nodes.sums_of(_ALL)
        self._nodes.change_sums(rows, pods, amounts)

    def rollback(self) -> None:
        """Undo everything. Sums are put back and not counted back: those of absurd amounts are rounded."""
        if self._all_before is not None:
            self._nodes.restore_sums(_ALL, self._all_before)
            self._all_before = None
        for row, sums in self._before.items():
            self._nodes.restore_sums(row, sums)
        self._before.clear()
        while self._counted:
            row, pod, sign = self._counted.pop()
            self._pod_counts.count_pod(row, pod, -sign)
            self._nodes.uncount_named(row, pod, sign)

    def _change(self, row: int, pod: PodInfo, sign: int) -> None:
        if self._all_before is None and row not in self._before:
            self._before[row] = self._nodes.sums_of(row)
        self._nodes.count_pod(row, pod, sign)
        self._pod_counts.count_pod(row, pod, sign)
        self._counted.append((row, pod, sign))

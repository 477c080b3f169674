"""The pods of all nodes as arrays, for questions that are asked about many nodes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.core.cache.change_log import ChangeLog, changed_since
from scheduler.core.cache.columns import NO_PODS
from scheduler.core.framework.types import FloatArray, IntArray, PodInfo
from scheduler.core.preemption.victims import importance, start_of

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot

_FEWEST_SLOTS: Final = 8


class PodSlots:
    """A slot a pod, most important first, for every row; slots that are not taken come last.

    Attributes:
        priorities: int64, slots by rows; NO_PODS where there is none.
        starts: float64 epoch seconds, infinite for a pod that has not started.
        requested: float64 by resource; 0 where there is none.
    """

    def __init__(self) -> None:
        self.priorities: IntArray = np.full((_FEWEST_SLOTS, 0), NO_PODS, np.int64)
        self.starts: FloatArray = np.zeros((_FEWEST_SLOTS, 0))
        self.requested: dict[str, FloatArray] = {}
        self._positions = [-1, -1]

    def refresh(self, snapshot: Snapshot) -> None:
        """Catch up with the snapshot; the cost is proportional to the pods on the rows that changed."""
        changed = changed_since(logs_of_pods(snapshot), self._positions)
        self._reserve(snapshot.nodes.count, 0)
        for row in range(snapshot.nodes.count) if changed is None else changed:
            node = snapshot.node_info(row)
            self._write(row, [] if node is None else sorted(node.pods.values(), key=importance))

    def _write(self, row: int, pods: list[PodInfo]) -> None:
        self._reserve(row + 1, len(pods))
        self.priorities[:, row] = NO_PODS
        for column in self.requested.values():
            column[:, row] = 0
        for slot, pod in enumerate(pods):
            self.priorities[slot, row] = pod.priority
            self.starts[slot, row] = start_of(pod)
            for name, amount in pod.requests.amounts:
                if name not in self.requested:
                    self.requested[name] = np.zeros(self.priorities.shape)
                self.requested[name][slot, row] = amount

    def _reserve(self, rows: int, slots: int) -> None:
        old_slots, old_rows = self.priorities.shape
        if rows <= old_rows and slots <= old_slots:
            return
        shape = (old_slots if slots <= old_slots else max(slots, 2 * old_slots), max(rows, old_rows))
        priorities: IntArray = np.full(shape, NO_PODS, np.int64)
        priorities[:old_slots, :old_rows] = self.priorities
        self.priorities = priorities
        self.starts = _wider(self.starts, shape)
        self.requested = {name: _wider(column, shape) for name, column in self.requested.items()}


def logs_of_pods(snapshot: Snapshot) -> tuple[ChangeLog, ChangeLog]:
    """What tells that victims on a row may be others than before."""
    return snapshot.row_changes, snapshot.start_changes


def _wider(column: FloatArray, shape: tuple[int, int]) -> FloatArray:
    wider = np.zeros(shape)
    wider[: column.shape[0], : column.shape[1]] = column
    return wider

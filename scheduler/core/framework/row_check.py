"""A pod's filters, merged: the first one in the profile's order that rejects a node is the one that counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import FilterPlugin, Plugin, Rows
from scheduler.core.framework.outcome import FEASIBLE, Int8Array
from scheduler.core.framework.recorder import CycleRecorder
from scheduler.core.framework.types import IntArray, PodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.overlay import Overlay
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.evaluation import NodePart


@dataclass(slots=True)
class RowCheck:
    """One pod's filters, asked about one row at a time as the columns stand, overlays included.

    Attributes:
        part: the verdicts that depend on Node objects alone, caught up; None when `filter_plugins` are to find them.
        filter_plugins: those to ask that have something to say, each with its index in the profile's order.
        except_uid: a pod whose nomination does not count: the one that is tried itself. Kept results count them all.
        kept_by: what answers may be kept by, together with the level of nominated pods; None when they depend on more
            than the row.
    """

    recorder: CycleRecorder
    state: CycleState
    pod: PodInfo
    snapshot: Snapshot
    part: NodePart | None
    filter_plugins: Sequence[tuple[int, FilterPlugin]]
    except_uid: str
    kept_by: Hashable = None

    def rejection(self, row: int) -> tuple[int, int]:
        """`rejected_by` and verdict of a row."""
        nominated = self._nominated_on(self.snapshot.nodes.names[row])
        if nominated:
            with self.snapshot.overlay() as overlay:
                for other in nominated:
                    overlay.add_pod(row, other)
                answer = self._first_rejection(row)
            if answer[0] != FEASIBLE:
                return answer
        return self._first_rejection(row)

    def add_nominated(self, overlay: Overlay, rows: RowIndex) -> None:
        """Add every nominated pod that counts on one of the rows."""
        nominated = np.array(self.rows_with_nominated(), np.intp)
        for row in nominated[np.isin(nominated, rows)].tolist():
            for other in self._nominated_on(self.snapshot.nodes.names[row]):
                overlay.add_pod(row, other)

    def rejections(self, rows: RowIndex) -> tuple[Int8Array, IntArray]:
        """`rejected_by` and verdict of many rows as the columns stand, without a look at nominated pods."""
        part = self.part
        rejected_by: Int8Array = np.full(len(rows), FEASIBLE, np.int8) if part is None else part.rejected_by[rows]
        verdicts: IntArray = np.zeros(len(rows), np.int32) if part is None else part.verdicts[rows]
        merge_filters(
            self.recorder, self.filter_plugins, self.state, self.pod, self.snapshot, rows, rejected_by, verdicts
        )  # fmt: skip
        return rejected_by, verdicts

    def rows_to_ask_alone(self) -> set[int] | None:
        """Rows on which more counts of pods of lower priority, or of nominated ones, than sums; None for any row."""
        rows: set[int] = set()
        for _, plugin in self.filter_plugins:
            if not plugin.reads_sums_only:
                changed = plugin.rows_changed_by_removals(self.state, self.pod, self.snapshot)
                if changed is None:
                    return None
                rows.update(changed, self.rows_with_nominated())
        return rows

    def rows_with_nominated(self) -> list[int]:
        """Rows on which nominated pods count for the pod."""
        nominator = self.snapshot.nominator
        if nominator.level(self.pod.priority) is None:
            return []
        rows = (self.snapshot.nodes.row_of(name) for name in nominator.nodes() if self._nominated_on(name))
        return [row for row in rows if row is not None]

    def _nominated_on(self, node_name: str) -> list[PodInfo]:
        return [
            other
            for other in self.snapshot.nominator.on_node(node_name)
            if other.priority >= self.pod.priority and other.uid != self.except_uid
        ]

    def _first_rejection(self, row: int) -> tuple[int, int]:
        return first_rejection(
            self.recorder, self.filter_plugins, self.part, self.state, self.pod, self.snapshot, row
        )  # fmt: skip


def merge_filters(
    recorder: CycleRecorder,
    filters: Sequence[tuple[int, FilterPlugin]],
    state: CycleState,
    pod: PodInfo,
    snapshot: Snapshot,
    rows: Rows,
    rejected_by: Int8Array,
    verdicts: IntArray,
) -> None:
    """Let each filter reject rows that no filter before it in the profile's order rejects."""
    for index, plugin in filters:
        started = recorder.clock() if state.record_plugin_metrics else 0.0
        answer = plugin.filter(state, pod, snapshot, rows)
        plugin.filtered_rows += len(answer)
        rejected = answer != 0
        rejects = bool(rejected.any())
        if state.record_plugin_metrics:
            measure(recorder, plugin, "Filter", started, rejects=rejects)
        if rejects:
            first = rejected & (rejected_by > index)
            np.putmask(rejected_by, first, index)
            np.putmask(verdicts, first, answer)


def first_rejection(
    recorder: CycleRecorder,
    filters: Sequence[tuple[int, FilterPlugin]],
    part: NodePart | None,
    state: CycleState,
    pod: PodInfo,
    snapshot: Snapshot,
    row: int,
) -> tuple[int, int]:
    """`rejected_by` and verdict of a row as the columns stand: of the part, or of a filter before it in the order."""
    rejected_by, verdict = FEASIBLE, 0
    if part is not None:
        rejected_by, verdict = part.rejected_by.item(row), part.verdicts.item(row)
    measured = state.record_plugin_metrics
    for index, plugin in filters:
        if index > rejected_by:
            break
        started = recorder.clock() if measured else 0.0
        answer = plugin.filter_row(state, pod, snapshot, row)
        plugin.filtered_rows += 1
        if measured:
            measure(recorder, plugin, "Filter", started, rejects=answer != 0)
        if answer:
            return index, answer
    return rejected_by, verdict


def measure(
    recorder: CycleRecorder, plugin: Plugin, extension_point: str, started: float, *, rejects: bool = False
) -> None:
    """Tell the recorder how long a plugin took since `started`."""
    status = "Unschedulable" if rejects else "Success"
    recorder.plugin(plugin.name, extension_point, status, recorder.clock() - started)

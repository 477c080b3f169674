"""Every node's verdict and score for a pod, kept between pods that read alike.

Results about rows are kept in two layers, both keyed by plugin signatures and caught up only when used:

* `NodePart`: plugins whose answer depends on Node objects alone (taints, affinity, images ...). Placing pods does not
  touch it; all pods of an application, and most applications of a cluster, share a handful of them.
* `Whole`: a node part plus the plugins that look at what runs on a node (resources, ports). After a placement one
  row of it is out of date, and only for the pods that come to use it again.

Plugins that depend on the cluster are asked in every cycle on top of that.

Nominated pods of no lower priority count as if they were placed: on a node that has some, the filters must pass with
them, and then without them too, for a pod may depend on what is not there yet.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.core.framework.best_rows import BestRows
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import (
    MAX_NODE_SCORE,
    Depends,
    FilterPlugin,
    Normalize,
    Rows,
    ScorePlugin,
)
from scheduler.core.framework.kept_results import KeptResults
from scheduler.core.framework.outcome import (
    FEASIBLE,
    INFEASIBLE,
    NO_NODE,
    FullEvaluation,
    Int8Array,
    Outcome,
    ScorePart,
)
from scheduler.core.framework.recorder import CycleRecorder
from scheduler.core.framework.row_check import RowCheck, first_rejection, measure, merge_filters
from scheduler.core.framework.scoring import check_bounds, normalized
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.change_log import ChangeLog
    from scheduler.core.cache.snapshot import Snapshot

# Names of their own: to look a member up in its Enum takes longer than to use it.
_NODE: Final = Depends.NODE
_ROW: Final = Depends.ROW
_CLUSTER: Final = Depends.CLUSTER
_ROW_BY_ROW: Final = (_ROW, _CLUSTER)
_FEW_ROWS: Final = 8
"""Up to so many changed rows are asked about one by one, in plain integers."""


@dataclass(slots=True)
class _Kept:
    """A result and how far it has been caught up.

    Attributes:
        pod: the one it was made for, held so that identities in the key stay taken. Rows are asked about again for the
            pod that uses the result: a signature may read the snapshot, and so have become another for this one.
        position: of the log of changed rows.
    """

    pod: PodInfo
    rejected_by: Int8Array
    verdicts: IntArray
    scores: IntArray
    position: int

    @property
    def size_bytes(self) -> int:
        """About what it takes of memory."""
        return self.rejected_by.nbytes + self.verdicts.nbytes + self.scores.nbytes


@dataclass(slots=True)
class NodePart(_Kept):
    """Verdicts and scores that depend on Node objects alone.

    Attributes:
        scores: int64 a row: weighted scores of plugins that need no normalising.
        raw: raw scores of the others.
        ranking: those of `raw` that are not zero everywhere: the others rank nothing.
    """

    raw: list[tuple[ScorePart, IntArray]] = field(default_factory=list)
    ranking: list[tuple[ScorePart, IntArray]] = field(default_factory=list)


@dataclass(slots=True)
class Whole(_Kept):
    """A node part with what pods on the nodes add; `scores` are totals, INFEASIBLE where a plugin rejects.

    Attributes:
        filter_plugins, score_plugins: those that have something to say about the pods it serves.
        feasible: number of feasible rows.
        best: the rows with the highest total.
    """

    part: NodePart
    filter_plugins: list[tuple[int, FilterPlugin]]
    score_plugins: list[ScorePart]
    feasible: int = 0
    best: BestRows = field(default_factory=BestRows)


class RowEvaluations:
    """Filters and scores pods for one profile. Used by the profile's framework within a cycle.

    Args:
        filters: all filter plugins in the profile's order; an index into it is what `rejected_by` holds.
        scores: all score plugins with their weights.
        recorder: told how long each plugin took, in cycles that are measured.
        limit_bytes: bound of each layer's memory.
    """

    def __init__(
        self,
        filters: Sequence[FilterPlugin],
        scores: Sequence[ScorePart],
        recorder: CycleRecorder,
        limit_bytes: int = 96 * 1024 * 1024,
    ) -> None:
        self._recorder = recorder
        self._filters = tuple(enumerate(filters))
        self._scores = tuple(scores)
        self._filters_by = {d: tuple(f for f in self._filters if f[1].depends is d) for d in Depends}
        self._scores_by = {d: tuple(s for s in self._scores if scored_by(s.plugin) is d) for d in Depends}
        self._signatures_by = {
            d: (
                *(plugin.filter_signature for _, plugin in self._filters_by[d]),
                *(s.plugin.score_signature for s in self._scores_by[d]),
            )
            for d in Depends
        }
        self._parts: KeptResults[Hashable, NodePart] = KeptResults(limit_bytes)
        self._wholes: KeptResults[Hashable, Whole] = KeptResults(limit_bytes)

    # --- a cycle's questions

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, skipped: frozenset[str]) -> Outcome:
        """Verdicts of every row; the totals lack what depends on the cluster or needs normalising (`score` adds it).

        `skipped` names plugins whose PreFilter said SKIP.
        """
        whole = self._whole(state, pod, snapshot)
        outcome = Outcome(
            slice(0, snapshot.nodes.count),
            whole.rejected_by,
            whole.verdicts,
            whole.scores,
            whole.feasible,
            whole.part.ranking,
            whole.best,
        )
        asked = [f for f in self._filters_by[_CLUSTER] if f[1].name not in skipped]
        active = self._active(asked, pod, snapshot)
        if active:
            outcome.rejected_by = outcome.rejected_by.copy()
            outcome.verdicts = outcome.verdicts.copy()
            merge_filters(
                self._recorder, active, state, pod, snapshot, outcome.rows, outcome.rejected_by, outcome.verdicts
            )
            if snapshot.nominator.level(pod.priority) is not None:
                check = self.row_check(state, pod, snapshot, skipped)
                self._count_nominated(check, outcome.rows, outcome.rejected_by, outcome.verdicts)
            feasible = outcome.rejected_by == FEASIBLE
            outcome.feasible = int(np.count_nonzero(feasible))
            if outcome.feasible < whole.feasible:
                outcome.among = feasible
        return outcome

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, outcome: Outcome) -> None:
        """Add to the outcome's totals what `filter` left out, over the feasible nodes."""
        raw = list(outcome.raw_of_nodes)
        cluster = [s for s in self._scores_by[_CLUSTER] if s.plugin.score_signature(pod, snapshot) is not None]
        if not raw and not cluster:
            return
        feasible = outcome.scores >= 0 if outcome.among is None else outcome.among
        raw.extend((s, self._score(s, state, pod, snapshot, outcome.rows, feasible)) for s in cluster)
        totals = outcome.scores.copy()
        for s, values in raw:
            totals += s.weight * normalized(s.plugin, state, values, feasible)
        outcome.totals = totals if outcome.feasible == len(totals) else np.where(feasible, totals, INFEASIBLE)

    def evaluate_rows(
        self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, skipped: frozenset[str] = frozenset()
    ) -> FullEvaluation:
        """Every plugin asked about `rows`, nothing kept: narrowed pods, checks after a wait, conformance, explain.

        `skipped` names plugins whose PreFilter said SKIP.
        """
        length = len(snapshot.nodes.exists[rows])
        rejected_by = np.full(length, FEASIBLE, np.int8)
        verdicts = np.zeros(length, np.int32)
        rejected_by[~snapshot.nodes.exists[rows]] = NO_NODE
        asked = self._active(self._filters, pod, snapshot)
        active = [f for f in asked if f[1].name not in skipped]
        merge_filters(self._recorder, active, state, pod, snapshot, rows, rejected_by, verdicts)
        check = RowCheck(self._recorder, state, pod, snapshot, None, active, pod.uid)
        self._count_nominated(check, rows, rejected_by, verdicts)
        feasible = rejected_by == FEASIBLE
        raw: dict[str, IntArray] = {}
        weighted: dict[str, IntArray] = {}
        totals = np.zeros(length, np.int64)
        for s in self._scores:
            if s.plugin.score_signature(pod, snapshot) is None:
                continue
            values = self._score(s, state, pod, snapshot, rows, feasible)
            raw[s.plugin.name] = values
            weighted[s.plugin.name] = s.weight * normalized(s.plugin, state, values, feasible)
            totals += weighted[s.plugin.name]
        return FullEvaluation(
            rows,
            rejected_by,
            verdicts,
            np.where(feasible, totals, INFEASIBLE),
            int(np.count_nonzero(feasible)),
            raw=raw,
            weighted=weighted,
        )

    def row_check(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, skipped: frozenset[str]) -> RowCheck:
        """The pod's filters, to be asked about single rows; `skipped` names plugins whose PreFilter said SKIP."""
        part_key = self._signatures(pod, snapshot, _NODE)
        part = self._part(state, pod, snapshot, part_key)
        filters = [f for depends in _ROW_BY_ROW for f in self._active(self._filters_by[depends], pod, snapshot)]
        active = sorted((f for f in filters if f[1].name not in skipped), key=itemgetter(0))
        depends_on_cluster = any(plugin.depends is _CLUSTER for _, plugin in active)
        kept_by = None if depends_on_cluster else (part_key, self._signatures(pod, snapshot, _ROW))
        return RowCheck(self._recorder, state, pod, snapshot, part, active, pod.uid, kept_by)

    # --- kept layers

    def _signatures(self, pod: PodInfo, snapshot: Snapshot, depends: Depends) -> tuple[Hashable, ...]:
        return tuple([signature(pod, snapshot) for signature in self._signatures_by[depends]])

    def _part(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, key: Hashable) -> NodePart:
        part = self._parts.get(key)
        if part is None or len(part.rejected_by) != snapshot.nodes.count:
            part = NodePart(pod, *_empty(snapshot), position=-1)
            part.raw = [
                (s, np.zeros(snapshot.nodes.count, np.int64))
                for s in self._scores_by[_NODE]
                if s.plugin.normalization is not Normalize.NONE and s.plugin.score_signature(pod, snapshot) is not None
            ]
            self._parts.put(key, part)
        rows = _outdated(part, snapshot.node_changes)
        if rows is not None:
            self._catch_up_part(part, state, pod, snapshot, _as_index(rows))
            part.position = snapshot.node_changes.end
        return part

    def _catch_up_part(self, part: NodePart, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> None:
        rejected_by = np.where(snapshot.nodes.exists[rows], FEASIBLE, NO_NODE).astype(np.int8)
        verdicts = np.zeros(len(rejected_by), np.int32)
        merge_filters(
            self._recorder,
            self._active(self._filters_by[_NODE], pod, snapshot),
            state, pod, snapshot, rows, rejected_by, verdicts,
        )  # fmt: skip
        feasible = rejected_by == FEASIBLE
        scores = np.zeros(len(rejected_by), np.int64)
        for s in self._scores_by[_NODE]:
            if s.plugin.normalization is Normalize.NONE and s.plugin.score_signature(pod, snapshot) is not None:
                scores += self._final_score(s, state, pod, snapshot, rows, feasible)
        for s, values in part.raw:
            values[rows] = self._score(s, state, pod, snapshot, rows, feasible)
        part.ranking = [(s, values) for s, values in part.raw if values.any()]
        part.rejected_by[rows] = rejected_by
        part.verdicts[rows] = verdicts
        part.scores[rows] = scores

    def _whole(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> Whole:
        part_key = self._signatures(pod, snapshot, _NODE)
        part = self._part(state, pod, snapshot, part_key)
        # Pods of one level see the same nominated pods.
        level = snapshot.nominator.level(pod.priority)
        key = (part_key, self._signatures(pod, snapshot, _ROW), level)
        whole = self._wholes.get(key)
        if whole is None or whole.part is not part:
            scores = [s for s in self._scores_by[_ROW] if s.plugin.score_signature(pod, snapshot) is not None]
            filters = self._active(self._filters_by[_ROW], pod, snapshot)
            whole = Whole(pod, *_empty(snapshot), position=-1, part=part, filter_plugins=filters, score_plugins=scores)
            self._wholes.put(key, whole)
        rows = _outdated(whole, snapshot.row_changes)
        if rows is not None:
            if isinstance(rows, slice) or len(rows) > _FEW_ROWS:
                self._catch_up_whole(whole, state, pod, snapshot, _as_index(rows))
            else:
                for row in rows:
                    self._catch_up_row(whole, state, pod, snapshot, row)
            whole.position = snapshot.row_changes.end
        return whole

    def _catch_up_whole(self, whole: Whole, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> None:
        rejected_by = whole.part.rejected_by[rows].copy()
        verdicts = whole.part.verdicts[rows].copy()
        merge_filters(self._recorder, whole.filter_plugins, state, pod, snapshot, rows, rejected_by, verdicts)
        check = RowCheck(self._recorder, state, pod, snapshot, whole.part, whole.filter_plugins, "")
        self._count_nominated(check, rows, rejected_by, verdicts)
        feasible = rejected_by == FEASIBLE
        scores = whole.part.scores[rows].copy()
        for s in whole.score_plugins:
            scores += self._final_score(s, state, pod, snapshot, rows, feasible)
        if not feasible.all():
            scores[~feasible] = INFEASIBLE
        if isinstance(rows, slice):
            whole.rejected_by, whole.verdicts, whole.scores = rejected_by, verdicts, scores
        else:
            whole.rejected_by[rows] = rejected_by
            whole.verdicts[rows] = verdicts
            whole.scores[rows] = scores
        whole.feasible = int(np.count_nonzero(whole.rejected_by == FEASIBLE))
        whole.best.forget()

    def _catch_up_row(self, whole: Whole, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> None:
        part, filters = whole.part, whole.filter_plugins
        if snapshot.nominator.level(pod.priority) is None:
            rejected_by, verdict = first_rejection(self._recorder, filters, part, state, pod, snapshot, row)
        else:
            rejected_by, verdict = RowCheck(self._recorder, state, pod, snapshot, part, filters, "").rejection(row)
        score = INFEASIBLE
        if rejected_by == FEASIBLE:
            score = part.scores.item(row)
            for s in whole.score_plugins:
                started = self._recorder.clock() if state.record_plugin_metrics else 0.0
                points = s.plugin.score_row(state, pod, snapshot, row)
                s.plugin.scored_rows += 1
                if not 0 <= points <= MAX_NODE_SCORE:
                    check_bounds(s.plugin, np.array([points]), np.ones(1, np.bool_))
                score += s.weight * points
                if state.record_plugin_metrics:
                    measure(self._recorder, s.plugin, "Score", started)
        whole.feasible += (rejected_by == FEASIBLE) - (whole.rejected_by.item(row) == FEASIBLE)
        whole.rejected_by[row] = rejected_by
        whole.verdicts[row] = verdict
        whole.best.note(row, whole.scores.item(row), score)
        whole.scores[row] = score

    def _score(
        self, part: ScorePart, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray
    ) -> IntArray:
        started = self._recorder.clock() if state.record_plugin_metrics else 0.0
        scores = part.plugin.score(state, pod, snapshot, rows, feasible)
        part.plugin.scored_rows += len(scores)
        if state.record_plugin_metrics:
            measure(self._recorder, part.plugin, "Score", started)
        return scores

    def _final_score(
        self, part: ScorePart, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray
    ) -> IntArray:
        """Weighted scores of a plugin that needs no normalising."""
        scores = self._score(part, state, pod, snapshot, rows, feasible)
        check_bounds(part.plugin, scores, feasible)
        return scores if part.weight == 1 else part.weight * scores

    @staticmethod
    def _active(
        filters: Sequence[tuple[int, FilterPlugin]], pod: PodInfo, snapshot: Snapshot
    ) -> list[tuple[int, FilterPlugin]]:
        return [f for f in filters if f[1].filter_signature(pod, snapshot) is not None]

    def _count_nominated(self, check: RowCheck, rows: Rows, rejected_by: Int8Array, verdicts: IntArray) -> None:
        """Correct the verdicts of those `rows` on which nominated pods count."""
        for row in check.rows_with_nominated():
            if isinstance(rows, slice):
                rejected_by[row], verdicts[row] = check.rejection(row)
            else:
                for position in np.flatnonzero(rows == row).tolist():
                    rejected_by[position], verdicts[position] = check.rejection(row)


def scored_by(plugin: ScorePlugin) -> Depends:
    """What a plugin's part in the totals depends on.

    Scores that change with a placement and are normalised change for every node with it: nothing can be kept of them.
    """
    kept = plugin.depends is not _ROW or plugin.normalization is Normalize.NONE
    return plugin.depends if kept else _CLUSTER


def _empty(snapshot: Snapshot) -> tuple[Int8Array, IntArray, IntArray]:
    count = snapshot.nodes.count
    return np.full(count, NO_NODE, np.int8), np.zeros(count, np.int32), np.zeros(count, np.int64)


def _as_index(rows: slice | list[int]) -> Rows:
    return rows if isinstance(rows, slice) else np.array(rows, np.intp)


def _outdated(kept: _Kept, log: ChangeLog) -> slice | list[int] | None:
    """Rows to ask about again; None when the entry is up to date."""
    if kept.position == log.end:
        return None
    rows = None if kept.position < 0 else log.since(kept.position)
    if rows is None or len(rows) > len(kept.rejected_by) // 2:
        return slice(0, len(kept.rejected_by))
    return rows

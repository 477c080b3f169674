"""What preemption would do on each node, and which node it is done on.

A dry run of a node (`select_victims_on_node`) is kept for pods that read alike and have one priority, and made again
only when the node, its pods or the pods nominated to it change: of a thousand equal preemptors only the first one pays
for all nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.core.cache.change_log import changed_since
from scheduler.core.framework.diagnosis import NodeVerdicts, counted
from scheduler.core.framework.kept_results import Remembered
from scheduler.core.framework.outcome import FEASIBLE, Int8Array
from scheduler.core.framework.row_check import RowCheck
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray, PodInfo, RowIndex
from scheduler.core.preemption.pick_node import pick_one_node_for_preemption
from scheduler.core.preemption.pod_slots import PodSlots, logs_of_pods
from scheduler.core.preemption.victims import (
    NOTHING_TO_REMOVE,
    PRIORITY_SHIFT,
    ManyVictims,
    Rejection,
    earliest_start,
    priority_sum,
    select_victims_on_node,
    select_victims_on_nodes,
)

if TYPE_CHECKING:
    from scheduler.config.plugin_args import DefaultPreemptionArgs
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.interface import FailedAttempt

NO_VICTIMS_FOUND: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"

_NO_VICTIMS: Final = np.iinfo(np.int64).min
_KEPT: Final = 32


@dataclass(slots=True)
class DryRuns:
    """The dry runs of all nodes for one kind of preemptor; arrays have an entry a row.

    Attributes:
        pod: the one they were made for first, held so that identities in the key stay taken.
        positions: of the logs of changed rows, and of rows with pods that began to run.
        known: whether the row's entries are of the node as it is now.
        rejected_by: FEASIBLE where removing `victims` makes room; else as `select_victims_on_node` says.
        verdicts: the verdict of the filter in `rejected_by`.
        highest_priority: of the victims; the least number there is without any.
        priority_sums: Σ (priority + 2^31) of the victims.
        victim_counts: how many.
        latest_start: the negative of when the first of the most important victims started (epoch seconds).
        victims: by row, most important first; only of rows that were tried one by one or asked for.
    """

    pod: PodInfo
    positions: list[int]
    known: BoolArray
    rejected_by: Int8Array
    verdicts: IntArray
    highest_priority: IntArray
    priority_sums: IntArray
    victim_counts: IntArray
    latest_start: FloatArray
    victims: dict[int, tuple[PodInfo, ...]]

    @classmethod
    def empty(cls, pod: PodInfo, snapshot: Snapshot) -> DryRuns:
        """Nothing is known yet."""
        count = snapshot.nodes.count
        return cls(
            pod,
            [log.end for log in logs_of_pods(snapshot)],
            np.zeros(count, np.bool_),
            np.zeros(count, np.int8),
            np.zeros(count, np.int32),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.float64),
            {},
        )

    def forget_changed(self, snapshot: Snapshot) -> None:
        """Rows that changed since the last time are unknown again."""
        changed = changed_since(logs_of_pods(snapshot), self.positions)
        if changed is None:
            self.known[:] = False
        elif changed:
            self.known[changed] = False

    def write(self, row: int, answer: tuple[PodInfo, ...] | Rejection) -> None:
        """Take a row's dry run."""
        self.known[row] = True
        if isinstance(answer, Rejection):
            self.rejected_by[row], self.verdicts[row] = answer
            self.victims.pop(row, None)
            return
        self.rejected_by[row] = FEASIBLE
        self.victims[row] = answer
        self.highest_priority[row] = answer[0].priority if answer else _NO_VICTIMS
        self.priority_sums[row] = priority_sum(answer)
        self.victim_counts[row] = len(answer)
        self.latest_start[row] = -earliest_start(answer)

    def write_many_rejected(self, rows: RowIndex) -> None:
        """Take rows without a pod of lower priority."""
        self.known[rows] = True
        self.rejected_by[rows] = NOTHING_TO_REMOVE

    def write_many(self, rows: RowIndex, answer: ManyVictims, slots: PodSlots) -> None:
        """Take the dry runs of many rows."""
        self.known[rows] = True
        self.rejected_by[rows], self.verdicts[rows] = answer.rejected_by, answer.verdicts
        chosen, counts = answer.chosen, answer.chosen.sum(axis=0)
        priorities = np.where(chosen, slots.priorities[:, rows], _NO_VICTIMS)
        highest = priorities.max(axis=0)
        of_highest = chosen & (priorities == highest)
        self.highest_priority[rows] = highest
        self.priority_sums[rows] = np.where(chosen, priorities, 0).sum(axis=0) + counts * PRIORITY_SHIFT
        self.victim_counts[rows] = counts
        self.latest_start[rows] = -np.where(of_highest, slots.starts[:, rows], np.inf).min(axis=0)
        for row in self.victims.keys() & set(rows.tolist()):
            del self.victims[row]

    def victims_on(self, row: int, check: RowCheck) -> tuple[PodInfo, ...]:
        """The victims on a row where preemption makes room, most important first; `check` is a preemptor's."""
        victims = self.victims.get(row)
        if victims is None:
            node = check.snapshot.node_info(row)
            assert node is not None
            answer = select_victims_on_node(check, node)
            assert not isinstance(answer, Rejection)
            victims = self.victims[row] = answer
        return victims


@dataclass(frozen=True, slots=True)
class Candidates:
    """The nodes looked at for one preemptor.

    Attributes:
        looked_at: rows with a dry run.
        rows: those of them where preemption makes room.
    """

    runs: DryRuns
    looked_at: RowIndex
    rows: RowIndex

    def best(self) -> RowIndex:
        """The rows with the least harm, lowest first; several when nothing tells them apart.

        A node that needs no victims; the lowest priority of the highest victim; the smallest Σ (priority + 2^31); the
        fewest victims; the latest start of the one that started first among the highest. Kubernetes 1.8 had neither the
        shift by 2^31 nor the start times.
        """
        runs = self.runs
        criteria = (runs.highest_priority, runs.priority_sums, runs.victim_counts, runs.latest_start)
        return pick_one_node_for_preemption(self.rows, criteria)


class Evaluator:
    """Dry runs of one profile's preemptors. Used by DefaultPreemption within a cycle.

    Args:
        few_nodes: up to so many nodes are tried one by one, in plain integers; more of them at once, where the filters
            allow it.
    """

    def __init__(self, args: DefaultPreemptionArgs, few_nodes: int = 8) -> None:
        self._args = args
        self._few_nodes = few_nodes
        self._kept: Remembered[Hashable, DryRuns] = Remembered(_KEPT)
        self._slots = PodSlots()

    def candidates(self, attempt: FailedAttempt) -> Candidates:
        """A dry run of each node where preemption may help, or of as many as the args say."""
        runs = self._runs(attempt)
        rows = attempt.rows
        wanted = self._wanted(len(rows))
        if wanted < len(rows):
            # From a random node on, so that a limited search does not always begin with the same ones.
            begin = attempt.rng.randrange(len(rows))
            rows = self._first_found(attempt, runs, np.roll(rows, -begin), wanted)
        else:
            self._run(attempt, runs, rows)
        return Candidates(runs, rows, np.sort(rows[runs.rejected_by[rows] == FEASIBLE]))

    def _runs(self, attempt: FailedAttempt) -> DryRuns:
        pod, snapshot, kept_by = attempt.pod, attempt.snapshot, attempt.check.kept_by
        if kept_by is None:
            return DryRuns.empty(pod, snapshot)
        key = (kept_by, pod.priority)
        runs = self._kept.get(key)
        if runs is None or len(runs.known) != snapshot.nodes.count:
            runs = self._kept.remember(key, DryRuns.empty(pod, snapshot))
        self._kept.move_to_end(key)
        runs.forget_changed(snapshot)
        return runs

    def _run(self, attempt: FailedAttempt, runs: DryRuns, rows: RowIndex) -> None:
        check, snapshot = attempt.check, attempt.snapshot
        rows = rows[~runs.known[rows]]
        removable = snapshot.nodes.lowest_priority[rows] < attempt.pod.priority
        runs.write_many_rejected(rows[~removable])
        rows = rows[removable]
        alone = check.rows_to_ask_alone() if len(rows) > self._few_nodes else None
        if alone is not None:
            together = rows if not alone else rows[~np.isin(rows, list(alone))]
            if len(together) > self._few_nodes:
                self._slots.refresh(snapshot)
                runs.write_many(together, select_victims_on_nodes(check, together, self._slots), self._slots)
                rows = rows[~runs.known[rows]]
        for row in rows.tolist():
            node = snapshot.node_info(row)
            if node is not None:
                runs.write(row, select_victims_on_node(check, node))

    def _first_found(self, attempt: FailedAttempt, runs: DryRuns, rows: RowIndex, wanted: int) -> RowIndex:
        """`rows` up to the one with which there are as many candidates as wanted."""
        found = 0
        for position in range(len(rows)):
            self._run(attempt, runs, rows[position : position + 1])
            found += int(runs.rejected_by[rows[position]] == FEASIBLE)
            if found >= wanted:
                return rows[: position + 1]
        return rows

    def _wanted(self, potential: int) -> int:
        """How many candidates are to be found: max(percentage, absolute) as kube-scheduler says, 1 at least, or all."""
        args = self._args
        if args.min_candidate_nodes_percentage is None or args.min_candidate_nodes_absolute is None:
            return potential
        share = potential * args.min_candidate_nodes_percentage // 100
        return min(potential, max(share, args.min_candidate_nodes_absolute, 1))


def nothing_found_message(attempt: FailedAttempt, candidates: Candidates) -> str:
    """Why preemption makes no room anywhere, as kube-scheduler writes it: nodes by what stands against them."""
    nodes = attempt.snapshot.nodes.existing
    runs, rows = candidates.runs, candidates.looked_at
    stopped_by = runs.rejected_by[rows]
    reasons = Counter({NOT_HELPFUL: nodes - len(rows), NO_VICTIMS_FOUND: int(np.sum(stopped_by == NOTHING_TO_REMOVE))})
    rejected = rows[stopped_by >= 0]
    verdicts = NodeVerdicts(
        attempt.pod, (), None, runs.rejected_by[rejected], runs.verdicts[rejected], attempt.filters
    )  # fmt: skip
    reasons.update(verdicts.reason_counts())
    return f"0/{nodes} nodes are available:{counted(+reasons)}"

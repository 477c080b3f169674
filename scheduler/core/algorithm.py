"""ScheduleAlgorithm: from a pod and a snapshot to a decision.

A decision is a resumable machine: `schedule` is a generator that yields a `CycleRequest` when it needs an answer from
outside the core and is resumed with it, so that other pods go on meanwhile. Where nothing needs to be asked, `decide`
is one call.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.best_rows import Rng
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.diagnosis import Diagnosis, NodeVerdicts, left_out_status
from scheduler.core.framework.interface import FailedAttempt, Rows
from scheduler.core.framework.node_sampling import NodeSampling
from scheduler.core.framework.outcome import FEASIBLE, FullEvaluation, Outcome
from scheduler.core.framework.recorder import CycleRecorder, SilentRecorder
from scheduler.core.framework.requests import CycleRequest, PreemptionPlan
from scheduler.core.framework.runtime import Framework, PreFilterOutcome
from scheduler.core.framework.score_shares import score_shares
from scheduler.core.framework.status import Code
from scheduler.core.framework.types import PodInfo, RowIndex


@dataclass(slots=True)
class Decision:
    """What one attempt came to. A value of its own: it shares nothing with the live columns.

    Attributes:
        node_name: the chosen node; None when the pod fits nowhere, `diagnosis` then says why.
        feasible: number of nodes that pass all filters; where the profile wants a sample, at most its size.
        evaluated: number of nodes that were looked at.
        verdicts: each node's verdict; None if no node was looked at.
        skipped: plugins whose Filter had nothing to do.
        clears_nomination: whether the pod's nomination from before is void.
        profile_generation: of the configuration the decision was made with.
    """

    pod: PodInfo
    profile_name: str
    profile_generation: int
    node_name: str | None = None
    feasible: int = 0
    evaluated: int = 0
    verdicts: NodeVerdicts | None = None
    skipped: frozenset[str] = frozenset()
    clears_nomination: bool = False
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A node chosen among several feasible ones. Valid only while its observer is told: it reads the live columns.

    Attributes:
        outcome: filtered and scored.
        position: of the chosen node in the outcome's arrays.
    """

    framework: Framework
    snapshot: Snapshot
    state: CycleState
    pod: PodInfo
    outcome: Outcome
    position: int

    def node_name(self, position: int) -> str:
        """The node at a position of the outcome's arrays."""
        return self.snapshot.nodes.names[self.outcome.row(position)]

    def shares(self, positions: RowIndex) -> dict[str, list[int]]:
        """What each plugin gave to the feasible nodes at these positions; see `score_shares`."""
        return score_shares(self.framework.scores, self.state, self.pod, self.snapshot, self.outcome, positions)


class CycleObserver(Protocol):
    """Hears of each attempt as it is made. Explains, changes nothing."""

    def chosen(self, choice: Choice) -> None:
        """A node was chosen among several feasible ones."""

    def decided(self, decision: Decision, plan: PreemptionPlan | None) -> None:
        """The attempt has come to its end; `plan` if it fits nowhere and room can be made."""


class _Nominated(NamedTuple):
    """The verdict about the node that a pod is nominated to; the last two as in `Outcome`."""

    row: int
    rejected_by: int
    verdict: int

    def is_among(self, rows: Rows) -> bool:
        """Whether the rows that were asked about include it."""
        return isinstance(rows, slice) or self.row in rows


Steps: TypeAlias = "Generator[CycleRequest, object, Decision]"


class ScheduleAlgorithm:
    """Schedules pods of one profile on a snapshot. Cheap to make; one for the life of the profile.

    `sampling` is where profiles that work on the same nodes remember how far their samples came.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        framework: Framework,
        rng: Rng,
        recorder: CycleRecorder | None = None,
        sampling: NodeSampling | None = None,
        observer: CycleObserver | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._framework = framework
        self._rng = rng
        self._recorder = recorder or SilentRecorder()
        self._sampling = sampling or NodeSampling()
        self._observer = observer

    def predicates(self) -> tuple[str, ...]:
        """Names of the active filter plugins, in order."""
        return tuple(plugin.name for plugin in self._framework.filters)

    def prioritizers(self) -> dict[str, int]:
        """Weights of the active score plugins, by name."""
        return {part.plugin.name: part.weight for part in self._framework.scores}

    def schedule(self, state: CycleState, pod: PodInfo) -> Steps:
        """One attempt: refresh, PreFilter, Filter, Score, select host. Returns a Decision, with or without a node.

        Raises:
            PluginError: a plugin broke its contract.
            Exception: whatever a plugin raises; the caller counts it, logs it with the pod and retries.
        """
        snapshot, framework = self._snapshot, self._framework
        # 1. Bring the columns up to date.
        snapshot.refresh()
        decision = Decision(pod, framework.profile_name, framework.generation)
        if not snapshot.nodes.existing:
            decision.diagnosis = Diagnosis(0)
            return decision
        # 2. PreFilter: may end the attempt or narrow the nodes.
        narrowed = framework.pre_filter(state, pod, snapshot)
        if narrowed.status is not None:
            decision.diagnosis = _rejected_before_filter(snapshot, narrowed)
            return decision
        decision.skipped = narrowed.skipped
        # 3. Filter: the node the pod is nominated to alone; if that is none any more, all nodes.
        started = self._recorder.clock()
        nominated = self._nominated(state, pod, narrowed)
        if nominated is not None and nominated.rejected_by == FEASIBLE:
            self._record("Filter", "Success", started)
            decision.feasible = decision.evaluated = 1
            decision.node_name = snapshot.nodes.names[nominated.row]
            return decision
        outcome = self._filter(state, pod, narrowed)
        if nominated is not None and nominated.is_among(outcome.rows):
            outcome.correct(*nominated)
        decision.verdicts = self._verdicts(pod, outcome, narrowed, nominated)
        if narrowed.node_names is None:
            decision.evaluated = self._sampling.reduce(snapshot, outcome, framework.percentage_of_nodes_to_score)
        else:
            decision.evaluated = len(decision.verdicts.rejected_by)
        feasible = decision.feasible = outcome.feasible
        self._record("Filter", "Success" if feasible else "Unschedulable", started)
        if not feasible:
            decision.diagnosis = self._diagnosis(decision.verdicts, decision.evaluated)
            return decision
        # Whoever outside the core has a say about the feasible nodes is asked here.
        yield from ()
        # 4. Score, unless there is nothing to choose.
        if feasible > 1 and not isinstance(outcome, FullEvaluation):
            started = self._recorder.clock()
            framework.evaluations.score(state, pod, snapshot, outcome)
            self._record("Score", "Success", started)
        # 5. Select the host.
        position = outcome.draw(self._rng)
        decision.node_name = snapshot.nodes.names[outcome.row(position)]
        if self._observer is not None and feasible > 1:
            self._observer.chosen(Choice(framework, snapshot, state, pod, outcome, position))
        return decision

    def evaluate(self, state: CycleState, pod: PodInfo) -> tuple[PreFilterOutcome, FullEvaluation | None]:
        """Every node's verdict and every plugin's scores, even where `schedule` would stop early; refreshes first.

        Nodes that PreFilter left out are not among the rows: the others are scored among themselves. None where
        PreFilter rejects the pod.
        """
        self._snapshot.refresh()
        narrowed = self._framework.pre_filter(state, pod, self._snapshot)
        if narrowed.status is not None:
            return narrowed, None
        return narrowed, self._evaluate(state, pod, narrowed, self._rows(narrowed))

    def fits(self, state: CycleState, pod: PodInfo, node_name: str) -> bool:
        """Whether the node passes all filters as things are now; asked after a wait, before the pod is assumed."""
        self._snapshot.refresh()
        row = self._snapshot.nodes.row_of(node_name)
        narrowed = self._framework.pre_filter(state, pod, self._snapshot)
        if row is None or narrowed.status is not None:
            return False
        if narrowed.node_names is not None and node_name not in narrowed.node_names:
            return False
        return self._evaluate(state, pod, narrowed, np.array([row], np.intp)).feasible == 1

    def preempt(self, state: CycleState, decision: Decision) -> Iterator[PreemptionPlan]:
        """PostFilter: make room for a pod that fits nowhere. Called right after `schedule`, on the same snapshot.

        Yields a plan if room was found. By then the pod is nominated in memory, and lower nominations to the node are
        withdrawn. The diagnosis says what the pod waits for, the decision whether a nomination from before is void.

        Raises:
            Exception: as `schedule`.
        """
        diagnosis, nominator = decision.diagnosis, self._snapshot.nominator
        assert diagnosis is not None
        if not self._framework.has_post_filter or not diagnosis.nodes:
            return
        started = self._recorder.clock()
        result = self._framework.post_filter(self.failed_attempt(state, decision))
        self._record("PostFilter", "Success" if result.status is None else result.status.code.label, started)
        diagnosis.post_filter_message = result.message
        decision.clears_nomination = result.clears_nomination
        pod, node_name = decision.pod, result.node_name
        if node_name is None:
            return
        withdrawn = tuple(other for other in nominator.on_node(node_name) if other.priority < pod.priority)
        for other in withdrawn:
            nominator.remove(other.uid)
        nominator.add(pod, node_name)
        yield PreemptionPlan(pod, node_name, result.victims, withdrawn)

    def failed_attempt(self, state: CycleState, decision: Decision) -> FailedAttempt:
        """What PostFilter plugins get of a decision without a node, on the snapshot it was made on."""
        pod, snapshot, framework = decision.pod, self._snapshot, self._framework
        check = framework.evaluations.row_check(state, pod, snapshot, decision.skipped)
        rows = self._resolvable_rows(decision)
        return FailedAttempt(state, pod, snapshot, check, rows, framework.filters, self._rng, self._recorder)

    def _resolvable_rows(self, decision: Decision) -> RowIndex:
        """Rows on which removing pods may help: those whose rejection is not unresolvable."""
        assert decision.diagnosis is not None
        verdicts, rejection = decision.verdicts, decision.diagnosis.rejection
        if verdicts is None:
            may_help = rejection is not None and rejection.code is Code.UNSCHEDULABLE
            return np.flatnonzero(self._snapshot.nodes.exists) if may_help else np.zeros(0, np.intp)
        positions = np.flatnonzero((verdicts.rejected_by != FEASIBLE) & (verdicts.verdicts > 0))
        return positions if verdicts.rows is None else np.array(verdicts.rows, np.intp)[positions]

    def _nominated(self, state: CycleState, pod: PodInfo, narrowed: PreFilterOutcome) -> _Nominated | None:
        """The verdict about the node that the pod is nominated to; None without such a node.

        A node that PreFilter left out is asked, too, for what is told of it; it is not taken.
        """
        node_name = self._snapshot.nominator.node_of(pod.uid)
        row = None if node_name is None else self._snapshot.nodes.row_of(node_name)
        if row is None:
            return None
        check = self._framework.evaluations.row_check(state, pod, self._snapshot, narrowed.skipped)
        nominated = _Nominated(row, *check.rejection(row))
        left_out = narrowed.node_names is not None and node_name not in narrowed.node_names
        return None if left_out and nominated.rejected_by == FEASIBLE else nominated

    def _filter(self, state: CycleState, pod: PodInfo, narrowed: PreFilterOutcome) -> Outcome:
        if narrowed.node_names is None:
            return self._framework.evaluations.filter(state, pod, self._snapshot, narrowed.skipped)
        return self._evaluate(state, pod, narrowed, self._rows(narrowed))

    def _evaluate(self, state: CycleState, pod: PodInfo, narrowed: PreFilterOutcome, rows: Rows) -> FullEvaluation:
        return self._framework.evaluations.evaluate_rows(state, pod, self._snapshot, rows, narrowed.skipped)

    def _rows(self, narrowed: PreFilterOutcome) -> Rows:
        if narrowed.node_names is None:
            return slice(0, self._snapshot.nodes.count)
        known = (self._snapshot.nodes.row_of(name) for name in narrowed.node_names)
        return np.array(sorted(row for row in known if row is not None), np.intp)

    def _verdicts(
        self, pod: PodInfo, outcome: Outcome, narrowed: PreFilterOutcome, nominated: _Nominated | None
    ) -> NodeVerdicts:
        """Those about the outcome's rows, and about the nominated node also where PreFilter left it out."""
        filters, names = self._framework.filters, self._snapshot.nodes.name_tuple()
        rejected_by, verdicts = outcome.rejected_by.copy(), outcome.verdicts.copy()
        if isinstance(outcome.rows, slice):
            return NodeVerdicts(pod, names, None, rejected_by, verdicts, filters)
        rows, rejecting = outcome.rows.tolist(), ""
        if nominated is not None:
            rejecting = filters[nominated.rejected_by].name
            if nominated.row not in rows:
                rows.append(nominated.row)
                rejected_by = np.append(rejected_by, np.int8(nominated.rejected_by))
                verdicts = np.append(verdicts, np.int32(nominated.verdict))
        left_out = left_out_status(narrowed.narrowing_plugins, empty=False, nominated_rejected_by=rejecting)
        return NodeVerdicts(pod, names, rows, rejected_by, verdicts, filters, left_out)

    def _diagnosis(self, verdicts: NodeVerdicts, evaluated: int) -> Diagnosis:
        nodes = self._snapshot.nodes.existing
        plugins = {status.plugin for status, _ in verdicts.grouped()}
        if verdicts.left_out is not None:
            plugins.update(verdicts.left_out.plugin.split(","))
        return Diagnosis(
            nodes,
            verdicts=verdicts,
            left_out_count=nodes - evaluated if verdicts.left_out is not None else 0,
            unschedulable_plugins=frozenset(plugins),
        )

    def _record(self, extension_point: str, status: str, started: float) -> None:
        seconds = self._recorder.clock() - started
        self._recorder.extension_point(self._framework.profile_name, extension_point, status, seconds)


def decide(snapshot: Snapshot, pod: PodInfo, framework: Framework, rng: Rng) -> Decision:
    """One attempt in one call, for profiles that ask nothing from outside the core."""
    return finished(ScheduleAlgorithm(snapshot, framework, rng).schedule(CycleState(), pod))


def finished(steps: Steps) -> Decision:
    """The decision of an attempt for which nobody outside the core needs to be asked.

    Raises:
        RuntimeError: it asks for something all the same.
    """
    try:
        request = next(steps)
    except StopIteration as end:
        decision: Decision = end.value
        return decision
    raise RuntimeError(f"nobody answers {request!r}")


def _rejected_before_filter(snapshot: Snapshot, narrowed: PreFilterOutcome) -> Diagnosis:
    status = narrowed.status
    plugins = frozenset(status.plugin.split(",")) if status is not None and status.plugin else frozenset()
    diagnosis = Diagnosis(snapshot.nodes.existing, rejection=status)
    if status is not None and status.code is Code.PENDING:
        diagnosis.pending_plugins = plugins
    else:
        diagnosis.unschedulable_plugins = plugins
    return diagnosis

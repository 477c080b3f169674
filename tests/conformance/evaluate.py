"""Podium's answers in the shape of the goldens.

Each pod is asked about twice: with a full evaluation, which computes everything anew, and with a decision as the
running scheduler makes it, which goes by what was kept of earlier pods.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.config.plugin_args import DefaultPreemptionArgs
from scheduler.core.algorithm import Decision, finished
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.diagnosis import NodeVerdicts, left_out_status, rejected_on_one_node
from scheduler.core.framework.outcome import FullEvaluation
from scheduler.core.framework.runtime import Framework, PreFilterOutcome
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.default_preemption import ineligible
from scheduler.core.preemption.evaluator import NO_VICTIMS_FOUND, Evaluator
from scheduler.core.preemption.victims import NOTHING_TO_REMOVE
from tests.conformance.case import Candidate, NodeAnswer, Preemption, Step, Verdict
from tests.conformance.cluster import Cluster, Profile

SUCCESS = Verdict(code="Success", plugin="", reasons=())
_NOTHING_TO_REMOVE = Verdict(code="UnschedulableAndUnresolvable", plugin="", reasons=(NO_VICTIMS_FOUND,))


class CountingRng:
    """Takes the first of equal nodes and tells how many there were."""

    def __init__(self) -> None:
        self.choices = 1

    def randrange(self, stop: int) -> int:
        """Always 0."""
        self.choices = stop
        return 0


@dataclass(slots=True)
class Decided:
    """What a decision came to.

    Attributes:
        node_name: the chosen node, empty when the pod fits nowhere.
        choices: number of equally good nodes it was chosen from, 1 where nothing had to be chosen.
        feasible: number of nodes that pass all filters.
        nodes: verdict by node; empty where the nominated node fitted.
        message: why the pod fits nowhere.
        preempted: the node that preemption makes room on.
        victims: of that preemption.
    """

    node_name: str
    choices: int
    feasible: int
    nodes: dict[str, Verdict] = field(default_factory=dict)
    message: str = ""
    preempted: str = ""
    victims: tuple[str, ...] = ()


@dataclass(slots=True)
class Attempt:
    """One pod's attempt: the full evaluation, and the decision where there was one.

    Attributes:
        state: the plugins' notes of the decision.
    """

    step: Step
    decided: Decided | None = None
    state: CycleState = field(default_factory=CycleState)

    def place(self, cluster: Cluster, node_name: str) -> None:
        """The pod takes the node, unless a plugin can't reserve what it needs there."""
        status = cluster.place(self.step.pod, node_name, self.state)
        if status is not None:
            self.step.reserve = _verdict(status)
            self.step.assumed = ""
            self.step.message = rejected_on_one_node(status) if status.code.rejected else status.message


def attempt(cluster: Cluster, name: str, rng: CountingRng) -> Attempt:
    """Answer for the next pod of a case."""
    if name in cluster.evicted:
        return Attempt(Step(pod=name, skipped="was preempted"))
    if name in cluster.placed:
        return Attempt(Step(pod=name, skipped="already assumed"))
    pod = cluster.pending(name)
    if pod.pod.metadata.deletion_timestamp is not None:
        message = f"skip schedule deleting pod: {pod.key}"
        return Attempt(Step(pod=name, skipped="the pod is being deleted", message=message))
    profile = cluster.profile_of(pod)
    gate = profile.framework.pre_enqueue(pod)
    if gate is not None:
        return Attempt(Step(pod=name, skipped="the pod is gated", pre_enqueue=_verdict(gate), message=gate.message))
    answer = Attempt(Step(pod=name))
    if cluster.snapshot_now().nodes.existing:
        _evaluate(cluster, profile, pod, answer.step)
    answer.decided = _decide(cluster, profile, pod, rng, answer)
    return answer


def _decide(cluster: Cluster, profile: Profile, pod: PodInfo, rng: CountingRng, answer: Attempt) -> Decided:
    """A decision, with the preemption that follows on one without a node; nominations stay as they are."""
    rng.choices, step = 1, answer.step
    decision = finished(profile.algorithm.schedule(answer.state, pod))
    statuses = _by_node(cluster, decision.verdicts)
    nominated = cluster.nominator.node_of(pod.uid)
    if decision.verdicts is not None and nominated in statuses and nominated not in (step.pre_filter_nodes or statuses):
        # What PreFilter left out shows as such, though the node was looked at first.
        statuses[nominated] = decision.verdicts.left_out
    decided = Decided(
        decision.node_name or "",
        rng.choices,
        decision.feasible,
        {name: _verdict(status) for name, status in statuses.items()},
    )
    if decision.diagnosis is None:
        return decided
    with cluster.nominations_kept():
        step.preemption = _dry_runs(cluster, profile, decision, answer.state)
    with cluster.nominations_kept():
        plan = next(profile.algorithm.preempt(answer.state, decision), None)
        if plan is not None:
            decided.preempted, decided.victims = plan.node_name, tuple(victim.key for victim in plan.victims)
    step.message = decided.message = decision.diagnosis.message()
    if step.preemption is not None:
        step.preemption.message = decision.diagnosis.post_filter_message
    return decided


def _dry_runs(cluster: Cluster, profile: Profile, decision: Decision, state: CycleState) -> Preemption | None:
    """What preemption finds on each node, computed anew."""
    if not profile.framework.has_post_filter or not cluster.snapshot.nodes.existing:
        return None
    failed = profile.algorithm.failed_attempt(state, decision)
    why = ineligible(failed)
    answer = Preemption(eligible=not why, ineligible_reason=why, candidates={}, chosen="", victims=(), message="")
    if why:
        return answer
    cluster.nominator.remove(decision.pod.uid)
    cluster.snapshot.refresh()
    candidates = Evaluator(DefaultPreemptionArgs()).candidates(failed)
    names, runs = cluster.snapshot.nodes.names, candidates.runs
    filters = profile.framework.filters
    for row in candidates.looked_at.tolist():
        rejected_by = int(runs.rejected_by[row])
        if row in candidates.rows:
            victims = tuple(pod.key for pod in runs.victims_on(row, failed.check))
            answer.candidates[names[row]] = Candidate(victims=victims, pdb_violations=0)
        elif rejected_by == NOTHING_TO_REMOVE:
            answer.rejected[names[row]] = _NOTHING_TO_REMOVE
        else:
            plugin = filters[rejected_by]
            status = plugin.status(decision.pod, int(runs.verdicts[row]))
            answer.rejected[names[row]] = _verdict(replace(status, plugin=plugin.name))
    if len(candidates.rows):
        best = sorted(names[row] for row in candidates.best().tolist())
        answer.chosen, answer.tied = best[0], tuple(best) if len(best) > 1 else ()
        answer.victims = answer.candidates[best[0]].victims
    return answer


def _evaluate(cluster: Cluster, profile: Profile, pod: PodInfo, step: Step) -> None:
    state = CycleState()
    narrowed, full = profile.algorithm.evaluate(state, pod)
    if full is None:
        step.pre_filter = _verdict(narrowed.status)
        step.nodes = {name: _node_answer(step.pre_filter) for name in _all_nodes(cluster)}
        return
    nodes, ask = cluster.snapshot.nodes, profile.framework.evaluations.evaluate_rows
    nominated = nodes.row_of(cluster.nominator.node_of(pod.uid) or "")
    alone = None if nominated is None else ask(state, pod, cluster.snapshot, np.array([nominated]), narrowed.skipped)
    rejecting = ""
    if alone is not None and alone.feasible:
        step.nominated_fast_path = True
        if narrowed.node_names is not None:
            full = ask(state, pod, cluster.snapshot, slice(0, nodes.count), narrowed.skipped)
    else:
        step.pre_filter_nodes = tuple(sorted(narrowed.node_names or ()))
        rejecting = "" if alone is None else profile.framework.filters[int(alone.rejected_by[0])].name
    verdicts = _node_verdicts(cluster, profile.framework, pod, narrowed, full, rejecting)
    step.nodes = {name: _node_answer(_verdict(status)) for name, status in _by_node(cluster, verdicts).items()}
    if alone is not None and alone.feasible:
        full = alone
    names = nodes.names
    for position in np.flatnonzero(full.totals >= 0).tolist():
        answer = step.nodes[names[full.row(position)]]
        answer.raw = {plugin: int(values[position]) for plugin, values in full.raw.items()}
        answer.scores = {plugin: int(values[position]) for plugin, values in full.weighted.items()}
        # Without score plugins kube-scheduler gives every feasible node 1.
        answer.total = int(full.totals[position]) if profile.framework.scores else 1
    totals = {name: answer.total for name, answer in sorted(step.nodes.items()) if answer.total is not None}
    step.feasible = tuple(totals)
    step.best = tuple(name for name, total in totals.items() if total == max(totals.values()))
    step.assumed = step.best[0] if step.best else ""


def _node_verdicts(
    cluster: Cluster,
    framework: Framework,
    pod: PodInfo,
    narrowed: PreFilterOutcome,
    full: FullEvaluation,
    nominated_rejected_by: str,
) -> NodeVerdicts:
    left_out = None
    if narrowed.node_names is not None and not isinstance(full.rows, slice):
        plugins = narrowed.narrowing_plugins
        left_out = left_out_status(plugins, empty=False, nominated_rejected_by=nominated_rejected_by)
    return NodeVerdicts(
        pod,
        cluster.snapshot.nodes.name_tuple(),
        None if isinstance(full.rows, slice) else full.rows.tolist(),
        full.rejected_by,
        full.verdicts,
        framework.filters,
        left_out,
    )


def _by_node(cluster: Cluster, verdicts: NodeVerdicts | None) -> dict[str, Status | None]:
    """Status by node, those that PreFilter left out included."""
    if verdicts is None:
        return {}
    left_out = dict.fromkeys(_all_nodes(cluster), verdicts.left_out)
    return left_out | verdicts.by_node()


def _all_nodes(cluster: Cluster) -> list[str]:
    nodes = cluster.snapshot.nodes
    return [nodes.names[row] for row in np.flatnonzero(nodes.exists).tolist()]


def _verdict(status: Status | None) -> Verdict:
    if status is None:
        return SUCCESS
    reasons = tuple(reason.text for reason in status.reasons)
    return Verdict(code=status.code.label, plugin=status.plugin, reasons=reasons)


def _node_answer(verdict: Verdict) -> NodeAnswer:
    return NodeAnswer(code=verdict.code, plugin=verdict.plugin, reasons=verdict.reasons)

"""Spreads pods that belong together over the values of node labels: zones, hosts, racks.

Works on counters by topology value: a cycle reads the sums of the few values there are and looks at nodes only where
some value is refused. Formulae: `PodTopologySpread` of kube-scheduler 1.37.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.selectors import (
    NodeTerm,
    Selector,
    all_of,
    compile_label_selector,
    compile_labels,
)
from scheduler.api.types import Node, PodSpec, TopologySpreadConstraint
from scheduler.config.plugin_args import DefaultingType, PodTopologySpreadArgs
from scheduler.core.cache.columns import MISSING
from scheduler.core.cache.pod_counts import SelectedPods
from scheduler.core.cache.topology import NodeMask
from scheduler.core.framework.default_selector import default_selector, workload_version
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import (
    MAX_NODE_SCORE,
    Depends,
    FilterPlugin,
    Handle,
    Normalize,
    PreFilterPlugin,
    PreFilterResult,
    Rows,
    ScorePlugin,
)
from scheduler.core.framework.kept_results import Remembered
from scheduler.core.framework.node_matching import (
    matches_required,
    node_matches,
    per_taint_set,
    repels,
    required_terms,
)
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
_HONOR: Final = "Honor"
_HOSTNAME: Final = "kubernetes.io/hostname"
_SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=_HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)
_NO_DOMAIN: Final = 2**31 - 1

_MISSING_LABEL: Final = -1
_TOO_UNEVEN: Final = 1
_TEXT: Final = "node(s) didn't match pod topology spread constraints"
_STATUSES: Final = {
    _MISSING_LABEL: Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"{_TEXT} (missing required label)"),
    _TOO_UNEVEN: Status.of(Code.UNSCHEDULABLE, _TEXT),
}
_SKIP: Final = Status.of(Code.SKIP)
_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """A constraint of one pod, compiled.

    Attributes:
        selector: the pods that are spread; `counted` is what is counted of them.
        itself: 1 if the pod to be scheduled is one of them.
        nodes: those whose pods count: that carry all keys and pass the constraint's policies.
    """

    key: str
    max_skew: int
    min_domains: int
    selector: Selector
    counted: SelectedPods
    itself: int
    nodes: NodeMask
    honors_taints: bool
    honors_affinity: bool


@dataclass(frozen=True, slots=True, eq=False)
class PodConstraints:
    """All constraints of a pod.

    Attributes:
        pod: held so that the identities that this is kept by stay taken.
        workloads: version of what default constraints were made from; None for constraints of the pod's own.
        needs_all_keys: whether nodes that lack a key of the soft constraints score nothing.
    """

    pod: PodInfo
    hard: tuple[Constraint, ...]
    soft: tuple[Constraint, ...]
    workloads: tuple[int, ...] | None
    needs_all_keys: bool


class PodTopologySpread(PreFilterPlugin, FilterPlugin, ScorePlugin):
    """Filter: hard constraints. Score: soft ones; those of the args (or the system's) for pods without their own."""

    name: ClassVar[str] = "PodTopologySpread"
    depends: ClassVar[Depends] = Depends.CLUSTER
    normalization: ClassVar[Normalize] = Normalize.OWN

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system = args.defaulting_type is DefaultingType.SYSTEM
        self._defaults = _SYSTEM_DEFAULTS if self._system else args.default_constraints
        self._objects = handle.cluster.objects
        self._last: tuple[PodInfo, PodConstraints] | None = None
        self._known: Remembered[Hashable, PodConstraints] = Remembered(_REMEMBERED)
        self._masks: Remembered[Hashable, tuple[PodInfo, NodeMask]] = Remembered(_REMEMBERED)

    # --- what a pod asks

    def _constraints(self, pod: PodInfo) -> PodConstraints:
        own = pod.pod.spec.topology_spread_constraints
        workloads = None if own else workload_version(self._objects)
        if self._last is not None and self._last[0] is pod and self._last[1].workloads == workloads:
            return self._last[1]
        spec, metadata = pod.pod.spec, pod.pod.metadata
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        key = (
            pod.namespace, id(metadata.labels), id(own) if own else id(metadata.owner_references), bool(own),
            id(spec.node_selector), id(affinity), id(spec.tolerations),
        )  # fmt: skip
        known = self._known.get(key)
        if known is None or known.workloads != workloads:
            known = self._known.remember(key, self._compile(pod, workloads))
        self._last = (pod, known)
        return known

    def _compile(self, pod: PodInfo, workloads: tuple[int, ...] | None) -> PodConstraints:
        own = pod.pod.spec.topology_spread_constraints
        selector = None
        if not own:
            selector = default_selector(pod, self._objects)
            if not selector.requirements:
                return PodConstraints(pod, (), (), workloads, False)
        needs_all_keys = bool(own) or not self._system
        each = own or self._defaults
        return PodConstraints(
            pod,
            tuple(self._compiled(pod, each, HARD, selector, needs_all_keys=True)),
            tuple(self._compiled(pod, each, SOFT, selector, needs_all_keys=needs_all_keys)),
            workloads,
            needs_all_keys,
        )

    def _compiled(
        self,
        pod: PodInfo,
        constraints: Iterable[TopologySpreadConstraint],
        action: str,
        default: Selector | None,
        *,
        needs_all_keys: bool,
    ) -> Iterable[Constraint]:
        labels = pod.pod.metadata.labels or {}
        chosen = [constraint for constraint in constraints if constraint.when_unsatisfiable == action]
        keys = tuple(sorted({constraint.topology_key for constraint in chosen})) if needs_all_keys else ()
        for constraint in chosen:
            selector = default if default is not None else _selector(constraint, labels)
            honors_affinity = constraint.node_affinity_policy in (None, _HONOR)
            honors_taints = constraint.node_taints_policy == _HONOR
            # A selector without requirements counts nobody, as in kube-scheduler, though it matches the pod itself.
            counted = frozenset({pod.namespace}) if selector.requirements else frozenset()
            yield Constraint(
                constraint.topology_key,
                constraint.max_skew,
                1 if constraint.min_domains is None else constraint.min_domains,
                selector,
                SelectedPods(((counted, selector),), live_only=True),
                int(selector.matches(labels)),
                self._mask(pod, keys, affinity=honors_affinity, taints=honors_taints),
                honors_taints,
                honors_affinity,
            )

    def _mask(self, pod: PodInfo, keys: tuple[str, ...], *, affinity: bool, taints: bool) -> NodeMask:
        spec = pod.pod.spec
        node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        restricted = affinity and (bool(spec.node_selector) or required_terms(node_affinity) is not None)
        key = (
            keys,
            (id(spec.node_selector), id(node_affinity)) if restricted else None,
            id(spec.tolerations) if taints else None,
        )
        known = self._masks.get(key)
        if known is None:
            terms = required_terms(node_affinity)
            matches = _eligible(spec, terms if restricted else None, keys, restricted=restricted, taints=taints)
            known = self._masks.remember(key, (pod, NodeMask(matches)))
        self._masks.move_to_end(key)
        return known[1]

    # --- Filter

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """SKIP without hard constraints."""
        return None if self._constraints(pod).hard else _SKIP

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """None without hard constraints."""
        return True if self._constraints(pod).hard else None

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 where a node lacks a key; 1 where one pod more would exceed the fewest of any domain by over maxSkew."""
        nodes = snapshot.nodes
        verdicts: IntArray | None = None
        for constraint in self._constraints(pod).hard:
            sums, allowed = _allowed(constraint, snapshot)
            column = nodes.label_column(constraint.key)
            table = (sums > allowed).view(np.int8)
            table[MISSING] = _MISSING_LABEL if column.present < nodes.count else 0
            if table.any():
                answer = table.take(column.ids[: nodes.count][rows], mode="wrap")  # MISSING reads the last entry
                verdicts = answer if verdicts is None else np.where(verdicts == 0, answer, verdicts)
        return np.zeros(len(nodes.exists[rows]), np.int32) if verdicts is None else verdicts.astype(np.int32)

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """`filter` of one row."""
        for constraint in self._constraints(pod).hard:
            value = snapshot.nodes.label_column(constraint.key).ids.item(row)
            if value == MISSING:
                return _MISSING_LABEL
            sums, allowed = _allowed(constraint, snapshot)
            if sums.item(value) > allowed:
                return _TOO_UNEVEN
        return 0

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """A missing label can't be helped; unevenness can."""
        return _STATUSES[verdict]

    # --- Score

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """None without soft constraints."""
        return True if self._constraints(pod).soft else None

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """round(Σ pods of the node's domain * ln(domains + 2) + maxSkew - 1); domains are those of feasible nodes."""
        nodes = snapshot.nodes
        constraints = self._constraints(pod)
        scored = _scored(constraints, snapshot, rows, feasible)
        state.write(self.name, scored)
        everywhere = len(scored) == nodes.count and bool(scored.all())
        total = np.zeros(len(feasible))
        for constraint in constraints.soft:
            column = nodes.label_column(constraint.key)
            ids = column.ids[: nodes.count][rows]
            counter = snapshot.pod_counts.counter(constraint.counted)
            if constraint.key == _HOSTNAME:
                domains = int(np.count_nonzero(scored))
                points = counter.by_row(nodes)[rows] * math.log(domains + 2) + (constraint.max_skew - 1)
                if column.present < nodes.existing:
                    points[ids == MISSING] = 0
                total += points
                continue
            constraint.nodes.refresh(nodes, snapshot.node_changes)
            sums = counter.sums(nodes, constraint.key, constraint.nodes).by_value
            if everywhere:
                domains = len(column.values) + (column.present < nodes.count)
            else:
                domains = int(np.count_nonzero(np.bincount(ids[scored] - MISSING)))
            by_value = sums * math.log(domains + 2) + (constraint.max_skew - 1)
            by_value[MISSING] = 0
            total += by_value.take(ids, mode="wrap")
        # As Go rounds: halves away from zero; nothing is negative here.
        raw = np.floor(total + 0.5).astype(np.int64)
        if constraints.needs_all_keys and not everywhere:
            raw[~scored] = 0
        return raw

    def normalize(self, state: CycleState, raw: IntArray, feasible: BoolArray) -> IntArray:
        """100 * (highest + lowest - raw) / highest; 100 for all when the highest is 0, 0 for nodes that lack a key."""
        scored: BoolArray = state.read(self.name, np.ndarray)
        everywhere = bool(scored.all())
        ranked = raw if everywhere else raw[scored]
        highest = int(ranked.max(initial=0))
        if highest == 0:
            return np.where(scored, MAX_NODE_SCORE, 0)
        points = MAX_NODE_SCORE * (highest + int(ranked.min()) - raw) // highest
        return points if everywhere else np.where(scored, points, 0)

    # --- queueing hints

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Pods that are counted come, go or change; nodes change what they are to the topology; the pod itself does."""
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_OTHER
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        own = Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        events = [
            RegisteredEvent(ClusterEvent(EventResource.ASSIGNED_POD, pods), self._counts_change),
            RegisteredEvent(ClusterEvent(EventResource.NODE, nodes), self._topology_changes),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, own)),
        ]
        if any(constraint.when_unsatisfiable == HARD for constraint in self._defaults):
            events += [
                RegisteredEvent(ClusterEvent(resource, Action.ALL))
                for resource in (
                    EventResource.SERVICE,
                    EventResource.REPLICATION_CONTROLLER,
                    EventResource.REPLICA_SET,
                    EventResource.STATEFUL_SET,
                )
            ]
        return events

    def _counts_change(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """Whether a pod counts for some constraint and did not, or the other way round."""
        return any(
            _counts(constraint, old) is not _counts(constraint, new)
            for constraint in self._constraints(queued.pod_info).hard
        )

    def _topology_changes(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """Whether a node has all keys now or did before, and has other values or passes other policies than before."""
        pod = queued.pod_info
        hard = self._constraints(pod).hard
        return _place(hard, pod.pod.spec, old) != _place(hard, pod.pod.spec, new)


def _allowed(constraint: Constraint, snapshot: Snapshot) -> tuple[IntArray, int]:
    """Pods by value, and the most that a value may have for one pod more to be allowed."""
    nodes = snapshot.nodes
    constraint.nodes.refresh(nodes, snapshot.node_changes)
    sums = snapshot.pod_counts.counter(constraint.counted).sums(nodes, constraint.key, constraint.nodes).by_value
    exist, domains = constraint.nodes.domains(nodes, constraint.key)
    among = sums[:MISSING] if domains == len(exist) else sums[:MISSING][exist]
    lowest = int(among.min(initial=_NO_DOMAIN))
    if domains < constraint.min_domains:
        lowest = 0
    return sums, constraint.max_skew + lowest - constraint.itself


def _scored(constraints: PodConstraints, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> BoolArray:
    """Feasible rows that have all keys, where those are needed."""
    nodes, scored = snapshot.nodes, feasible
    if constraints.needs_all_keys:
        for constraint in constraints.soft:
            column = nodes.label_column(constraint.key)
            if column.present < nodes.existing:
                scored = scored & (column.ids[: nodes.count][rows] != MISSING)
    return scored


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """The constraint's selector and, for each of its matchLabelKeys that the pod has, the pod's own value."""
    selector = compile_label_selector(constraint.label_selector)
    own = {key: labels[key] for key in constraint.match_label_keys or () if key in labels}
    return all_of(selector, compile_labels(own)) if own else selector


def _eligible(
    spec: PodSpec, terms: tuple[NodeTerm, ...] | None, keys: tuple[str, ...], *, restricted: bool, taints: bool
) -> Callable[[NodeColumns, RowIndex | slice], BoolArray]:
    """Which nodes carry all keys and pass the policies that are honoured."""

    def matches(nodes: NodeColumns, rows: RowIndex | slice) -> BoolArray:
        matching = matches_required(nodes, spec.node_selector if restricted else None, terms, rows)
        for key in keys:
            matching &= nodes.label(key)[0][rows] != MISSING
        if taints:
            matching &= per_taint_set(nodes, rows, lambda found: repels(found, spec.tolerations or ())) == 0
        return matching

    return matches


def _counts(constraint: Constraint, pod: object | None) -> bool:
    if not isinstance(pod, PodInfo) or pod.pod.metadata.deletion_timestamp is not None:
        return False
    ((namespaces, selector),) = constraint.counted.terms
    return pod.namespace in (namespaces or ()) and selector.matches(pod.pod.metadata.labels or {})


def _place(hard: Sequence[Constraint], spec: PodSpec, node: object | None) -> tuple[object, ...] | None:
    """All that the constraints see of a node; None for one that lacks a key."""
    labels = (node.metadata.labels if isinstance(node, Node) else None) or {}
    if not isinstance(node, Node) or any(constraint.key not in labels for constraint in hard):
        return None
    values = tuple(labels[constraint.key] for constraint in hard)
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    matching = any(constraint.honors_affinity for constraint in hard) and node_matches(
        node, spec.node_selector, affinity
    )
    repelling = any(constraint.honors_taints for constraint in hard) and repels(
        node.spec.taints or (), spec.tolerations or ()
    )
    return (*values, matching, repelling)

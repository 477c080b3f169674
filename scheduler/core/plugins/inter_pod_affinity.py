"""Keeps pods together or apart by what runs in the topology of a node: its zone, its rack, the node itself."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.selector_wording import aggregated
from scheduler.api.types import Affinity
from scheduler.config.plugin_args import InterPodAffinityArgs
from scheduler.core.cache.columns import MISSING
from scheduler.core.cache.pod_counts import Counter, PodCounter, SelectedPods, TermKind
from scheduler.core.framework.affinity_hints import AffinityHints
from scheduler.core.framework.events import RegisteredEvent
from scheduler.core.framework.interface import (
    MAX_NODE_SCORE,
    Depends,
    FilterPlugin,
    Normalize,
    PreFilterPlugin,
    PreFilterResult,
    Rows,
    ScorePlugin,
)
from scheduler.core.framework.kept_results import Remembered
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.pod_counts import PodCounts
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState
    from scheduler.core.framework.pod_terms import AffinityTerm, AffinityTerms

_REPELLED: Final = 1
_REPELS: Final = 2
_NOT_NEAR: Final = 3
"""What is wrong with a node; of several the greatest is said."""

_VERDICTS: Final[IntArray] = np.array([0, 1, 2, -1], np.int32)
_STATUSES: Final = {
    -1: Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match pod affinity rules"),
    1: Status.of(Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules"),
    2: Status.of(Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules"),
}
_SKIP: Final = Status.of(Code.SKIP)
_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class _Selections:
    """A pod's terms with the namespaces they mean now.

    Attributes:
        affinity: held so that its identity stays taken.
        namespaces_version: of the namespaces.
        near: the pods that all required terms select together; None without such terms.
        near_keys: their topology keys, each once.
        apart: the pods that each required anti-affinity term selects, with its key.
        wishes: the pods that each wish selects, with its key and weight.
    """

    affinity: Affinity
    namespaces_version: int
    near: SelectedPods | None
    near_keys: tuple[str, ...]
    apart: tuple[tuple[SelectedPods, str], ...]
    wishes: tuple[tuple[SelectedPods, str, int], ...]


@dataclass(frozen=True, slots=True)
class _Demands:
    """What a pod requires, with the counters that tell where it is met; for one cycle.

    Attributes:
        founds: whether the pod may be the first of its kind: it is one of those that it wants to be near.
    """

    near: PodCounter | None
    near_keys: tuple[str, ...]
    founds: bool
    apart: tuple[tuple[Counter, str], ...]


class InterPodAffinity(PreFilterPlugin, FilterPlugin, ScorePlugin):
    """Filter: required terms of the pod, required anti-affinity of placed pods. Score: wishes of both sides.

    Everything is decided per value of a topology key, on sums that are kept per selector (`PodCounts`), and then read
    for the nodes. Pods without terms that no placed pod's terms select cost next to nothing.
    """

    name: ClassVar[str] = "InterPodAffinity"
    depends: ClassVar[Depends] = Depends.CLUSTER
    normalization: ClassVar[Normalize] = Normalize.OWN

    def __init__(self, args: InterPodAffinityArgs, cluster: ClusterState) -> None:
        self._required_weight = args.hard_pod_affinity_weight
        self._ignores_wishes_of_others = args.ignore_preferred_terms_of_existing_pods
        self._hints = AffinityHints(cluster)
        self._selections: Remembered[tuple[int, str], _Selections] = Remembered(_REMEMBERED)

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """Whether there is something to ask is found out by `pre_filter`."""
        return True

    # --- Filter

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """SKIP unless the pod requires something, or a placed pod repels it from some node."""
        affinity = pod.pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            terms = snapshot.pod_counts.terms.of(pod)
            if terms.faults:
                return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f"parsing pod: {aggregated(terms.faults)}")
            if terms.required or terms.required_anti:
                state.write(self.name, self._find_demands(pod, snapshot.pod_counts))
                return None
        repelling = snapshot.pod_counts.owned_terms_selecting(pod).get(TermKind.REQUIRED_ANTI, ())
        return None if any(_counts_somewhere(snapshot.nodes, term, term.topology_key) for term in repelling) else _SKIP

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """The pod's affinity first, then its anti-affinity, then that of others."""
        nodes = snapshot.nodes
        faults: IntArray | None = None
        for key, table in self._fault_tables(state, pod, snapshot).items():
            found = table.take(nodes.label(key)[0][rows], mode="wrap")  # MISSING reads the last entry
            faults = found if faults is None else np.maximum(faults, found, out=faults)
        if faults is None:
            return np.zeros(len(nodes.exists[rows]), np.int32)
        if self._demands(state, pod, snapshot).near is None:
            return faults.astype(np.int32)
        return _VERDICTS.take(faults, mode="wrap")

    def filter_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """`filter` for one row, as the sums stand: an overlay may have changed them since the cycle began."""
        nodes, demands = snapshot.nodes, self._demands(state, pod, snapshot)
        if demands.near is not None:
            near = True
            for key in demands.near_keys:
                value = nodes.label_column(key).ids.item(row)
                if value == MISSING:
                    return -1
                near = near and demands.near.sums(nodes, key).by_value.item(value) > 0
            if not near and not (demands.founds and not _exists(nodes, demands)):
                return -1
        for counter, key in demands.apart:
            if _count_at(nodes, counter, key, row):
                return 2
        for term in snapshot.pod_counts.owned_terms_selecting(pod).get(TermKind.REQUIRED_ANTI, ()):
            if _count_at(nodes, term, term.topology_key, row):
                return 1
        return 0

    def rows_changed_by_removals(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> Collection[int] | None:
        """Those of pods that the pod's terms select, or whose terms select it."""
        demands = self._demands(state, pod, snapshot)
        counters: list[Counter] = [counter for counter, _ in demands.apart]
        counters += snapshot.pod_counts.owned_terms_selecting(pod).get(TermKind.REQUIRED_ANTI, ())
        if demands.near is not None:
            counters.append(demands.near)
        return set().union(*(counter.rows_below(pod.priority) for counter in counters))

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """Whose terms are not met."""
        return _STATUSES[verdict]

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Pods that come, go or change labels; nodes and namespaces likewise."""
        return self._hints.registered_events()

    def hint_signature(self, pod: PodInfo) -> Hashable | None:
        """Terms, namespace and labels."""
        return (id(pod.pod.spec.affinity), pod.namespace, id(pod.pod.metadata.labels))

    def _fault_tables(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> dict[str, IntArray]:
        """By topology key what is wrong with each of its values; the last entry is for nodes without the label."""
        nodes, demands = snapshot.nodes, self._demands(state, pod, snapshot)
        tables: dict[str, IntArray] = {}
        for term in snapshot.pod_counts.owned_terms_selecting(pod).get(TermKind.REQUIRED_ANTI, ()):
            _forbid_taken(tables, nodes, term, term.topology_key, _REPELLED)
        for counter, key in demands.apart:
            _forbid_taken(tables, nodes, counter, key, _REPELS)
        if demands.near is not None:
            first = demands.founds and not _exists(nodes, demands)
            for key in demands.near_keys:
                by_value = demands.near.sums(nodes, key).by_value
                far = np.zeros(len(by_value), np.bool_) if first else by_value == 0
                far[MISSING] = True
                _forbid(tables, key, far, _NOT_NEAR)
        return tables

    def _demands(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> _Demands:
        try:
            return state.read(self.name, _Demands)
        except KeyError:
            demands = self._find_demands(pod, snapshot.pod_counts)
            state.write(self.name, demands)
            return demands

    def _find_demands(self, pod: PodInfo, counts: PodCounts) -> _Demands:
        selections = self._selections_of(pod, counts)
        if selections is None:
            return _NO_DEMANDS
        near = None if selections.near is None else counts.counter(selections.near)
        founds = selections.near is not None and _selects(selections.near, pod)
        apart = tuple((counts.counter(selected), key) for selected, key in selections.apart)
        return _Demands(near, selections.near_keys, founds, apart)

    def _selections_of(self, pod: PodInfo, counts: PodCounts) -> _Selections | None:
        """What the pod's terms select; None without terms."""
        affinity = pod.pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return None
        key = (id(affinity), pod.namespace)
        known = self._selections.get(key)
        if known is None or known.namespaces_version != counts.namespaces_version:
            known = self._selections.remember(key, _selections(affinity, counts.terms.of(pod), counts))
        return known

    # --- Score

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """None when there are no wishes on either side that are granted anywhere."""
        return True if self._wishes(pod, snapshot) else None

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """Σ weight of the wishes granted by the pods in the topologies of a node."""
        nodes = snapshot.nodes
        tables: dict[str, IntArray] = {}
        for counter, key, weight in self._wishes(pod, snapshot):
            by_value = counter.sums(nodes, key).by_value
            if key in tables:
                tables[key] += weight * by_value
            else:
                tables[key] = weight * by_value
        scores: IntArray | None = None
        for key, table in tables.items():
            table[MISSING] = 0
            found = table.take(nodes.label(key)[0][rows], mode="wrap")
            scores = found if scores is None else np.add(scores, found, out=scores)
        return np.zeros(len(nodes.exists[rows]), np.int64) if scores is None else scores

    def normalize(self, state: CycleState, raw: IntArray, feasible: BoolArray) -> IntArray:
        """100 * (raw - min) / (max - min) over the feasible nodes, truncated; 0 when all are equal."""
        everywhere = bool(feasible.all())
        ranked = raw if everywhere else raw.take(np.flatnonzero(feasible))
        if not ranked.size:
            return raw
        lowest, highest = int(ranked.min()), int(ranked.max())
        if lowest == highest:
            return np.zeros_like(raw)
        if not everywhere:
            raw = np.where(feasible, raw, lowest)
        return (MAX_NODE_SCORE * ((raw - lowest) / (highest - lowest))).astype(np.int64)

    def _wishes(self, pod: PodInfo, snapshot: Snapshot) -> list[tuple[Counter, str, int]]:
        """Counters, each with its topology key and what a pod counts; those left out count nobody anywhere."""
        counts = snapshot.pod_counts
        selections = self._selections_of(pod, counts)
        own = selections.wishes if selections is not None else ()
        if not own and self._ignores_wishes_of_others:
            return []
        wishes: list[tuple[Counter, str, int]] = [
            (counts.counter(selected), key, weight) for selected, key, weight in own
        ]
        owned = counts.owned_terms_selecting(pod)
        if self._required_weight:
            wishes += [(term, term.topology_key, self._required_weight) for term in owned.get(TermKind.REQUIRED, ())]
        wishes += [(term, term.topology_key, 1) for term in owned.get(TermKind.PREFERRED, ())]
        return [wish for wish in wishes if _counts_somewhere(snapshot.nodes, wish[0], wish[1])]


_NO_DEMANDS: Final = _Demands(None, (), False, ())


def _selections(affinity: Affinity, terms: AffinityTerms, counts: PodCounts) -> _Selections:
    near = tuple((counts.namespaces_of(term.pods), term.pods.selector) for term in terms.required)
    return _Selections(
        affinity,
        counts.namespaces_version,
        SelectedPods(near) if near else None,
        tuple(dict.fromkeys(term.topology_key for term in terms.required)),
        tuple((_selected(term, counts), term.topology_key) for term in terms.required_anti),
        tuple((_selected(term, counts), term.topology_key, term.weight) for term in terms.preferred),
    )


def _selected(term: AffinityTerm, counts: PodCounts) -> SelectedPods:
    return SelectedPods(((counts.namespaces_of(term.pods), term.pods.selector),))


def _selects(selected: SelectedPods, pod: PodInfo) -> bool:
    """Whether a pod that is not placed yet is one of those."""
    labels = pod.pod.metadata.labels or {}
    return all(
        (namespaces is None or pod.namespace in namespaces) and selector.matches(labels)
        for namespaces, selector in selected.terms
    )


def _counts_somewhere(nodes: NodeColumns, counter: Counter, key: str) -> bool:
    """Whether there is a pod to count on a node with the label."""
    return counter.sums(nodes, key).values_taken > 0


def _count_at(nodes: NodeColumns, counter: Counter, key: str, row: int) -> int:
    """Pods in the topology of one row."""
    value = nodes.label_column(key).ids.item(row)
    return 0 if value == MISSING else counter.sums(nodes, key).by_value.item(value)


def _exists(nodes: NodeColumns, demands: _Demands) -> bool:
    """Whether a pod that the pod wants to be near is anywhere at all."""
    near = demands.near
    return near is not None and any(_counts_somewhere(nodes, near, key) for key in demands.near_keys)


def _forbid_taken(tables: dict[str, IntArray], nodes: NodeColumns, counter: Counter, key: str, fault: int) -> None:
    """Note the fault for the values that have a pod."""
    sums = counter.sums(nodes, key)
    if sums.values_taken:
        _forbid(tables, key, sums.taken, fault)


def _forbid(tables: dict[str, IntArray], key: str, values: BoolArray, fault: int) -> None:
    faults = values.view(np.int8) * np.int8(fault)
    table = tables.get(key)
    tables[key] = faults if table is None else np.maximum(table, faults, out=table)

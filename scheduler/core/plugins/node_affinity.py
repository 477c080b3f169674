"""Matches a pod's node selector and node affinity with the labels and names of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.selectors import NodeTerm, SelectorError, compile_node_term
from scheduler.api.types import Node, NodeSelector, NodeSelectorTerm
from scheduler.api.types import NodeAffinity as NodeAffinitySpec
from scheduler.config.plugin_args import NodeAffinityArgs
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import (
    Depends,
    FilterPlugin,
    Normalize,
    PreFilterPlugin,
    PreFilterResult,
    Rows,
    ScorePlugin,
)
from scheduler.core.framework.node_matching import (
    NAME_FIELD,
    matches_any_term,
    matches_required,
    matches_term,
    node_matches,
    required_terms,
)
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

_POD_MISMATCH: Final = -1
_ENFORCED_MISMATCH: Final = -2
_REASONS: Final = {
    _POD_MISMATCH: "node(s) didn't match Pod's node affinity/selector",
    _ENFORCED_MISMATCH: "node(s) didn't match scheduler-enforced node affinity",
}


class NodeAffinity(PreFilterPlugin, FilterPlugin, ScorePlugin):
    """Filter: nodeSelector and required terms, after the args' `addedAffinity`. Score: weights of preferred terms."""

    name: ClassVar[str] = "NodeAffinity"
    depends: ClassVar[Depends] = Depends.NODE
    normalization: ClassVar[Normalize] = Normalize.DEFAULT

    def __init__(self, args: NodeAffinityArgs) -> None:
        self._added_affinity = args.added_affinity
        self._added_terms = required_terms(args.added_affinity)
        self._added_wishes = _wishes(args.added_affinity)

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """Selector and affinity; equal ones are one object. None when nothing restricts the nodes."""
        signature = self.hint_signature(pod)
        return None if signature == (0, 0) and self._added_terms is None else signature

    def hint_signature(self, pod: PodInfo) -> Hashable:
        """The same, whether or not something restricts the nodes."""
        selector, affinity = pod.pod.spec.node_selector, _affinity(pod)
        return (id(selector) if selector else 0, 0 if _required(affinity) is None else id(affinity))

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The affinity; None without wishes."""
        affinity = _affinity(pod)
        wishes = affinity is not None and bool(affinity.preferred_during_scheduling_ignored_during_execution)
        if not wishes and not self._added_wishes:
            return None
        return id(affinity) if wishes else 0

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> PreFilterResult | Status | None:
        """Narrow to the named nodes when every required term names some by ``metadata.name``."""
        terms = _required_terms(_affinity(pod))
        if not terms:
            return None
        names: frozenset[str] = frozenset()
        for term in terms:
            pinned = _pinned_names(term)
            if pinned is None:
                return None
            names |= pinned
        if not names:
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod affinity terms conflict")
        return PreFilterResult(names)

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """Which side a node does not match: the pod's own, or the one enforced by the args, asked first."""
        nodes = snapshot.nodes
        matching = matches_required(nodes, pod.pod.spec.node_selector, required_terms(_affinity(pod)), rows)
        verdicts = np.where(matching, 0, _POD_MISMATCH).astype(np.int32)
        if self._added_terms is not None:
            verdicts[~matches_any_term(nodes, self._added_terms, rows)] = _ENFORCED_MISMATCH
        return verdicts

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The reason of the side that does not match."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, _REASONS[verdict])

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """Σ weight of the preferred terms that a node matches."""
        scores = np.zeros(len(snapshot.nodes.exists[rows]), np.int64)
        for weight, preference in (*self._added_wishes, *_wishes(_affinity(pod))):
            scores += weight * matches_term(snapshot.nodes, preference, rows)
        return scores

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Nodes that come or change labels and match since then."""
        event = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (RegisteredEvent(event, self._matches_now),)

    def _matches_now(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        pod = queued.pod_info
        return self._matches(pod, new) and not self._matches(pod, old)

    def _matches(self, pod: PodInfo, node: object | None) -> bool:
        return (
            isinstance(node, Node)
            and node_matches(node, pod.pod.spec.node_selector, _affinity(pod))
            and node_matches(node, None, self._added_affinity)
        )


def _affinity(pod: PodInfo) -> NodeAffinitySpec | None:
    affinity = pod.pod.spec.affinity
    return affinity.node_affinity if affinity is not None else None


def _required(affinity: NodeAffinitySpec | None) -> NodeSelector | None:
    return affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None


def _required_terms(affinity: NodeAffinitySpec | None) -> tuple[NodeSelectorTerm, ...]:
    required = _required(affinity)
    return required.node_selector_terms if required is not None else ()


def _wishes(affinity: NodeAffinitySpec | None) -> list[tuple[int, NodeTerm]]:
    """Weight and term of each wish; one that is empty or can't be understood is granted nowhere."""
    wishes = (affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else None) or ()
    compiled = []
    for wish in wishes:
        try:
            compiled.append((wish.weight, compile_node_term(wish.preference)))
        except SelectorError:
            continue
    return compiled


def _pinned_names(term: NodeSelectorTerm) -> frozenset[str] | None:
    """Names to which a term's fields pin it: those that all its In conditions share; None without such a condition."""
    pins = [
        frozenset(condition.values or ())
        for condition in term.match_fields or ()
        if condition.key == NAME_FIELD and condition.operator == "In"
    ]
    return frozenset.intersection(*pins) if pins else None

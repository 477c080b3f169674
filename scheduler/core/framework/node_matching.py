"""Selectors and tolerations on columns: which rows match, decided per distinct value instead of per node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.selectors import NodeSelectorMatcher, NodeTerm, Operator, Requirement, compile_node_selector
from scheduler.api.sharing import SharingTable
from scheduler.api.tolerations import tolerates
from scheduler.api.types import Node, NodeAffinity, NodeSelector, Taint, Toleration
from scheduler.core.cache.columns import MISSING
from scheduler.core.framework.types import BoolArray, IntArray

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.framework.interface import Rows

NAME_FIELD: Final = "metadata.name"

_compiled: Final[SharingTable[NodeSelector, NodeSelectorMatcher]] = SharingTable(compile_node_selector)


def matches_labels(nodes: NodeColumns, labels: Mapping[str, str], rows: Rows) -> BoolArray:
    """Rows whose node carries all these labels (a pod's nodeSelector)."""
    matching = nodes.exists[rows].copy()
    for key, wanted in labels.items():
        ids, values = nodes.label(key)
        number = values.find(wanted)
        if number is None:
            return np.zeros(len(matching), np.bool_)
        matching &= ids[rows] == number
    return matching


def required_terms(affinity: NodeAffinity | None) -> tuple[NodeTerm, ...] | None:
    """The required terms that are valid; None when nothing is required."""
    if affinity is None or affinity.required_during_scheduling_ignored_during_execution is None:
        return None
    return _compiled[affinity.required_during_scheduling_ignored_during_execution].terms


def matches_required(
    nodes: NodeColumns, selector: Mapping[str, str] | None, terms: Sequence[NodeTerm] | None, rows: Rows
) -> BoolArray:
    """Rows that a pod's nodeSelector and its required terms (see `required_terms`) allow."""
    matching = matches_labels(nodes, selector or {}, rows)
    return matching if terms is None else matching & matches_any_term(nodes, terms, rows)


def node_matches(node: Node, selector: Mapping[str, str] | None, affinity: NodeAffinity | None) -> bool:
    """`matches_required` for a single Node object; for queueing hints, which see no columns."""
    labels = node.metadata.labels or {}
    terms = required_terms(affinity)
    return all(labels.get(key) == wanted for key, wanted in (selector or {}).items()) and (
        terms is None or any(term.matches(labels, node.metadata.name) for term in terms)
    )


def matches_any_term(nodes: NodeColumns, terms: Sequence[NodeTerm], rows: Rows) -> BoolArray:
    """Rows that match one of the terms; none without terms."""
    matching = np.zeros(len(nodes.exists[rows]), np.bool_)
    for term in terms:
        matching |= matches_term(nodes, term, rows)
    return matching


def matches_term(nodes: NodeColumns, term: NodeTerm, rows: Rows) -> BoolArray:
    """Rows that meet all of a term's conditions."""
    if term.labels.selects_nothing:
        return np.zeros(len(nodes.exists[rows]), np.bool_)
    matching = nodes.exists[rows].copy()
    for requirement in term.labels.requirements:
        matching &= _meets(nodes, requirement, rows)
    for field in term.fields:
        named = np.zeros(nodes.count, np.bool_)
        row = nodes.row_of(field.value) if field.key == NAME_FIELD else None
        if row is not None:
            named[row] = True
        matching &= named[rows] != field.negated
    return matching


def _meets(nodes: NodeColumns, requirement: Requirement, rows: Rows) -> BoolArray:
    ids, values = nodes.label(requirement.key)
    table = np.empty(len(values.values) + 1, np.bool_)
    if requirement.operator in (Operator.IN, Operator.NOT_IN):
        named = [number for value in requirement.values if (number := values.find(value)) is not None]
        table[:] = requirement.operator is Operator.NOT_IN
        table[named] = requirement.operator is Operator.IN
    elif requirement.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        table[:] = requirement.operator is Operator.EXISTS
    else:
        for number, value in enumerate(values.values):
            table[number] = value is not None and requirement.matches({requirement.key: value})
    table[-1] = requirement.matches({})  # MISSING, the id of a node without the label, indexes the last entry
    return table[ids[rows]]


def repels(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Whether a NoSchedule or NoExecute taint is not tolerated."""
    return any(taint.effect in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations) for taint in taints)


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether one of the tolerations meets the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def per_taint_set(nodes: NodeColumns, rows: Rows, number: Callable[[tuple[Taint, ...]], int]) -> IntArray:
    """A number for each row's taints, asked once per distinct tuple of them; 0 without taints."""
    ids = nodes.taint_set_ids[rows]
    table = np.zeros(len(nodes.taint_sets.values) + 1, np.int64)  # the last entry serves rows without a node
    for taint_set_id in (np.flatnonzero(np.bincount(ids - MISSING)) + MISSING).tolist():
        taints = nodes.taint_sets.values[taint_set_id] if taint_set_id != MISSING else None
        if taints:
            table[taint_set_id] = number(taints)
    return table[ids]

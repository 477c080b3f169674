"""Node selectors on columns: which rows match, decided per distinct label value instead of per node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.api.selectors import NodeTerm, Operator, Requirement
from scheduler.core.framework.types import BoolArray

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.framework.interface import Rows

NAME_FIELD: Final = "metadata.name"


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
    else:
        for number, value in enumerate(values.values):
            table[number] = value is not None and requirement.matches({requirement.key: value})
    table[-1] = requirement.matches({})  # MISSING, the id of a node without the label, indexes the last entry
    return table[ids[rows]]

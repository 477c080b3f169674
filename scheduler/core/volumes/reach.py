"""Which of many things that only some nodes reach is the first one for each node.

Things are volumes, or storage capacities: thousands of them, each with node selector terms that mostly name one label
and its values. So a node's first thing is found by label value and not by node: a table has the first things of each
value, and the label's column picks from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from scheduler.api.selectors import NodeTerm, Operator
from scheduler.core.framework.node_matching import matches_any_term
from scheduler.core.framework.types import BoolArray, IntArray

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.interning import Interned

Terms: TypeAlias = "tuple[NodeTerm, ...]"

NOWHERE: Final = np.iinfo(np.int64).max
"""Position of what is not to be had."""

_ALL: Final = slice(None)


@dataclass(slots=True)
class _OfLabel:
    """Things that are reached from nodes where one label has one of some values.

    Attributes:
        slots, value_ids: a pair a value of each thing; the ids are those of the table `known` as of `version`.
    """

    values: dict[int, tuple[str, ...]] = field(default_factory=dict)
    known: Interned[str] | None = None
    version: int = -1
    slots: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    value_ids: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def pairs(self, known: Interned[str]) -> tuple[IntArray, IntArray]:
        """Slots and value ids of the values that some node has."""
        if self.known is not known or self.version != known.version:
            found = [
                (slot, number)
                for slot, values in self.values.items()
                for value in values
                if (number := known.find(value)) is not None
            ]
            self.slots = np.array([slot for slot, _ in found], np.int64)
            self.value_ids = np.array([number for _, number in found], np.int64)
            self.known, self.version = known, known.version
        return self.slots, self.value_ids


class Reach:
    """Things by slot, each with the terms of the nodes that reach it; None for all nodes."""

    def __init__(self) -> None:
        self._terms: dict[int, Terms | None] = {}
        self._everywhere: set[int] = set()
        self._by_label: dict[str, _OfLabel] = {}
        self._by_terms: dict[Terms, set[int]] = {}
        self._left: dict[int, str] = {}

    def put(self, slot: int, terms: Terms | None) -> None:
        """The slot's thing is reached from these nodes."""
        if slot in self._terms:
            if self._terms[slot] == terms:
                return
            self.remove(slot)
        left = self._by_label.get(self._left.pop(slot, ""))
        if left is not None:
            left.version = -1
        self._terms[slot] = terms
        label = _only_label(terms)
        if terms is None:
            self._everywhere.add(slot)
        elif label is not None:
            of_label = self._by_label.setdefault(label[0], _OfLabel())
            of_label.values[slot] = label[1]
            of_label.version = -1
        else:
            self._by_terms.setdefault(terms, set()).add(slot)

    def remove(self, slot: int) -> None:
        """The slot is free. Its pairs stay until the slot is used again: what is not to be had does no harm."""
        terms = self._terms.pop(slot)
        label = _only_label(terms)
        if terms is None:
            self._everywhere.discard(slot)
        elif label is not None:
            of_label = self._by_label[label[0]]
            del of_label.values[slot]
            self._left[slot] = label[0]
            if not of_label.values:
                del self._by_label[label[0]]
        else:
            self._by_terms[terms].discard(slot)
            if not self._by_terms[terms]:
                del self._by_terms[terms]

    def first(self, position_of: IntArray, nodes: NodeColumns, number: int) -> IntArray:
        """The positions of the first things that each node reaches; rows by at least one column, in no order.

        Args:
            nodes: the columns.
            position_of: the things' positions by slot, NOWHERE for those that are not to be had.
            number: how many are wanted; among those given are so many that come first.
        """
        everywhere = position_of[np.fromiter(self._everywhere, np.int64, len(self._everywhere))]
        columns = [np.full(nodes.count, position, np.int64) for position in _first(everywhere, number).tolist()]
        for key, of_label in self._by_label.items():
            ids, known = nodes.label(key)
            slots, value_ids = of_label.pairs(known)
            table = _first_by_value(position_of[slots], value_ids, len(known.values), number)
            columns.extend(table[ids].T)  # MISSING, the id of a node without the label, indexes the last entry
        for terms, slots_of_terms in self._by_terms.items():
            positions = _first(position_of[np.fromiter(slots_of_terms, np.int64, len(slots_of_terms))], number)
            if len(positions):
                reached = matches_any_term(nodes, terms, _ALL)
                columns.extend(np.where(reached, position, NOWHERE) for position in positions.tolist())
        return np.stack(columns, axis=1) if columns else np.full((nodes.count, 1), NOWHERE)


def reached(terms: Terms | None, nodes: NodeColumns) -> BoolArray:
    """The rows from which a thing with these terms is reached."""
    return nodes.exists if terms is None else matches_any_term(nodes, terms, _ALL)


def _only_label(terms: Terms | None) -> tuple[str, tuple[str, ...]] | None:
    """Key and values if the terms ask for nothing but that one label has one of some values."""
    if terms is None or len(terms) != 1 or terms[0].fields or len(terms[0].labels.requirements) != 1:
        return None
    (requirement,) = terms[0].labels.requirements
    return (requirement.key, requirement.values) if requirement.operator is Operator.IN else None


def _first(positions: IntArray, number: int) -> IntArray:
    return np.sort(positions[positions < NOWHERE])[:number]


def _first_by_value(positions: IntArray, value_ids: IntArray, values: int, number: int) -> IntArray:
    """The first positions of each value; a row a value, and one more of nothing."""
    table = np.full((values + 1, number), NOWHERE)
    there = positions < NOWHERE
    positions, value_ids = positions[there], value_ids[there]
    order = np.lexsort((positions, value_ids))
    positions, value_ids = positions[order], value_ids[order]
    begins = np.flatnonzero(np.diff(value_ids, prepend=-1))
    rank = np.arange(len(value_ids)) - np.repeat(begins, np.diff(begins, append=len(value_ids)))
    kept = rank < number
    table[value_ids[kept], rank[kept]] = positions[kept]
    return table

"""Label, node and field selectors, compiled once and asked often.

A compiled selector is a value in canonical form: selectors that say the same in another order or spelling are equal
and have the same hash, so that whatever is kept per selector (counters, masks) is kept once.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from scheduler.api.meta import LabelSelector
from scheduler.api.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm


class SelectorError(ValueError):
    """A selector that the API server should have refused; the message names the field and what is wrong with it."""


class Operator(StrEnum):
    """How a requirement looks at a label; Gt and Lt exist for nodes only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_FOR_LABELS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_FOR_NODES: Final = tuple(Operator)
_FOR_FIELDS: Final = (Operator.IN, Operator.NOT_IN)

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_DOMAIN: Final = 253


def parse_int64(text: str) -> int | None:
    """The number as Go's `strconv.ParseInt(text, 10, 64)` reads it (`010` is 10, `+5` is 5), None where that fails."""
    if _INTEGER.fullmatch(text) is None or len(text) > 100:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


class Requirement(Struct, frozen=True):
    """One condition on a label; `values` are sorted and distinct."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels fulfil it; an absent label fulfils NotIn and DoesNotExist."""
        label = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return label in self.values
            case Operator.NOT_IN:
                return label not in self.values
            case Operator.EXISTS:
                return label is not None
            case Operator.DOES_NOT_EXIST:
                return label is None
            case Operator.GT | Operator.LT:
                return label is not None and self._compares(label)

    def _compares(self, label: str) -> bool:
        found, limit = parse_int64(label), parse_int64(self.values[0])
        if found is None or limit is None:
            return False
        return found > limit if self.operator is Operator.GT else found < limit


class Selector(Struct, frozen=True, cache_hash=True):
    """All requirements must hold: none selects everything, unless `selects_nothing`, as an absent selector does."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        if self.selects_nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 (half the time of all() and a generator)
            if not requirement.matches(labels):
                return False
        return True


NOTHING: Final = Selector(selects_nothing=True)
EVERYTHING: Final = Selector()


def compile_labels(labels: Mapping[str, str] | None) -> Selector:
    """Selects what carries all these labels (a pod's nodeSelector, a service's selector); without labels everything."""
    return _canonical(Requirement(key, Operator.IN, (label,)) for key, label in (labels or {}).items())


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """The compiled form; absent selects nothing, empty selects everything.

    Raises:
        SelectorError: for an unknown operator, a missing or superfluous value, or what cannot be a label.
    """
    if selector is None:
        return NOTHING
    requirements = [
        _requirement(key, Operator.IN, (label,), _FOR_LABELS, f"matchLabels[{key}]")
        for key, label in (selector.match_labels or {}).items()
    ]
    requirements += [
        _requirement(each.key, each.operator, each.values or (), _FOR_LABELS, f"matchExpressions[{index}]")
        for index, each in enumerate(selector.match_expressions or ())
    ]
    return _canonical(requirements)


def all_of(*selectors: Selector) -> Selector:
    """Selects what every one of them selects."""
    if any(selector.selects_nothing for selector in selectors):
        return NOTHING
    return _canonical(requirement for selector in selectors for requirement in selector.requirements)


class FieldRequirement(Struct, frozen=True):
    """A node's field must (or, negated, must not) have the value."""

    key: str
    value: str
    negated: bool = False

    def matches(self, node_name: str) -> bool:
        """Whether the node fulfils it; the only field there is is `metadata.name`, others are empty."""
        return ((node_name if self.key == "metadata.name" else "") == self.value) is not self.negated


class NodeTerm(Struct, frozen=True, cache_hash=True):
    """A compiled node selector term: labels and fields must match."""

    labels: Selector
    fields: tuple[FieldRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether the node is meant."""
        return self.labels.matches(labels) and all(field.matches(node_name) for field in self.fields)


class NodeSelectorMatcher(Struct, frozen=True, cache_hash=True):
    """A compiled node selector: one of the terms must match. `faults` tells of terms that are wrong and left out."""

    terms: tuple[NodeTerm, ...] = ()
    faults: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether the node is selected."""
        return any(term.matches(labels, node_name) for term in self.terms)


def compile_node_term(term: NodeSelectorTerm) -> NodeTerm:
    """The compiled term; an empty one matches no node.

    Raises:
        SelectorError: for an unknown operator, a wrong number of values, or what cannot be a label or a number.
    """
    if not term.match_expressions and not term.match_fields:
        return NodeTerm(NOTHING)
    labels = _canonical(
        _requirement(each.key, each.operator, each.values or (), _FOR_NODES, f"matchExpressions[{index}]")
        for index, each in enumerate(term.match_expressions or ())
    )
    fields = {_field_requirement(each, f"matchFields[{index}]") for index, each in enumerate(term.match_fields or ())}
    return NodeTerm(labels, tuple(sorted(fields, key=lambda field: (field.key, field.value, field.negated))))


def compile_node_selector(selector: NodeSelector) -> NodeSelectorMatcher:
    """The compiled form; a wrong term is reported and matches nothing, the others count (as in kube-scheduler)."""
    terms: list[NodeTerm] = []
    faults: list[str] = []
    for index, term in enumerate(selector.node_selector_terms):
        try:
            terms.append(compile_node_term(term))
        except SelectorError as error:
            faults.append(f"nodeSelectorTerms[{index}].{error}")
    return NodeSelectorMatcher(tuple(terms), tuple(faults))


def _canonical(requirements: Iterable[Requirement]) -> Selector:
    distinct = sorted(set(requirements), key=lambda each: (each.key, each.operator, each.values))
    return Selector(tuple(distinct)) if distinct else EVERYTHING


def _requirement(
    key: str, operator: str, values: tuple[str, ...], allowed: tuple[Operator, ...], path: str
) -> Requirement:
    """The checked requirement; every fault the API server would find is found here, since objects may be older."""
    if operator not in allowed:
        raise SelectorError(f"{path}.operator: {operator!r} is none of {', '.join(allowed)}")
    if not _is_label_key(key):
        raise SelectorError(f"{path}.key: {key!r} cannot be a label")
    if operator in {Operator.IN, Operator.NOT_IN} and not values:
        raise SelectorError(f"{path}.values: {operator} needs at least one value")
    if operator in {Operator.EXISTS, Operator.DOES_NOT_EXIST} and values:
        raise SelectorError(f"{path}.values: {operator} takes no value")
    if operator in {Operator.GT, Operator.LT} and (len(values) != 1 or parse_int64(values[0]) is None):
        raise SelectorError(f"{path}.values: {operator} needs exactly one value, an integer")
    for index, value in enumerate(values):
        if value and _NAME.fullmatch(value) is None:
            raise SelectorError(f"{path}.values[{index}]: {value!r} cannot be a label's value")
    return Requirement(key, Operator(operator), tuple(sorted(set(values))))


def _field_requirement(requirement: NodeSelectorRequirement, path: str) -> FieldRequirement:
    if requirement.operator not in _FOR_FIELDS:
        raise SelectorError(f"{path}.operator: {requirement.operator!r} is none of {', '.join(_FOR_FIELDS)}")
    values = requirement.values or ()
    if len(values) != 1:
        raise SelectorError(f"{path}.values: {requirement.operator} on a field needs exactly one value")
    return FieldRequirement(requirement.key, values[0], requirement.operator == Operator.NOT_IN)


def _is_label_key(key: str) -> bool:
    domain, slash, name = key.rpartition("/")
    if _NAME.fullmatch(name) is None:
        return False
    return not slash or (len(domain) <= _LONGEST_DOMAIN and _DOMAIN.fullmatch(domain) is not None)

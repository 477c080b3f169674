"""Pods per selector, kept up to date pod by pod: what spreading and affinity read instead of counting.

Pods that agree in all that a selector can see form a class: namespace, labels, own affinity terms, and whether they
are being deleted; and in priority, for preemption asks whom it may remove. A class knows the rows of its pods and every
counter that it counts in, so a pod that comes or goes costs one look-up and a few additions, whatever the number of
selectors. Two kinds of counters hang on the classes:

* `PodCounter`: the pods that some terms select, asked for by pods to be scheduled; made at first use from the classes
  that an index by label finds, dropped when not asked for any longer;
* `OwnedTerm`: the affinity terms that placed pods have themselves, found by the labels of the pod that they select.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from scheduler.api.selectors import Operator, Selector
from scheduler.api.types import Namespace
from scheduler.core.cache.topology import NodeMask, TopologySums
from scheduler.core.framework.pod_terms import AffinityTerm, CompiledTerms, PodTerm
from scheduler.core.framework.types import IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_objects import ObjectStore
    from scheduler.core.cache.columns import NodeColumns

LabelPair: TypeAlias = "tuple[str, str]"
C = TypeVar("C")

_NO_LABELS: Final[Mapping[str, str]] = {}
_COUNTER_BYTES: Final = 96 * 1024 * 1024
_FEWEST_COUNTERS: Final = 1_024
_REMEMBERED: Final = 4_096
_MOST_SUMS: Final = 16


class TermKind(Enum):
    """What an owned term demands."""

    REQUIRED = "required affinity"
    REQUIRED_ANTI = "required anti-affinity"
    PREFERRED = "wishes of both kinds, by weight"

    # Looked up several times in every cycle, and Enum's own hash is that of the name.
    __hash__ = object.__hash__


class SelectedPods(NamedTuple):
    """Pods that a `PodCounter` counts: those that every one of the terms selects.

    Attributes:
        terms: namespaces (None for all) and selector of each.
        live_only: whether pods that are being deleted are left out.
    """

    terms: tuple[tuple[frozenset[str] | None, Selector], ...]
    live_only: bool = False

    def include(self, pods: PodClass) -> bool:
        """Whether the pods of a class are meant."""
        if self.live_only and pods.terminating:
            return False
        for namespaces, selector in self.terms:
            if (namespaces is not None and pods.namespace not in namespaces) or not selector.matches(pods.labels):
                return False
        return True


class PodClass:
    """Placed pods of one priority that no selector can tell apart.

    Attributes:
        rows: row to number of pods.
        counters: those that count them, with how much a pod counts.
        pod: one of them, held so that identities in the key stay taken.
    """

    __slots__ = ("counters", "labels", "namespace", "pod", "priority", "rows", "terminating")

    def __init__(self, pod: PodInfo) -> None:
        self.pod = pod
        self.namespace = pod.namespace
        self.priority = pod.priority
        self.labels = pod.pod.metadata.labels or _NO_LABELS
        self.terminating = pod.pod.metadata.deletion_timestamp is not None
        self.rows: dict[int, int] = {}
        self.counters: dict[Counter, int] = {}


class Counter:
    """Sums over some classes, by the values of any label."""

    __slots__ = ("_by_row", "_sums", "classes")

    def __init__(self) -> None:
        self.classes: dict[PodClass, int] = {}
        self._by_row: IntArray | None = None
        self._sums: dict[tuple[str, NodeMask | None], TopologySums] = {}

    def sums(self, nodes: NodeColumns, key: str, mask: NodeMask | None = None) -> TopologySums:
        """The sums by the values of a label, over the nodes of a mask that was just refreshed."""
        sums = self._sums.get((key, mask))
        column = nodes.label_column(key)
        if sums is None:
            if len(self._sums) >= _MOST_SUMS:
                self._sums.clear()  # masks come and go; those in use are soon counted again
            sums = self._sums[key, mask] = TopologySums(mask)
        if not sums.is_current(column):
            sums.rebuild(column, ((pods.rows, weight) for pods, weight in self.classes.items()))
        return sums

    def by_row(self, nodes: NodeColumns) -> IntArray:
        """The sum on each node, int64 a row."""
        if self._by_row is None or len(self._by_row) < nodes.count:
            self._by_row = np.zeros(nodes.capacity, np.int64)
            for pods, weight in self.classes.items():
                for row, count in pods.rows.items():
                    self._by_row[row] += count * weight
        return self._by_row[: nodes.count]

    def rows_below(self, priority: int) -> set[int]:
        """Rows with pods of lower priority that it counts."""
        return set().union(*(pods.rows for pods in self.classes if pods.priority < priority))

    def add(self, row: int, amount: int) -> None:
        """So much more, or less, on a row."""
        if self._by_row is not None:
            if row < len(self._by_row):
                self._by_row[row] += amount
            else:
                self._by_row = None
        for sums in self._sums.values():
            sums.add(row, amount)

    def forget_sums(self) -> None:
        """Count anew when next asked."""
        self._sums.clear()
        self._by_row = None


class PodCounter(Counter):
    """Counts the pods that some terms select."""

    __slots__ = ("selected",)

    def __init__(self, selected: SelectedPods) -> None:
        super().__init__()
        self.selected = selected


class OwnedTerm(Counter):
    """Adds up the pods that have a term (for wishes: its weights)."""

    __slots__ = ("kind", "pods", "topology_key")

    def __init__(self, kind: TermKind, pods: PodTerm, topology_key: str) -> None:
        super().__init__()
        self.kind = kind
        self.pods = pods
        self.topology_key = topology_key


TermsByKind: TypeAlias = "Mapping[TermKind, Sequence[OwnedTerm]]"

_NO_OWNED_TERMS: Final[TermsByKind] = {}


class LabelIndex(dict["LabelPair | None", dict[C, None]]):
    """Finds by a pod's labels what selects it: by one pair that the labels must have, or None where none is needed."""

    def put(self, selectors: Iterable[Selector], entry: C) -> None:
        """Add an entry under the requirement with the fewest values."""
        for pair in _pairs(selectors):
            self.setdefault(pair, {})[entry] = None

    def drop(self, selectors: Iterable[Selector], entry: C) -> None:
        """Take an entry out again."""
        for pair in _pairs(selectors):
            entries = self[pair]
            del entries[entry]
            if not entries:
                del self[pair]

    def found_by(self, labels: Mapping[str, str]) -> Iterator[C]:
        """Entries that may select a pod with these labels; each once, since a requirement has one value a pod."""
        yield from self.get(None, ())
        for pair in labels.items():
            yield from self.get(pair, ())


class PodCounts:
    """All classes and counters. Written by the snapshot's refresh and by overlays, read by plugins within a cycle.

    Attributes:
        terms: the affinity terms of pods.
    """

    def __init__(self, nodes: NodeColumns, namespaces: ObjectStore[Namespace]) -> None:
        self.terms = CompiledTerms()
        self._nodes = nodes
        self._namespaces = namespaces
        self._classes: dict[tuple[object, ...], PodClass] = {}
        self._by_pair: dict[LabelPair, dict[PodClass, None]] = {}
        self._by_namespace: dict[str, dict[PodClass, None]] = {}
        self._counters: OrderedDict[SelectedPods, PodCounter] = OrderedDict()
        self._counter_index: LabelIndex[PodCounter] = LabelIndex()
        self._owned: dict[tuple[TermKind, PodTerm, str], OwnedTerm] = {}
        self._owned_index: LabelIndex[OwnedTerm] = LabelIndex()
        self._selecting: dict[tuple[str, int], tuple[Mapping[str, str] | None, TermsByKind]] = {}
        self._selecting_version = namespaces.version
        self._holding: OrderedDict[OwnedTerm, None] = OrderedDict()
        self._resolved: dict[PodTerm, frozenset[str]] = {}
        self._resolved_version = namespaces.version

    # --- reading

    @property
    def namespaces_version(self) -> int:
        """Grows when `namespaces_of` may answer otherwise."""
        return self._namespaces.version

    def namespaces_of(self, term: PodTerm) -> frozenset[str] | None:
        """The namespaces that a term means now, None for all."""
        if term.namespace_selector.selects_nothing:
            return term.namespaces
        if not term.namespace_selector.requirements:
            return None
        if self._resolved_version != self._namespaces.version:
            self._resolved.clear()
            self._resolved_version = self._namespaces.version
        resolved = self._resolved.get(term)
        if resolved is None:
            if len(self._resolved) >= _REMEMBERED:
                self._resolved.clear()
            resolved = self._resolved[term] = term.namespaces.union(
                namespace.metadata.name
                for namespace in self._namespaces
                if term.namespace_selector.matches(namespace.metadata.labels or _NO_LABELS)
            )
        return resolved

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """A namespace's labels, none for one that is not known."""
        found = self._namespaces.get(namespace)
        return (found.metadata.labels if found is not None else None) or _NO_LABELS

    def counter(self, selected: SelectedPods) -> PodCounter:
        """The counter of some pods, made when it is not there. Good for this cycle: it may be dropped later."""
        counter = self._counters.get(selected)
        if counter is None:
            return self._new_counter(selected)
        self._counters.move_to_end(selected)
        return counter

    def owned_terms_selecting(self, pod: PodInfo) -> TermsByKind:
        """The terms of placed pods that select `pod`; kinds without any are left out."""
        if not self._owned:
            return _NO_OWNED_TERMS
        if self._selecting_version != self._namespaces.version:
            self._selecting.clear()
            self._selecting_version = self._namespaces.version
        labels = pod.pod.metadata.labels
        key = (pod.namespace, id(labels))
        known = self._selecting.get(key)
        if known is None:
            if len(self._selecting) >= _REMEMBERED:
                self._selecting.clear()
            known = self._selecting[key] = (labels, self._find_owned(pod.namespace, labels or _NO_LABELS))
        for terms in known[1].values():
            for term in terms:
                self._hold(term)
        return known[1]

    def _hold(self, term: OwnedTerm) -> None:
        """Let the term keep its sums, and those not asked about for longest no more."""
        self._holding[term] = None
        self._holding.move_to_end(term)
        if len(self._holding) > self._most_counters:
            self._holding.popitem(last=False)[0].forget_sums()

    @property
    def _most_counters(self) -> int:
        """Counters that keep sums; of a label with a value a node these are as long as all nodes."""
        return max(_FEWEST_COUNTERS, _COUNTER_BYTES // (8 * max(1, self._nodes.count)))

    def _find_owned(self, namespace: str, labels: Mapping[str, str]) -> TermsByKind:
        namespace_labels = self.namespace_labels(namespace)
        found: dict[TermKind, list[OwnedTerm]] = {}
        for owned in self._owned_index.found_by(labels):
            if owned.pods.selects(namespace, namespace_labels, labels):
                found.setdefault(owned.kind, []).append(owned)
        return found

    # --- writing

    def count_pod(self, row: int, pod: PodInfo, sign: int) -> None:
        """Count a placed pod in (1) or out (-1)."""
        metadata = pod.pod.metadata
        being_deleted = metadata.deletion_timestamp is not None
        key = (pod.namespace, id(metadata.labels), id(pod.pod.spec.affinity), being_deleted, pod.priority)
        pods = self._classes.get(key)
        if pods is None:
            pods = self._classes[key] = self._new_class(pod)
        count = pods.rows.get(row, 0) + sign
        if count:
            pods.rows[row] = count
        else:
            del pods.rows[row]
        for counter, weight in pods.counters.items():
            counter.add(row, sign * weight)
        if not pods.rows:
            del self._classes[key]
            self._forget_class(pods)

    def _new_class(self, pod: PodInfo) -> PodClass:
        pods = PodClass(pod)
        self._by_namespace.setdefault(pods.namespace, {})[pods] = None
        for pair in pods.labels.items():
            self._by_pair.setdefault(pair, {})[pods] = None
        for counter in self._counter_index.found_by(pods.labels):
            if counter.selected.include(pods):
                _join(counter, pods, 1)
        terms = self.terms.of(pod)
        for kind, owned in (
            (TermKind.REQUIRED, terms.required),
            (TermKind.REQUIRED_ANTI, terms.required_anti),
            (TermKind.PREFERRED, terms.preferred),
        ):
            for term in owned:
                self._own(pods, kind, term)
        return pods

    def _own(self, pods: PodClass, kind: TermKind, term: AffinityTerm) -> None:
        key = (kind, term.pods, term.topology_key)
        owned = self._owned.get(key)
        if owned is None:
            owned = self._owned[key] = OwnedTerm(*key)
            self._owned_index.put((term.pods.selector,), owned)
            self._selecting.clear()
        _join(owned, pods, term.weight if kind is TermKind.PREFERRED else 1)

    def _forget_class(self, pods: PodClass) -> None:
        _drop(self._by_namespace, pods.namespace, pods)
        for pair in pods.labels.items():
            _drop(self._by_pair, pair, pods)
        for counter in pods.counters:
            del counter.classes[pods]
            if isinstance(counter, OwnedTerm) and not counter.classes:
                del self._owned[counter.kind, counter.pods, counter.topology_key]
                self._owned_index.drop((counter.pods.selector,), counter)
                self._selecting.clear()
                self._holding.pop(counter, None)

    def _new_counter(self, selected: SelectedPods) -> PodCounter:
        counter = self._counters[selected] = PodCounter(selected)
        selectors = [selector for _, selector in selected.terms]
        self._counter_index.put(selectors, counter)
        for pods in self._candidates(selected):
            if selected.include(pods):
                _join(counter, pods, 1)
        if len(self._counters) > self._most_counters:
            _, dropped = self._counters.popitem(last=False)
            self._counter_index.drop([selector for _, selector in dropped.selected.terms], dropped)
            for pods in dropped.classes:
                del pods.counters[dropped]
        return counter

    def _candidates(self, selected: SelectedPods) -> list[PodClass]:
        """Classes that may be meant: the smallest set that an index gives, each once."""
        pairs = _pairs(selector for _, selector in selected.terms)
        by_label = None if None in pairs else [self._by_pair.get(pair, {}) for pair in pairs if pair is not None]
        by_namespace = [
            [self._by_namespace.get(namespace, {}) for namespace in namespaces]
            for namespaces, _ in selected.terms
            if namespaces is not None
        ]
        found = [*([by_label] if by_label is not None else []), *by_namespace]
        if not found:
            return list(self._classes.values())
        smallest = min(found, key=lambda sets: sum(map(len, sets)))
        return list({pods: None for each in smallest for pods in each})


def _join(counter: Counter, pods: PodClass, weight: int) -> None:
    """Let a counter count a class: either is new, so that there are no sums yet which would lack the other's pods."""
    weight += counter.classes.get(pods, 0)
    counter.classes[pods] = pods.counters[counter] = weight


def _drop(index: dict[C, dict[PodClass, None]], key: C, pods: PodClass) -> None:
    classes = index[key]
    del classes[pods]
    if not classes:
        del index[key]


def _pairs(selectors: Iterable[Selector]) -> tuple[LabelPair | None, ...]:
    """Label pairs one of which every selected pod has: of the In requirement with the fewest values; or None alone."""
    choices = [
        requirement
        for selector in selectors
        for requirement in selector.requirements
        if requirement.operator is Operator.IN
    ]
    if not choices:
        return (None,)
    fewest = min(choices, key=lambda requirement: len(requirement.values))
    return tuple((fewest.key, value) for value in fewest.values)

"""What a pod's affinity says about other pods, compiled."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from scheduler.api.selectors import NOTHING, Selector, SelectorError, compile_label_selector
from scheduler.api.types import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm
from scheduler.core.framework.types import PodInfo

_REMEMBERED: Final = 16_384


class PodTerm(NamedTuple):
    """Which pods a term is about: those that `selector` selects, in certain namespaces.

    Attributes:
        namespaces: by name; the defining pod's own where the term names none in any way.
        namespace_selector: and by the labels of the namespace; NOTHING where the term has none.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector

    def selects(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels, in a namespace with those, is meant."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


class AffinityTerm(NamedTuple):
    """A term with the node label whose values are its topology; `weight` is negative for anti-affinity wishes."""

    pods: PodTerm
    topology_key: str
    weight: int = 0


class AffinityTerms(NamedTuple):
    """All terms of a pod. Compiled by `affinity_terms`; `preferred` holds the wishes of both kinds."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()


NO_TERMS = AffinityTerms()


def affinity_terms(affinity: Affinity | None, namespace: str) -> AffinityTerms:
    """The terms that a pod of this namespace has by its affinity.

    Raises:
        SelectorError: a selector that the API server should have refused.
    """
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    return AffinityTerms(
        _required(near.required_during_scheduling_ignored_during_execution, namespace),
        _required(far.required_during_scheduling_ignored_during_execution, namespace),
        (
            *_preferred(near.preferred_during_scheduling_ignored_during_execution, namespace, 1),
            *_preferred(far.preferred_during_scheduling_ignored_during_execution, namespace, -1),
        ),
    )


class CompiledTerms:
    """The terms of pods, compiled once for all pods that share an affinity, as equal ones do. Bounded."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, str], tuple[Affinity, AffinityTerms | SelectorError]] = OrderedDict()

    def of(self, pod: PodInfo) -> AffinityTerms:
        """The pod's own terms.

        Raises:
            SelectorError: one of them has a selector that the API server should have refused.
        """
        terms = self._find(pod)
        if isinstance(terms, SelectorError):
            raise terms
        return terms

    def understood(self, pod: PodInfo) -> AffinityTerms:
        """The pod's own terms; none where one of them has a selector that nobody understands."""
        terms = self._find(pod)
        return NO_TERMS if isinstance(terms, SelectorError) else terms

    def _find(self, pod: PodInfo) -> AffinityTerms | SelectorError:
        affinity = pod.pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return NO_TERMS
        key = (id(affinity), pod.namespace)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (affinity, _compiled(affinity, pod.namespace))
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known[1]


def _compiled(affinity: Affinity, namespace: str) -> AffinityTerms | SelectorError:
    try:
        return affinity_terms(affinity, namespace)
    except SelectorError as error:
        return error


def _required(terms: Iterable[PodAffinityTerm] | None, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(AffinityTerm(_pods(term, namespace), term.topology_key) for term in terms or ())


def _preferred(wishes: Iterable[WeightedPodAffinityTerm] | None, namespace: str, sign: int) -> tuple[AffinityTerm, ...]:
    return tuple(
        AffinityTerm(_pods(wish.pod_affinity_term, namespace), wish.pod_affinity_term.topology_key, sign * wish.weight)
        for wish in wishes or ()
    )


def _pods(term: PodAffinityTerm, namespace: str) -> PodTerm:
    own = not term.namespaces and term.namespace_selector is None
    return PodTerm(
        frozenset((namespace,) if own else term.namespaces or ()),
        NOTHING if term.namespace_selector is None else compile_label_selector(term.namespace_selector),
        compile_label_selector(term.label_selector),
    )

"""What a pod's affinity says about other pods, compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from scheduler.api.selector_wording import kubernetes_wording
from scheduler.api.selectors import NOTHING, Selector, SelectorError, compile_label_selector
from scheduler.api.types import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm
from scheduler.core.framework.kept_results import Remembered
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
    """All terms of a pod. Compiled by `affinity_terms`; `preferred` holds the wishes of both kinds.

    Attributes:
        faults: what is wrong with terms that the API server should have refused, in kube-scheduler's words. Of each of
            the four lists in which a term is wrong no term counts.
    """

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    faults: tuple[str, ...] = ()


NO_TERMS = AffinityTerms()


class CompiledTerms:
    """The terms of pods, compiled once for all pods that share an affinity, as equal ones do. Bounded."""

    def __init__(self) -> None:
        self._known: Remembered[tuple[int, str], tuple[Affinity, AffinityTerms]] = Remembered(_REMEMBERED)

    def of(self, pod: PodInfo) -> AffinityTerms:
        """The pod's own terms."""
        affinity = pod.pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return NO_TERMS
        key = (id(affinity), pod.namespace)
        known = self._known.get(key)
        if known is None:
            known = self._known.remember(key, (affinity, affinity_terms(affinity, pod.namespace)))
        return known[1]


def affinity_terms(affinity: Affinity, namespace: str) -> AffinityTerms:
    """The terms that a pod of this namespace has by its affinity."""
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    faults: list[str] = []

    def compiled(name: str, terms: Iterable[tuple[int, PodAffinityTerm]]) -> tuple[AffinityTerm, ...]:
        given = list(terms)
        try:
            return tuple(AffinityTerm(_pods(term, namespace), term.topology_key, weight) for weight, term in given)
        except SelectorError as error:
            faults.append(f"{name}: {_first_fault(term for _, term in given) or error}")
            return ()

    required = compiled("requiredAffinityTerms", _unweighted(near.required_during_scheduling_ignored_during_execution))
    anti = compiled("requiredAntiAffinityTerms", _unweighted(far.required_during_scheduling_ignored_during_execution))
    wishes = compiled("preferredAffinityTerms", _weighted(near.preferred_during_scheduling_ignored_during_execution, 1))
    wishes += compiled(
        "preferredAntiAffinityTerms", _weighted(far.preferred_during_scheduling_ignored_during_execution, -1)
    )
    return AffinityTerms(required, anti, wishes, tuple(faults))


def _unweighted(terms: Iterable[PodAffinityTerm] | None) -> Iterator[tuple[int, PodAffinityTerm]]:
    return ((0, term) for term in terms or ())


def _weighted(wishes: Iterable[WeightedPodAffinityTerm] | None, sign: int) -> Iterator[tuple[int, PodAffinityTerm]]:
    return ((sign * wish.weight, wish.pod_affinity_term) for wish in wishes or ())


def _pods(term: PodAffinityTerm, namespace: str) -> PodTerm:
    own = not term.namespaces and term.namespace_selector is None
    return PodTerm(
        frozenset((namespace,) if own else term.namespaces or ()),
        NOTHING if term.namespace_selector is None else compile_label_selector(term.namespace_selector),
        compile_label_selector(term.label_selector),
    )


def _first_fault(terms: Iterable[PodAffinityTerm]) -> str:
    wordings = (
        kubernetes_wording(term.label_selector) or kubernetes_wording(term.namespace_selector) for term in terms
    )
    return next(filter(None, wordings), "")

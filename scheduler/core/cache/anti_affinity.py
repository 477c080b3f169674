"""Required anti-affinity of pods already placed: which pods may they repel."""

from dataclasses import dataclass

from scheduler.api.selectors import NOTHING, Selector, SelectorError, compile_label_selector
from scheduler.api.types import LabelSelector, PodAntiAffinity
from scheduler.core.framework.types import PodInfo


@dataclass(slots=True)
class _Terms:
    owner: PodAntiAffinity
    selectors: tuple[tuple[frozenset[str] | None, Selector], ...]
    pods: int = 0


class ExistingAntiAffinity:
    """Counts the placed pods of each distinct set of required anti-affinity terms.

    Terms are compared by identity of the shared object, per namespace of the owning pod.
    """

    def __init__(self) -> None:
        self._terms: dict[tuple[str, int], _Terms] = {}

    def add(self, pod: PodInfo) -> None:
        """Count a pod in."""
        owner = required_anti_affinity(pod)
        if owner is None:
            return
        key = (pod.namespace, id(owner))
        terms = self._terms.get(key)
        if terms is None:
            terms = self._terms[key] = _Terms(owner, _compiled(owner, pod.namespace))
        terms.pods += 1

    def remove(self, pod: PodInfo) -> None:
        """Count a pod out."""
        owner = required_anti_affinity(pod)
        if owner is None:
            return
        key = (pod.namespace, id(owner))
        terms = self._terms[key]
        terms.pods -= 1
        if not terms.pods:
            del self._terms[key]

    def may_repel(self, pod: PodInfo) -> bool:
        """Whether some placed pod's required anti-affinity selects `pod`, on whatever node.

        A term with a namespace selector counts as reaching every namespace.
        """
        if not self._terms:
            return False
        labels = pod.pod.metadata.labels or {}
        return any(
            (namespaces is None or pod.namespace in namespaces) and selector.matches(labels)
            for terms in self._terms.values()
            for namespaces, selector in terms.selectors
        )


def required_anti_affinity(pod: PodInfo) -> PodAntiAffinity | None:
    """The pod's anti-affinity object if it has required terms."""
    affinity = pod.pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return None
    terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
    return affinity.pod_anti_affinity if terms else None


def _compiled(owner: PodAntiAffinity, namespace: str) -> tuple[tuple[frozenset[str] | None, Selector], ...]:
    return tuple(
        (
            None if term.namespace_selector is not None else frozenset(term.namespaces or (namespace,)),
            _readable(term.label_selector),
        )
        for term in owner.required_during_scheduling_ignored_during_execution or ()
    )


def _readable(selector: LabelSelector | None) -> Selector:
    """The compiled selector; of one that can't be understood NOTHING, so that its pod counts on its node all the same.

    The API server takes no such pod, but keeps those that an older version took.
    """
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return NOTHING

"""Which changes may let a pod near those it wants near, or away from those it wants apart: InterPodAffinity's hints.

A hint says yes when the plugin may accept a node, or preemption may clear one, that it rejected before the event. Where
that would take a look at the whole cluster it says yes without one: that a pod which is woken in vain waits on is
cheap, that one which could run is not woken is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from scheduler.api.types import Namespace, Node
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.pod_terms import AffinityTerm, AffinityTerms, CompiledTerms, PodTerm
from scheduler.core.framework.types import PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_state import ClusterState

_NO_LABELS: Final[Mapping[str, str]] = {}


class AffinityHints:
    """Asked by the queue about pods that InterPodAffinity rejected; `cluster` is the live state."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._terms = CompiledTerms()

    def registered_events(self) -> tuple[RegisteredEvent, ...]:
        """The events with their hints; new labels of the pod itself always help."""
        pods = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE)
        nodes = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.DELETE)
        return (
            RegisteredEvent(pods, self._pod_helps),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_LABEL)),
            RegisteredEvent(nodes, self._node_helps),
            RegisteredEvent(ClusterEvent(EventResource.NAMESPACE, Action.ALL), self._namespace_helps),
        )

    def _pod_helps(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """A placed or nominated pod that comes near, or leaves and takes away what was in the way."""
        pod = queued.pod_info
        terms = self._terms.of(pod)
        before, after = (each if isinstance(each, PodInfo) else None for each in (old, new))
        if terms.required:
            was_near, is_near = self._all_select(terms.required, before), self._all_select(terms.required, after)
            if is_near and not was_near:
                return True
            if was_near and not is_near and self._all_select(terms.required, pod):
                return True  # without it the pod may be the first of its kind
        for term in terms.required_anti:
            if self._selects(term, before) and not self._selects(term, after):
                return True
        return before is not None and after is None and bool(self._repelling_keys(before, pod))

    def _node_helps(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """A node that is new, or has come to another place than before."""
        pod = queued.pod_info
        terms = self._terms.of(pod)
        near_keys = {term.topology_key for term in terms.required}
        now = _labels_of(new) if isinstance(new, Node) else None
        if not isinstance(old, Node):
            return now is not None and (not near_keys or not near_keys.isdisjoint(now))
        before = _labels_of(old)
        if now is None:
            return self._helps_without(pod, terms, old, before)
        changed = {key for key in before.keys() | now.keys() if before.get(key) != now.get(key)}
        if any(key in now for key in near_keys & changed):
            return True
        # It has left the place of whoever kept the pod away, be it by the pod's terms or by their own.
        left = before.keys() & changed
        if near_keys <= now.keys():
            return bool(left)
        return self._helps_without(pod, terms, old, left)  # the node itself is no choice

    def _helps_without(self, pod: PodInfo, terms: AffinityTerms, node: Node, keys: Collection[str]) -> bool:
        """Whether it may help others that what runs on a node counts no more by these labels."""
        info = self._cluster.cache.node_info(node.metadata.name)
        for other in info.pods.values() if info is not None else ():
            if any(term.topology_key in keys and self._selects(term, other) for term in terms.required_anti):
                return True
            if not self._repelling_keys(other, pod).isdisjoint(keys):
                return True
            if self._all_select(terms.required, other) and self._all_select(terms.required, pod):
                return True
        return False

    def _namespace_helps(self, queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
        """A namespace that a term means now, or means no more."""
        pod = queued.pod_info
        terms = self._terms.of(pod)
        before, after = (_labels_of(each) if isinstance(each, Namespace) else None for each in (old, new))
        named = new if isinstance(new, Namespace) else old
        name = named.metadata.name if isinstance(named, Namespace) else ""
        if name == pod.namespace and (before or _NO_LABELS) != (after or _NO_LABELS):
            return True  # terms of others may select the pod no more
        for term in terms.required:
            if _means(term.pods, name, before) != _means(term.pods, name, after):
                return True
        return any(
            _means(term.pods, name, before) and not _means(term.pods, name, after) for term in terms.required_anti
        )

    def _all_select(self, terms: Collection[AffinityTerm], pod: PodInfo | None) -> bool:
        return bool(terms) and all(self._selects(term, pod) for term in terms)

    def _selects(self, term: AffinityTerm, pod: PodInfo | None) -> bool:
        """Whether a term selects a pod, if there is one."""
        if pod is None:
            return False
        namespace = self._cluster.objects.namespaces.get(pod.namespace)
        labels = _labels_of(namespace) if namespace is not None else _NO_LABELS
        return term.pods.selects(pod.namespace, labels, pod.pod.metadata.labels or _NO_LABELS)

    def _repelling_keys(self, placed: PodInfo, pod: PodInfo) -> frozenset[str]:
        """Topology keys of the placed pod's required anti-affinity that selects the waiting one."""
        terms = self._terms.of(placed).required_anti
        return frozenset(term.topology_key for term in terms if self._selects(term, pod))


def _labels_of(thing: Node | Namespace) -> Mapping[str, str]:
    return thing.metadata.labels or _NO_LABELS


def _means(term: PodTerm, namespace: str, labels: Mapping[str, str] | None) -> bool:
    """Whether a term means a namespace with these labels, None for one that does not exist."""
    selector = term.namespace_selector
    if namespace in term.namespaces or not selector.requirements:
        return namespace in term.namespaces or not selector.selects_nothing
    return labels is not None and selector.matches(labels)

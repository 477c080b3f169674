"""A small cluster in which pods want to be near each other or apart, and whatever may happen to it."""

from __future__ import annotations

from typing import Final, TypeAlias

import hypothesis.strategies as st
from msgspec.structs import replace

from scheduler.api.types import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    WeightedPodAffinityTerm,
)
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_node, make_pod

Event: TypeAlias = "tuple[object, ...]"
"""The name of a method of AffinityWorld and its arguments."""

KEYS: Final = ("zone", "host")
NODES: Final = ("n0", "n1", "n2", "n3")

_WEB: Final = LabelSelector({"app": "web"})
_BLUE: Final = LabelSelector({"team": "blue"})
_NOT_RED: Final = LabelSelector(match_expressions=(LabelSelectorRequirement("team", "NotIn", ("red",)),))
_SELECTORS: Final = (
    _WEB,
    LabelSelector({"app": "db"}),
    LabelSelector(match_expressions=(LabelSelectorRequirement("app", "In", ("web", "db")),)),
    LabelSelector(match_expressions=(LabelSelectorRequirement("app", "NotIn", ("db",)),)),
    LabelSelector(),
    None,
)
_REACHES: Final[tuple[tuple[tuple[str, ...] | None, LabelSelector | None], ...]] = (
    (None, None),
    (None, None),
    (("other",), None),
    (None, _BLUE),
    (None, LabelSelector()),
    (("other",), _NOT_RED),
    (("default", "other"), _BLUE),
)
_LABELS: Final[tuple[dict[str, str], ...]] = ({"app": "web"}, {"app": "db"}, {"app": "web", "tier": "x"}, {})
_TERMS: Final = st.builds(
    lambda key, selector, reach: PodAffinityTerm(key, selector, *reach),
    st.sampled_from(KEYS),
    st.sampled_from(_SELECTORS),
    st.sampled_from(_REACHES),
)
_WISHES: Final = st.builds(WeightedPodAffinityTerm, st.integers(1, 100), _TERMS)


def _few(each: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(each, max_size=2).map(tuple)


_WANTED: Final = st.one_of(
    st.builds(lambda *parts: Affinity(None, PodAffinity(*parts)), _few(_TERMS), _few(_WISHES)),
    st.builds(lambda *parts: Affinity(None, None, PodAntiAffinity(*parts)), _few(_TERMS), _few(_WISHES)),
    st.builds(
        lambda near, apart: Affinity(None, PodAffinity(near), PodAntiAffinity(apart)), _few(_TERMS), _few(_TERMS)
    ),
)


def _pod(namespace: str, labels: dict[str, str], affinity: Affinity | None) -> Pod:
    pod = make_pod("").namespace(namespace).obj()
    return replace(pod, metadata=replace(pod.metadata, labels=labels), spec=replace(pod.spec, affinity=affinity))


_OWN_NAMESPACES: Final = st.sampled_from(["default", "other"])
WANTING_PODS: Final = st.builds(_pod, _OWN_NAMESPACES, st.sampled_from(_LABELS), _WANTED)
PODS: Final = st.one_of(WANTING_PODS, st.builds(_pod, _OWN_NAMESPACES, st.sampled_from(_LABELS), st.none()))
"""Pods without a name or a node."""

_ZONES: Final = st.sampled_from([None, "a", "b"])
_NODE_NAMES: Final = st.sampled_from(NODES)
_POD_NAMES: Final = st.sampled_from(["p0", "p1", "p2", "p3", "p4", "p5"])
_NAMESPACES: Final = st.sampled_from(["default", "other", "third"])

_TEAMS: Final = st.sampled_from([None, "blue", "red"])
EVENTS: Final[st.SearchStrategy[Event]] = st.one_of(
    st.tuples(st.just("write_node"), _NODE_NAMES, _ZONES, st.booleans()),
    st.tuples(st.just("delete_node"), _NODE_NAMES),
    st.tuples(st.just("place"), _POD_NAMES, PODS, _NODE_NAMES),
    st.tuples(st.just("remove"), _POD_NAMES),
    st.tuples(st.just("relabel"), _POD_NAMES, st.sampled_from(_LABELS)),
    st.tuples(st.just("write_namespace"), _NAMESPACES, _TEAMS),
    st.tuples(st.just("delete_namespace"), _NAMESPACES),
)


POPULATED: Final[st.SearchStrategy[list[Event]]] = st.builds(
    lambda nodes, pods, teams: [
        *(("write_node", f"n{number}", *node) for number, node in enumerate(nodes)),
        *(("place", f"p{number}", *pod) for number, pod in enumerate(pods)),
        *(("write_namespace", name, team) for name, team in zip(("default", "other"), teams, strict=True)),
    ],
    st.lists(st.tuples(_ZONES, st.booleans()), min_size=1, max_size=3),
    st.lists(st.tuples(PODS, _NODE_NAMES), min_size=1, max_size=3),
    st.tuples(_TEAMS, _TEAMS),
)
"""What makes a cluster with something in it."""

EVERY_EVENT: Final[tuple[Event, ...]] = (
    *(
        ("write_node", node, zone, has_host)
        for node in NODES
        for zone in (None, "a", "b")
        for has_host in (True, False)
    ),
    *(("delete_node", node) for node in NODES),
    *(
        ("place", "new", _pod(namespace, labels, None), node)
        for namespace in ("default", "other")
        for labels in _LABELS
        for node in NODES
    ),
    *(("remove", f"p{number}") for number in range(3)),
    *(("relabel", f"p{number}", labels) for number in range(3) for labels in _LABELS),
    *(("write_namespace", name, team) for name in ("default", "other") for team in (None, "blue", "red")),
    *(("delete_namespace", name) for name in ("default", "other")),
)
"""One thing that may happen to such a cluster, in all ways."""


def pending(pod: Pod) -> PodInfo:
    """The pod waiting."""
    return parse_pod(replace(pod, metadata=replace(pod.metadata, name="pending", uid="uid-of-pending")))


class AffinityWorld:
    """What is there, told to a ClusterState and written down.

    Attributes:
        nodes: by name.
        placed: pods with their node, by name.
        namespaces: labels by name.
    """

    def __init__(self) -> None:
        self.state = ClusterState()
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[PodInfo, str]] = {}
        self.namespaces: dict[str, dict[str, str]] = {}

    def happen(self, event: Event) -> tuple[object | None, object | None]:
        """Let one of the things below happen; the object before and after, both None where nothing happened."""
        method, *arguments = event
        before_and_after: tuple[object | None, object | None] = getattr(self, str(method))(*arguments)
        return before_and_after

    def write_node(self, name: str, zone: str | None, has_host: bool) -> tuple[Node | None, Node]:
        """A node comes or changes its labels."""
        labels = ({"zone": zone} if zone is not None else {}) | ({"host": name} if has_host else {})
        before, self.nodes[name] = self.nodes.get(name), make_node(name).label(**labels).obj()
        self.state.cache.add_node(self.nodes[name])
        return before, self.nodes[name]

    def delete_node(self, name: str) -> tuple[Node | None, None]:
        """A node goes, its pods stay for now."""
        self.state.cache.remove_node(name)
        return self.nodes.pop(name, None), None

    def place(self, name: str, pod: Pod, node: str) -> tuple[None, PodInfo | None]:
        """A pod comes, unless one of that name is there."""
        if name in self.placed:
            return None, None
        metadata = replace(pod.metadata, name=name, uid=f"uid-of-{name}")
        info = parse_pod(replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=node)))
        self.placed[name] = info, node
        self.state.cache.add_pod(info, node)
        return None, info

    def remove(self, name: str) -> tuple[PodInfo | None, None]:
        """A pod goes, if it is there."""
        if name not in self.placed:
            return None, None
        info, _ = self.placed.pop(name)
        self.state.cache.remove_pod(info.uid)
        return info, None

    def relabel(self, name: str, labels: dict[str, str]) -> tuple[PodInfo | None, PodInfo | None]:
        """A pod gets other labels, if it is there."""
        if name not in self.placed:
            return None, None
        before, node = self.placed[name]
        after = parse_pod(replace(before.pod, metadata=replace(before.pod.metadata, labels=labels)))
        self.placed[name] = after, node
        self.state.cache.add_pod(after, node)
        return before, after

    def write_namespace(self, name: str, team: str | None) -> tuple[Namespace | None, Namespace]:
        """A namespace comes or changes its labels."""
        before = self.state.objects.namespaces.get(name)
        self.namespaces[name] = {"team": team} if team is not None else {}
        after = Namespace(metadata=ObjectMeta(name=name, labels=self.namespaces[name]))
        self.state.objects.set(after)
        return before, after

    def delete_namespace(self, name: str) -> tuple[Namespace | None, None]:
        """A namespace goes, if it is there."""
        before = self.state.objects.namespaces.get(name)
        self.namespaces.pop(name, None)
        if before is not None:
            self.state.objects.remove(before)
        return before, None

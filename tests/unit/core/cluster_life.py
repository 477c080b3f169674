"""Random life of a small cluster: a cache, and beside it the plainest account of what it should hold."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler.api.types import (
    Affinity,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
)
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.nominator import Nominator
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod

GPU: Final = "example.com/gpu"

_SSD: Final = NodeSelectorTerm((NodeSelectorRequirement("disk", "In", ("ssd",)),))
_BIG: Final = NodeSelectorTerm((NodeSelectorRequirement("size", "Gt", ("5",)),))
_NOT_N1: Final = NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "NotIn", ("n1",)),))

NODE_SHAPES: Final[tuple[NodeBuilder, ...]] = (
    make_node("").capacity(cpu="4", memory="4Gi", pods=3),
    make_node("").capacity({GPU: 2}, cpu="2", memory="8Gi", pods=2).label(disk="ssd", size="9"),
    make_node("").capacity(cpu="1", memory="1Gi").label(disk="hdd").taint("a").image("app:1", size_bytes=900_000_000),
    make_node("").capacity({GPU: 1}, cpu="3", memory="0").label(size="4").taint("b", "1", "PreferNoSchedule"),
    make_node("").capacity(cpu="4", memory="4Gi").label(size="07").taint("b", "1", "PreferNoSchedule"),
    make_node("").capacity(cpu="6").taint("b", "1", "PreferNoSchedule").taint("c", "", "PreferNoSchedule"),
    make_node("").unschedulable().label(disk="ssd").image("app:1", "app@x", size_bytes=900_000_000),
    make_node("").label(size="11").image("db:latest", size_bytes=2_000_000_000).taint("a", "x", "NoExecute"),
)
"""Nodes without a name."""


def _affine(*required: NodeSelectorTerm, wishes: tuple[tuple[int, NodeSelectorTerm], ...] = ()) -> Affinity:
    return Affinity(
        NodeAffinity(
            NodeSelector(required) if required else None,
            tuple(PreferredSchedulingTerm(*wish) for wish in wishes) or None,
        )
    )


REPELLING: Final = Affinity(
    pod_anti_affinity=PodAntiAffinity((PodAffinityTerm("kubernetes.io/hostname", LabelSelector({"app": "web"})),))
)
"""Repels pods of the owner's namespace with the label app=web."""

_WEB_BY_DISK: Final = PodAffinityTerm("disk", LabelSelector({"app": "web"}))
_APART: Final = Affinity(pod_anti_affinity=PodAntiAffinity((_WEB_BY_DISK,)))
_NEAR: Final = Affinity(pod_affinity=PodAffinity((_WEB_BY_DISK,)))
_APART_FROM_ALL: Final = Affinity(pod_anti_affinity=PodAntiAffinity((PodAffinityTerm("size", LabelSelector()),)))

POD_SHAPES: Final[tuple[PodBuilder, ...]] = (
    make_pod(""),
    make_pod("").container("app:1").priority(10),
    make_pod("").host_port(81),
    make_pod("").host_port(80, ip="10.0.0.2"),
    make_pod("").affinity(_affine(_SSD)),
    make_pod("").affinity(_affine(_BIG)),
    make_pod("").req(cpu="500m", memory="256Mi").label(app="web").priority(-10),
    make_pod("").req({GPU: 1}, cpu="1").toleration("a", "Exists").host_port(80),
    make_pod("").req(cpu="1", memory="1Gi").init_req(cpu="2").overhead(memory="100Mi").host_port(80, ip="10.0.0.1"),
    make_pod("").req(memory="3Gi").sidecar_req(cpu="250m").node_selector(disk="ssd").host_port(80, "UDP"),
    make_pod("").container("app:1").container("db").toleration(None, "Exists"),
    make_pod("").req(cpu="1").affinity(_affine(_SSD, _BIG, wishes=((3, _BIG),))),
    make_pod("").pod_level_req(cpu="2", memory="1Gi").container("db").affinity(_affine(_NOT_N1, wishes=((9, _SSD),))),
    make_pod("").req({GPU: 3}).toleration("b", "Equal", "1", "PreferNoSchedule").host_port(80).host_port(81),
    make_pod("").req(cpu="100m").affinity(REPELLING).namespace("other"),
)
"""Pods without a name."""

_AFFINE_SHAPES: Final[tuple[PodBuilder, ...]] = (
    make_pod("").req(cpu="500m").label(app="web").affinity(_APART),
    make_pod("").req(cpu="1").label(app="web").affinity(_NEAR).priority(5),
    make_pod("").req(cpu="200m").affinity(_APART_FROM_ALL).priority(10),
)

SOME_NODES: Final = st.sampled_from(NODE_SHAPES)
SOME_PODS: Final = st.sampled_from(POD_SHAPES)
PODS_WITH_AFFINITY: Final = st.sampled_from(_AFFINE_SHAPES)
PODS_WITH_AFFINITY_TOO: Final = st.sampled_from(POD_SHAPES + _AFFINE_SHAPES)
SOME_PRIORITIES: Final = st.sampled_from([-10, 0, 5, 10])

Event: TypeAlias = "tuple[object, ...]"
"""The name of a method of ClusterLife and its arguments."""


def node_names(count: int) -> list[str]:
    """n1, n2 and so on."""
    return [f"n{number}" for number in range(1, count + 1)]


def events(nodes: int, pods: int, shapes: st.SearchStrategy[PodBuilder] = SOME_PODS) -> st.SearchStrategy[Event]:
    """What may happen in a cluster of so many names."""
    node, pod = st.sampled_from(node_names(nodes)), st.sampled_from([f"p{number}" for number in range(pods)])
    return st.one_of(
        st.tuples(st.just("write_node"), SOME_NODES, node),
        st.tuples(st.just("delete_node"), node),
        st.tuples(st.sampled_from(["assume", "show"]), shapes, pod, node),
        st.tuples(st.sampled_from(["forget", "confirm", "remove"]), pod),
    )


def starts(pods: int) -> st.SearchStrategy[Event]:
    """Nodes that begin to run pods."""
    pod = st.sampled_from([f"p{number}" for number in range(pods)])
    return st.tuples(st.just("start"), pod, st.integers(0, 3))


def nominations(nodes: int, pods: int, shapes: st.SearchStrategy[PodBuilder] = SOME_PODS) -> st.SearchStrategy[Event]:
    """Pods that get or lose room held for them; others than those that `events` places."""
    node, pod = st.sampled_from(node_names(nodes)), st.sampled_from([f"nominated-{number}" for number in range(pods)])
    return st.one_of(
        st.tuples(st.just("nominate"), shapes, pod, SOME_PRIORITIES, node), st.tuples(st.just("withdraw"), pod)
    )


def named_node(shape: NodeBuilder, name: str) -> Node:
    """A node of that shape."""
    node = shape.obj()
    return replace(node, metadata=replace(node.metadata, name=name))


def named_pod(shape: PodBuilder, name: str, priority: int | None = None) -> Pod:
    """A pod of that shape, with another priority if one is given; its parts are shared with all others."""
    pod = (shape if priority is None else shape.priority(priority)).obj()
    return replace(pod, metadata=replace(pod.metadata, name=name, uid=f"uid-of-{name}"))


@dataclass
class Placed:
    """A pod that counts on a node."""

    pod: PodInfo
    node_name: str
    assumed: bool


class ClusterLife:
    """What the watch shows and what the scheduler assumes, told to the cache and written down.

    Attributes:
        nodes: existing nodes by name.
        placed: pods that count, by uid.
    """

    def __init__(self) -> None:
        self.cache = Cache()
        self.nominator = Nominator()
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, Placed] = {}

    def happen(self, event: Event) -> None:
        """Let one of the things below happen."""
        method, *arguments = event
        getattr(self, str(method))(*arguments)

    def write_node(self, shape: NodeBuilder, name: str) -> None:
        """A node comes or changes."""
        self.nodes[name] = named_node(shape, name)
        self.cache.add_node(self.nodes[name])

    def delete_node(self, name: str) -> None:
        """A node goes, if there is one."""
        self.nodes.pop(name, None)
        self.cache.remove_node(name)

    def assume(self, shape: PodBuilder, name: str, node_name: str) -> None:
        """The scheduler decides for a pod, unless it counts somewhere."""
        pod = parse_pod(named_pod(shape, name))
        if pod.uid not in self.placed:
            self.placed[pod.uid] = Placed(pod, node_name, assumed=True)
            self.cache.assume_pod(pod, node_name)

    def forget(self, name: str) -> None:
        """An assumption comes to nothing; without one nothing happens."""
        uid = f"uid-of-{name}"
        if uid in self.placed and self.placed[uid].assumed:
            del self.placed[uid]
        self.cache.forget_pod(uid)

    def confirm(self, name: str) -> None:
        """The watch shows an assumed pod where it was assumed."""
        placed = self.placed.get(f"uid-of-{name}")
        if placed is not None and placed.assumed:
            self.show_pod(placed.pod.pod, placed.node_name)

    def show(self, shape: PodBuilder, name: str, node_name: str) -> None:
        """The watch shows a pod on a node, whatever was known of it."""
        self.show_pod(named_pod(shape, name), node_name)

    def show_pod(self, pod: Pod, node_name: str) -> None:
        """The same for a pod at hand."""
        bound = parse_pod(replace(pod, spec=replace(pod.spec, node_name=node_name)))
        self.placed[bound.uid] = Placed(bound, node_name, assumed=False)
        self.cache.add_pod(bound, node_name)

    def remove(self, name: str) -> None:
        """A pod is gone or finished."""
        self.placed.pop(f"uid-of-{name}", None)
        self.cache.remove_pod(f"uid-of-{name}")

    def start(self, name: str, minute: int) -> None:
        """The watch shows that a placed pod runs, since that minute."""
        placed = self.placed.get(f"uid-of-{name}")
        if placed is not None:
            at = datetime(2026, 1, 1, 12, minute, tzinfo=UTC)
            pod = placed.pod.pod
            self.show_pod(replace(pod, status=replace(pod.status, start_time=at)), placed.node_name)

    def nominate(self, shape: PodBuilder, name: str, priority: int, node_name: str) -> None:
        """Room is held for a pod, and no longer where it was before."""
        self.nominator.add(parse_pod(named_pod(shape, name, priority)), node_name)

    def withdraw(self, name: str) -> None:
        """Room that was held is held no more, if it was."""
        self.nominator.remove(f"uid-of-{name}")

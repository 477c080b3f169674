"""A cluster in which anything may happen to nodes and pods, with a scheduler in it that is given its turns one by one.

Keeps what the API server has, so that the watch shows each change with what was before it.
"""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from scheduler.api.types import (
    Affinity,
    LabelSelector,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
)
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.queue.entry import Place
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.cluster_life import POD_SHAPES, named_pod
from tests.unit.core.volumes.objects import attachment, claim, csi_node, storage_class, volume
from tests.unit.shell import Shell
from tests.unit.wakeups.scene import decide_as_now, renamed

ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_WEB: Final = LabelSelector({"app": "web"})
_DB: Final = LabelSelector({"app": "db"})
_TEAM: Final = LabelSelector({"team": "a"})


def _near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(terms))


def _apart(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAntiAffinity(terms))


def _spread(key: str, selector: LabelSelector, **more: object) -> TopologySpreadConstraint:
    return replace(TopologySpreadConstraint(1, key, "DoNotSchedule", selector), **more)


NODES: Final[tuple[NodeBuilder, ...]] = (
    make_node("").capacity(cpu="1", pods=3).label({ZONE: "a"}),
    make_node("").capacity(cpu="2", pods=4).label({ZONE: "b"}),
    make_node("").capacity(cpu="1", pods=2).label({ZONE: "c"}).taint("a"),
    make_node("").capacity({"example.com/gpu": 2}, cpu="2", memory="8Gi").label({ZONE: "a"}, disk="ssd", size="9"),
    make_node("").capacity(cpu="2").label({ZONE: "b"}).unschedulable(),
    make_node("").capacity(cpu="2", pods=3).label(disk="ssd"),
)
"""Nodes without a name."""

PODS: Final[tuple[PodBuilder, ...]] = (
    *POD_SHAPES,
    make_pod("").req(cpu="1"),
    make_pod("").req(cpu="1").label(app="web"),
    make_pod("").req(cpu="500m").label(app="db"),
    make_pod("").label(app="web").affinity(_near(PodAffinityTerm(ZONE, _WEB))),
    make_pod("").affinity(_near(PodAffinityTerm(ZONE, _DB))),
    make_pod("").label(app="db").affinity(_near(PodAffinityTerm(ZONE, _DB), PodAffinityTerm(_HOST, _DB))),
    make_pod("").label(app="web").affinity(_apart(PodAffinityTerm(_HOST, _WEB))),
    make_pod("").label(app="db").affinity(_apart(PodAffinityTerm(ZONE, _WEB), PodAffinityTerm(_HOST, _DB))),
    make_pod("").label(app="web").affinity(_apart(PodAffinityTerm(ZONE, _DB, namespace_selector=_TEAM))),
    make_pod("").affinity(_near(PodAffinityTerm(ZONE, _WEB, namespace_selector=_TEAM))),
    make_pod("").label(app="web").spread(_spread(ZONE, _WEB)),
    make_pod("").label(app="web").spread(_spread(_HOST, _WEB), _spread(ZONE, _WEB)),
    make_pod("").label(app="db").spread(_spread(ZONE, _DB, min_domains=3)),
    make_pod("").label(app="db").spread(_spread(ZONE, _DB, node_taints_policy="Honor")).toleration("a", "Exists"),
    make_pod("").pvc("c1"),
    make_pod("").pvc("c2"),
    make_pod("").pvc("c1").pvc("c2").req(cpu="1"),
)
"""Pods without a name."""

CLAIMS: Final = (
    claim("c1", volume_name="v1", bound=True),
    claim("c1", volume_name="v1", bound=True, modes=("ReadWriteOncePod",)),
    claim("c1"),
    claim("c2", volume_name="v2", bound=True),
    claim("c2", class_name="at-once"),
)
VOLUMES: Final = (
    volume("v1", claim="c1"),
    volume("v1", claim="c1", nodes=("n1", "n2")),
    volume("v1", claim="c1", labels={ZONE: "a"}),
    volume("v2", claim="c2"),
    volume("v2", claim="c2", labels={ZONE: "b"}),
    volume("v3"),
)
CSI_NODES: Final = (
    csi_node("n1", csi_example=1),
    csi_node("n1", csi_example=2),
    csi_node("n2", csi_example=1),
    csi_node("n2", csi_example=None),
)
OBJECTS: Final[tuple[ApiObject, ...]] = (
    *CLAIMS,
    *VOLUMES,
    *CSI_NODES,
    storage_class(),
    storage_class("at-once", mode="Immediate"),
    attachment("a1", "n1", "v2"),
    Namespace(ObjectMeta("default", labels={"team": "a"})),
    Namespace(ObjectMeta("default", labels={"team": "b"})),
    Namespace(ObjectMeta("other", labels={"team": "a"})),
    Namespace(ObjectMeta("other", labels={"team": "b"})),
)
"""What beside nodes and pods may come, change and go; of a kind and name there is one at a time."""

LABELS: Final[tuple[dict[str, str] | None, ...]] = (None, {"app": "web"}, {"app": "db"})


class RandomLife:
    """The cluster.

    Attributes:
        nodes, pods: what the API server has, by name.
        objects: what else it has, by kind and name.
    """

    def __init__(self) -> None:
        self.shell = Shell()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.objects: dict[tuple[type, str], ApiObject] = {}

    # --- nodes and other objects

    def write_node(self, shape: NodeBuilder, name: str) -> None:
        """A node comes or changes in everything at once."""
        self._write_node(renamed(shape.obj(), name))

    def relabel_node(self, shape: NodeBuilder, name: str) -> None:
        """A node gets the labels of another kind."""
        if name in self.nodes:
            labels = renamed(shape.obj(), name).metadata.labels
            node = self.nodes[name]
            self._write_node(replace(node, metadata=replace(node.metadata, labels=labels)))

    def delete_node(self, name: str) -> None:
        """A node goes, its pods stay for a while."""
        if name in self.nodes:
            self.shell.handlers.node_deleted(self.nodes.pop(name))

    def write_object(self, obj: ApiObject) -> None:
        """An object comes or changes."""
        key = (type(obj), obj.metadata.name)
        old = self.objects.get(key)
        self.objects[key] = obj
        if old is None:
            self.shell.handlers.object_added(obj)
        else:
            self.shell.handlers.object_updated(old, obj)

    def delete_object(self, obj: ApiObject) -> None:
        """The object of that kind and name goes."""
        known = self.objects.pop((type(obj), obj.metadata.name), None)
        if known is not None:
            self.shell.handlers.object_deleted(known)

    def _write_node(self, node: Node) -> None:
        old = self.nodes.get(node.metadata.name)
        self.nodes[node.metadata.name] = node
        if old is None:
            self.shell.handlers.node_added(node)
        else:
            self.shell.handlers.node_updated(old, node)

    # --- pods

    def create(self, shape: PodBuilder, name: str, priority: int) -> None:
        """A pod of ours is created, unless there is one of that name."""
        if name not in self.pods:
            self.pods[name] = named_pod(shape, name, priority)
            self.shell.handlers.pod_added(self.pods[name])

    def place(self, shape: PodBuilder, name: str, priority: int, node_name: str) -> None:
        """Another scheduler's pod appears on a node, whether or not it has room there."""
        if name not in self.pods:
            pod = named_pod(shape, name, priority)
            self.pods[name] = replace(pod, spec=replace(pod.spec, node_name=node_name, scheduler_name="other"))
            self.shell.handlers.pod_added(self.pods[name])

    def relabel(self, name: str, labels: dict[str, str] | None) -> None:
        """A pod's labels change."""
        if name in self.pods:
            pod = self.pods[name]
            self._write_pod(replace(pod, metadata=replace(pod.metadata, labels=labels)))

    def shrink(self, name: str) -> None:
        """A placed pod is resized to a tenth of a cpu a container."""
        if name in self.pods and self.pods[name].spec.node_name:
            pod = self.pods[name]
            small = make_pod("").req(cpu="10m").obj().spec.containers[0].resources
            containers = tuple(replace(each, resources=small) for each in pod.spec.containers)
            self._write_pod(replace(pod, spec=replace(pod.spec, containers=containers)))

    def terminate(self, name: str) -> None:
        """A placed pod is being deleted."""
        if name in self.pods and self.pods[name].spec.node_name:
            pod = self.pods[name]
            since = datetime(2026, 1, 1, tzinfo=UTC)
            self._write_pod(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=since)))

    def delete(self, name: str) -> None:
        """A pod goes."""
        if name in self.pods:
            self.shell.handlers.pod_deleted(self.pods.pop(name))

    def nominate(self, name: str, node_name: str | None) -> None:
        """Somebody writes a nomination into a pending pod's status."""
        if name in self.pods and not self.pods[name].spec.node_name:
            pod = self.pods[name]
            self._write_pod(replace(pod, status=replace(pod.status, nominated_node_name=node_name)))

    def _write_pod(self, pod: Pod) -> None:
        old = self.pods[pod.metadata.name]
        self.pods[pod.metadata.name] = pod
        self.shell.handlers.pod_updated(old, pod)

    # --- the scheduler

    def schedule(self) -> None:
        """The next pod has its turn, if there is one."""
        queued = self.shell.queue.pop()
        if queued is not None:
            self.shell.schedule_one.schedule_one(queued)

    def finish(self, *, refused: bool = False) -> None:
        """Bindings and evictions under way end, and the watch shows what came of them; bindings may be refused."""
        self.shell.binder.answer = Status.of(Code.ERROR, "refused") if refused else None
        started, self.shell.binding[:] = list(self.shell.binding), []
        asked, done = len(self.shell.binder.asked), len(self.shell.evictions.done)
        for cycle in started:
            run(cycle)
        for name, node_name in self.shell.binder.asked[asked:]:
            if name in self.pods and not refused:
                pod = self.pods[name]
                self._write_pod(replace(pod, spec=replace(pod.spec, node_name=node_name)))
        for what, name in self.shell.evictions.done[done:]:
            if what == "evict":
                self.terminate(name)

    def end_backoff(self) -> None:
        """All back-offs are over."""
        self.shell.end_backoff()

    def missed(self) -> list[str]:
        """Pods that wait for an event though a node would take them now.

        Not asked while a decision is under way: what comes of it is an event.
        """
        if self.shell.binding:
            return []
        waiting: list[PodInfo] = [queued.pod_info for queued in self.shell.queue.snapshot()[Place.UNSCHEDULABLE]]
        return [pod.name for pod in waiting if decide_as_now(self.shell, pod.pod).node_name is not None]


def run(cycle: Coroutine[object, object, None]) -> None:
    """Run a cycle that never has to wait to its end."""
    try:
        cycle.send(None)
    except StopIteration:
        return
    raise AssertionError("the cycle waits")

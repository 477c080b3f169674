"""What a test of queueing hints consists of: a small cluster that turns a pod away, and things that happen then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from scheduler.api.types import Node, NodeCondition, Pod
from scheduler.core.algorithm import Decision, finished
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.queue.entry import Place
from scheduler.testing import NodeBuilder, PodBuilder, make_node
from tests.unit.shell import Shell

Shown: TypeAlias = "NodeBuilder | PodBuilder | ApiObject"
"""What a watch can show."""

Event: TypeAlias = Callable[[Shell], None]
"""Lets something happen, by way of the real event handlers."""


@dataclass(frozen=True)
class Scene:
    """A cluster in which exactly the plugins named turn the pod away.

    Attributes:
        plugin: who turns it away, by name; several joined with a plus, as no one else may record a rejection.
        objects: nodes, placed pods and whatever else there is, in the order in which the watch shows them.
        helps: events that let the pod be scheduled, or let it preempt: each must wake it.
        idle: events that do not help: each must leave it asleep.
        preempts: whether the events that help only open a way for a preemption.
    """

    plugin: str
    pod: PodBuilder
    objects: tuple[Shown, ...]
    helps: Mapping[str, Event] = field(default_factory=dict)
    idle: Mapping[str, Event] = field(default_factory=dict)
    preempts: bool = False

    def begin(self) -> Shell:
        """The cluster, with the pod waiting for its turn."""
        shell = Shell()
        for shown in self.objects:
            add(shown)(shell)
        add(self.pod)(shell)
        return shell

    def turned_away(self) -> Shell:
        """The cluster after the pod's attempt failed."""
        shell = self.begin()
        shell.decide_next()
        assert self.place(shell) is Place.UNSCHEDULABLE
        (queued,) = [each for each in shell.queue.snapshot()[Place.UNSCHEDULABLE] if each.pod_info.name == self.name]
        assert queued.unschedulable_plugins == frozenset(self.plugin.split("+"))
        return shell

    def during_the_attempt(self, event: Event) -> Shell:
        """The cluster after the attempt, when the event came between the decision and its end."""
        shell = self.begin()
        queued = shell.queue.pop()
        assert queued is not None
        decision = decide_as_now(shell, queued.pod_info.pod)
        assert decision.diagnosis is not None
        event(shell)
        queued.unschedulable_plugins = decision.diagnosis.unschedulable_plugins
        shell.queue.add_unschedulable_if_not_present(queued, shell.clock.now())
        return shell

    def is_schedulable(self, shell: Shell) -> bool:
        """Whether some node would take the pod, as it is now; False for one that is gone."""
        known = [queued.pod_info.pod for pods in shell.queue.snapshot().values() for queued in pods]
        return any(decide_as_now(shell, pod).node_name for pod in known if pod.metadata.name == self.name)

    def is_awake(self, shell: Shell) -> bool:
        """Whether the pod is going to be tried."""
        return self.place(shell) in (Place.ACTIVE, Place.BACKOFF)

    def place(self, shell: Shell) -> Place | None:
        """Where in the queue the pod is."""
        return shell.place_of(self.name)

    @property
    def name(self) -> str:
        """The waiting pod's name."""
        return self.pod.obj().metadata.name

    def nodes(self) -> Iterator[Node]:
        """The nodes of the cluster."""
        return (obj for obj in map(built, self.objects) if isinstance(obj, Node))

    def derived_events(self, shapes: Iterable[Node]) -> Iterator[tuple[str, Event]]:
        """What may happen to any cluster: whatever is there is touched, changed, goes, or comes again.

        `shapes` are what its first node may become.
        """
        for number, shape in enumerate(shapes):
            yield f"a node like shape {number} comes", add(renamed(shape, "new"))
            for node in islice(self.nodes(), 1):
                turned = renamed(shape, node.metadata.name)
                yield f"{node.metadata.name} becomes shape {number}", update(node, turned)
        for shown in (*self.objects, self.pod):
            obj = built(shown)
            name = f"{type(obj).__name__} {obj.metadata.name}"
            yield f"{name} deleted", delete(obj)
            yield f"{name} comes again", together(delete(obj), add(obj))
            yield f"{name} changes in nothing", update(obj, obj)
            if isinstance(obj, Node):
                yield f"{name} loses its labels", update(obj, replace(obj, metadata=replace(obj.metadata, labels=None)))
                yield f"{name} has every label", update(obj, NodeBuilder(obj).label(disk="ssd", zone="a").obj())
                yield f"{name} is open and untainted", update(obj, opened(obj))
                yield f"{name} is large", update(obj, NodeBuilder(obj).allocatable(cpu="64", pods=500).obj())
                yield f"{name} is open and large", update(obj, NodeBuilder(opened(obj)).allocatable(cpu="64").obj())
            if isinstance(obj, Pod):
                yield f"{name} loses its labels", update(obj, replace(obj, metadata=replace(obj.metadata, labels=None)))
                yield f"{name} is labelled", update(obj, PodBuilder(obj).label(app="web", tier="db").obj())
                yield f"{name} is being deleted", update(obj, PodBuilder(obj).terminating().obj())
                yield f"{name} finished", update(obj, PodBuilder(obj).phase("Succeeded").obj())
                yield f"{name} shrinks", update(obj, without_requests(obj))
        yield "a large node comes", add(make_node("large").capacity(cpu="64").label(disk="ssd", zone="a"))
        yield "a plain node comes", add(make_node("plain"))


def add(shown: Shown) -> Event:
    """The watch shows an object."""
    obj = built(shown)

    def happen(shell: Shell) -> None:
        if isinstance(obj, Node):
            shell.handlers.node_added(obj)
        elif isinstance(obj, Pod):
            shell.handlers.pod_added(obj)
        else:
            shell.handlers.object_added(obj)

    return happen


def update(old: Shown, new: Shown) -> Event:
    """The watch shows that an object changed."""
    before, now = built(old), built(new)

    def happen(shell: Shell) -> None:
        if isinstance(before, Node) and isinstance(now, Node):
            shell.handlers.node_updated(before, now)
        elif isinstance(before, Pod) and isinstance(now, Pod):
            shell.handlers.pod_updated(before, now)
        else:
            shell.handlers.object_updated(before, now)

    return happen


def delete(shown: Shown) -> Event:
    """The watch shows that an object is gone."""
    obj = built(shown)

    def happen(shell: Shell) -> None:
        if isinstance(obj, Node):
            shell.handlers.node_deleted(obj)
        elif isinstance(obj, Pod):
            shell.handlers.pod_deleted(obj)
        else:
            shell.handlers.object_deleted(obj)

    return happen


def together(*events: Event) -> Event:
    """One after the other."""

    def happen(shell: Shell) -> None:
        for event in events:
            event(shell)

    return happen


def heartbeat(node: NodeBuilder) -> Event:
    """The kubelet reports that all is as it was, with newer times and a new reason."""
    ready = NodeCondition("Ready", "True", "KubeletReady")
    before = replace(node.obj(), status=replace(node.obj().status, conditions=(ready,)))
    later = replace(before, status=replace(before.status, conditions=(replace(ready, reason="KubeletIsReady"),)))
    newest = NodeBuilder(later).resource_version("9")
    return together(update(node, before), update(before, later), update(later, newest))


def built(shown: Shown) -> Node | Pod | ApiObject:
    """The object itself."""
    return shown.obj() if isinstance(shown, NodeBuilder | PodBuilder) else shown


def renamed(node: Node, name: str) -> Node:
    """A node like it."""
    labels = {**(node.metadata.labels or {}), "kubernetes.io/hostname": name}
    return replace(node, metadata=replace(node.metadata, name=name, uid=f"uid-of-{name}", labels=labels))


def opened(node: Node) -> Node:
    """The node without cordon and taints."""
    return replace(node, spec=replace(node.spec, unschedulable=None, taints=None))


def without_requests(pod: Pod) -> Pod:
    """The pod after its containers were resized to nothing."""
    containers = tuple(replace(each, resources=None) for each in pod.spec.containers)
    return replace(pod, spec=replace(pod.spec, containers=containers))


def decide_as_now(shell: Shell, pod: Pod) -> Decision:
    """What an attempt for the pod would come to at this moment, without making it."""
    return finished(shell.profiles.algorithm("podium").schedule(CycleState(), parse_pod(pod)))

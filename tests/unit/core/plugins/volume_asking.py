"""Asks a plugin for volumes about a pod, from PreFilter on, for all rows and row by row, which must agree."""

from dataclasses import dataclass

from scheduler.api.types import Node, Pod
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.events import Action, ClusterEvent, EventResource
from scheduler.core.framework.interface import FilterPlugin, Plugin, PreFilterPlugin
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.testing import NodeBuilder, PodBuilder
from tests.unit.core.plugins.asking import parsed


@dataclass(frozen=True)
class SmallCluster:
    """Live state, and the one snapshot that follows it."""

    state: ClusterState
    snapshot: Snapshot


def cluster_of(*objects: NodeBuilder | PodBuilder | ApiObject) -> SmallCluster:
    """Nodes, pods on the nodes that they name, and other objects."""
    state = ClusterState()
    for each in objects:
        built = each.obj() if isinstance(each, NodeBuilder | PodBuilder) else each
        if isinstance(built, Node):
            state.cache.add_node(built)
        elif isinstance(built, Pod):
            state.cache.add_pod(parsed(built), built.spec.node_name or "")
        else:
            state.objects.set(built)
    return SmallCluster(state, Snapshot(state))


def answers(plugin: Plugin, pod: PodBuilder, cluster: SmallCluster) -> Status | dict[str, tuple[Code, str]] | None:
    """PreFilter's status, None for SKIP; else code and text by name of the nodes that are rejected."""
    assert isinstance(plugin, PreFilterPlugin)
    assert isinstance(plugin, FilterPlugin)
    snapshot, cycle, info = cluster.snapshot, CycleState(), parsed(pod)
    snapshot.refresh()
    status = plugin.pre_filter(cycle, info, snapshot)
    if status is not None:
        assert isinstance(status, Status)
        return None if status.code is Code.SKIP else status
    nodes = snapshot.nodes
    verdicts = plugin.filter(cycle, info, snapshot, slice(0, nodes.count)).tolist()
    assert [plugin.filter_row(cycle, info, snapshot, row) for row in range(nodes.count)] == verdicts
    rejected = {
        name: plugin.status(info, verdict) for name, verdict in zip(nodes.names, verdicts, strict=True) if verdict
    }
    return {name: (status.code, status.message) for name, status in rejected.items()}


def wakes(
    plugin: Plugin,
    waiting: PodBuilder,
    resource: EventResource,
    action: Action,
    old: PodInfo | ApiObject | None,
    new: PodInfo | ApiObject | None,
) -> bool:
    """Whether the plugin lets the event wake the pod."""
    event = ClusterEvent(resource, action)
    return any(
        registered.hint is None or registered.hint(QueuedPodInfo(parsed(waiting), 0.0), old, new)
        for registered in plugin.events_to_register()
        if event.matches(registered.event)
    )

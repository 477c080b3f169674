"""InterPodAffinity's hints: whatever lets a pod in wakes it, and what cannot help does not."""

from __future__ import annotations

from hypothesis import given, settings

from scheduler.api.types import Namespace, Node, Pod
from scheduler.config.plugin_args import InterPodAffinityArgs
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.events import Action, ClusterEvent, EventResource
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.plugins.inter_pod_affinity import InterPodAffinity
from tests.unit.core.affinity_world import EVERY_EVENT, POPULATED, WANTING_PODS, AffinityWorld, Event, pending

_UPDATES = {
    Node: Action.UPDATE_NODE_LABEL,
    PodInfo: Action.UPDATE_POD_LABEL,
    Namespace: Action.UPDATE_OTHER,
}
_RESOURCES = {Node: EventResource.NODE, PodInfo: EventResource.ASSIGNED_POD, Namespace: EventResource.NAMESPACE}


def woken(plugin: InterPodAffinity, pod: PodInfo, old: object | None, new: object | None) -> bool:
    """Whether the plugin asks for the event and says that it helps."""
    kind = type(old if new is None else new)
    action = Action.ADD if old is None else Action.DELETE if new is None else _UPDATES[kind]
    event = ClusterEvent(_RESOURCES[kind], action)
    queued = QueuedPodInfo(pod, 0.0)
    return any(
        registered.hint is None or registered.hint(queued, old, new)
        for registered in plugin.events_to_register()
        if event.matches(registered.event)
    )


@settings(max_examples=60, deadline=None)
@given(POPULATED, WANTING_PODS)
def test_whatever_lets_the_pod_in_wakes_it(before: list[Event], pod: Pod) -> None:
    """Also what lets preemption try a node that it did not try before."""
    waiting = pending(pod)
    missed = []
    for event in EVERY_EVENT:
        world = AffinityWorld()
        plugin = InterPodAffinity(InterPodAffinityArgs(), world.state)
        snapshot = Snapshot(world.state)
        for each in before:
            world.happen(each)
        was = verdicts(plugin, snapshot, waiting)
        old, new = world.happen(event)
        if old is None and new is None:
            continue
        now = verdicts(plugin, snapshot, waiting)
        lets_in = any(verdict == 0 and was.get(node) != 0 for node, verdict in now.items())
        may_be_cleared = any(verdict > 0 and was.get(node, -1) < 0 for node, verdict in now.items())
        if (lets_in or may_be_cleared) and not woken(plugin, waiting, old, new):
            missed.append(event)
    assert missed == []


def verdicts(plugin: InterPodAffinity, snapshot: Snapshot, pod: PodInfo) -> dict[str, int]:
    """Verdict by node."""
    snapshot.refresh()
    found = plugin.filter(CycleState(), pod, snapshot, slice(0, snapshot.nodes.count)).tolist()
    names, exists = snapshot.nodes.names, snapshot.nodes.exists
    return {names[row]: verdict for row, verdict in enumerate(found) if exists[row]}

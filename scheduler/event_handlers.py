"""From watch events to the cache and the queue: the only writer of both outside a scheduling cycle.

What a pod is to the scheduler decides where it goes::

    not yet on a node, asks for one of our profiles   -> queue
    not yet on a node, another scheduler's            -> nothing
    on a node (spec.nodeName)                         -> cache
    finished (Succeeded, Failed)                      -> out of both: it holds nothing any more

A pod of ours that is not on a node yet may be nominated to one: then it holds room there, in the nominator. What the
cycle nominated in memory stands until the pod's status says something new.

Every handler runs on the scheduling loop, between two cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from scheduler.api.types import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Namespace,
    Node,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE_LABEL,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    Action,
    ClusterEvent,
    EventResource,
)
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.core.queue.pod_changes import pod_update_events
from scheduler.core.queue.scheduling_queue import SchedulingQueue

_FINISHED = frozenset({"Succeeded", "Failed"})

_NODE_EVENTS = {
    action: ClusterEvent(EventResource.NODE, action)
    for action in (
        Action.UPDATE_NODE_ALLOCATABLE,
        Action.UPDATE_NODE_LABEL,
        Action.UPDATE_NODE_TAINT,
        Action.UPDATE_NODE_CONDITION,
        Action.UPDATE_NODE_DECLARED_FEATURE,
    )
}


OBJECT_EVENTS: dict[type, dict[Action, ClusterEvent]] = {
    kind: {action: ClusterEvent(resource, action) for action in (Action.ADD, Action.UPDATE_OTHER, Action.DELETE)}
    for kind, resource in {
        Namespace: EventResource.NAMESPACE,
        Service: EventResource.SERVICE,
        ReplicationController: EventResource.REPLICATION_CONTROLLER,
        ReplicaSet: EventResource.REPLICA_SET,
        StatefulSet: EventResource.STATEFUL_SET,
        PersistentVolume: EventResource.PERSISTENT_VOLUME,
        PersistentVolumeClaim: EventResource.PERSISTENT_VOLUME_CLAIM,
        StorageClass: EventResource.STORAGE_CLASS,
        CSINode: EventResource.CSI_NODE,
        CSIDriver: EventResource.CSI_DRIVER,
        CSIStorageCapacity: EventResource.CSI_STORAGE_CAPACITY,
        VolumeAttachment: EventResource.VOLUME_ATTACHMENT,
    }.items()
}
"""Events of the other kinds that plugins read."""


class EventHandlers:
    """Applies typed informer events.

    Args:
        serves: whether a schedulerName is one of ours.
        clock: monotonic seconds.
        record_handled: told the label of each event and the seconds since its object was handed over.
    """

    def __init__(
        self,
        cluster: ClusterState,
        queue: SchedulingQueue,
        serves: Callable[[str], bool],
        clock: Callable[[], float],
        record_handled: Callable[[str, float], None],
    ) -> None:
        self._cache = cluster.cache
        self._nominator = cluster.nominator
        self._objects = cluster.objects
        self._queue = queue
        self._serves = serves
        self._clock = clock
        self._record_handled = record_handled
        self._started = 0.0

    # --- pods

    def pod_added(self, pod: Pod) -> None:
        """A pod appeared, or this process sees it for the first time."""
        self._started = self._clock()
        if pod.status.phase in _FINISHED:
            return
        if pod.spec.node_name:
            self._assigned(parse_pod(pod), pod.spec.node_name)
        elif self._serves(pod.spec.scheduler_name or ""):
            info = parse_pod(pod)
            if not self._cache.is_assumed(info.uid):
                self._follow_nomination(None, info)
                self._queue.add(info, self._started)
                self._handled(UNSCHEDULED_POD_ADD)

    def pod_updated(self, old: Pod, new: Pod) -> None:
        """A pod changed; `old` is what the informer held before."""
        self._started = self._clock()
        if new.status.phase in _FINISHED:
            self.pod_deleted(new)
        elif not new.spec.node_name:
            self._pending_updated(old, new)
        elif not old.spec.node_name:
            self._assigned(parse_pod(new), new.spec.node_name)
        else:
            self._assigned_updated(parse_pod(new), new.spec.node_name)

    def pod_deleted(self, pod: Pod) -> None:
        """A pod is gone or finished. What it held, even by an assumption, is free again."""
        self._started = self._clock()
        uid = pod.metadata.uid
        self._queue.delete(uid)
        nominated = self._nominator.remove(uid)
        state = self._cache.pod_state(uid)
        if state is not None:
            self._cache.remove_pod(uid)
            self._move(ASSIGNED_POD_DELETE, state.pod.on_node(state.node_name), None)
        elif nominated is not None:
            self._move(ASSIGNED_POD_DELETE, parse_pod(pod).nominated_to(nominated), None)

    def _assigned(self, info: PodInfo, node_name: str) -> None:
        self._queue.delete(info.uid)
        held = self._nominator.remove(info.uid)
        assumed = self._cache.pod_state(info.uid)
        left, before = (assumed.node_name, assumed.pod) if assumed is not None else (node_name, info)
        self._cache.add_pod(info, node_name)
        self._move(ASSIGNED_POD_ADD, None, info)
        if held is not None and held != node_name:
            self._move(ASSIGNED_POD_DELETE, info.nominated_to(held), None)
        if left != node_name:
            self._move(ASSIGNED_POD_DELETE, before.on_node(left), None)
        elif before.pod.metadata.labels != info.pod.metadata.labels:
            # It was assumed with labels that have changed since: others may have been turned away for those.
            self._move(ASSIGNED_POD_UPDATE_LABEL, before.on_node(left), info)

    def _assigned_updated(self, new: PodInfo, node_name: str) -> None:
        state = self._cache.pod_state(new.uid)
        if state is None:
            self._assigned(new, node_name)
            return
        old = state.pod
        self._cache.add_pod(new, node_name)
        for event in pod_update_events(old, new, EventResource.ASSIGNED_POD):
            self._move(event, old, new)

    def _pending_updated(self, old: Pod, pod: Pod) -> None:
        # A pod whose Binding is under way stays in flight and keeps the update for the case that the Binding fails; a
        # bound one whose echo is still to come must not enter the queue again.
        uid = pod.metadata.uid
        if self._serves(pod.spec.scheduler_name or "") and (uid in self._queue or not self._cache.is_assumed(uid)):
            info = parse_pod(pod)
            self._follow_nomination(old, info)
            self._queue.update(info, self._started)
            self._handled(UNSCHEDULED_POD_UPDATE)

    def _follow_nomination(self, old: Pod | None, new: PodInfo) -> None:
        """Take over what the pod's status says, if that is news; else only the newer object.

        That a nomination was taken back is no news for one made since. A pod that is being deleted needs no room.
        """
        if self._cache.is_assumed(new.uid):
            return
        before, now = None if old is None else old.status.nominated_node_name, new.pod.status.nominated_node_name
        held = self._nominator.node_of(new.uid)
        wanted = held if now == before or (now is None and before != held) else now
        if new.pod.metadata.deletion_timestamp is not None:
            wanted = None
        if wanted is not None:
            self._nominator.add(new, wanted)
        elif held is not None:
            self._nominator.remove(new.uid)
        if held is not None and (wanted != held or (old is not None and _counts_otherwise(parse_pod(old), new))):
            # The room it held may be had by others.
            self._move(ASSIGNED_POD_DELETE, (new if old is None else parse_pod(old)).nominated_to(held), None)

    # --- nodes

    def node_added(self, node: Node) -> None:
        """A node appeared."""
        self._started = self._clock()
        self._cache.add_node(node)
        self._move(NODE_ADD, None, node)

    def node_updated(self, old: Node, new: Node) -> None:
        """A node changed; a heartbeat changes nothing and wakes nobody.

        Told is the change of what is believed of the node, which may be older than `old`: a state that could not be
        read was passed over.
        """
        self._started = self._clock()
        info = self._cache.node_info(new.metadata.name)
        if info is None or info.node is None:
            self.node_added(new)
            return
        believed = info.node
        if same_for_scheduling(believed, new):
            return
        self._cache.add_node(new)
        for event in node_update_events(believed, new):
            self._move(event, believed, new)

    def node_deleted(self, node: Node) -> None:
        """A node is gone."""
        self._started = self._clock()
        self._cache.remove_node(node.metadata.name)
        nominated = [pod.uid for pod in self._nominator.on_node(node.metadata.name)]
        for uid in nominated:
            self._nominator.remove(uid)
        self._move(NODE_DELETE, node, None)
        # They wait for victims there to leave, which may be never.
        self._queue.activate(nominated, self._started)

    # --- everything else

    def object_added(self, obj: ApiObject) -> None:
        """An object of a kind that plugins read appeared."""
        self._started = self._clock()
        self._objects.set(obj)
        self._move(OBJECT_EVENTS[type(obj)][Action.ADD], None, obj)

    def object_updated(self, old: ApiObject, new: ApiObject) -> None:
        """An object changed; one that says the same as before wakes nobody and makes nothing anew."""
        self._started = self._clock()
        same = replace(new, metadata=old.metadata) == old  # type: ignore[type-var] # all of them are structs
        if same and _same_metadata(old.metadata, new.metadata):
            self._objects.set(new, says_the_same=True)
            return
        self._objects.set(new)
        self._move(OBJECT_EVENTS[type(new)][Action.UPDATE_OTHER], old, new)

    def object_deleted(self, obj: ApiObject) -> None:
        """An object is gone."""
        self._started = self._clock()
        self._objects.remove(obj)
        self._move(OBJECT_EVENTS[type(obj)][Action.DELETE], obj, None)

    def _move(self, event: ClusterEvent, old: object | None, new: object | None) -> None:
        self._queue.move_all_to_active_or_backoff(event, old, new, self._started)
        self._handled(event)

    def _handled(self, event: ClusterEvent) -> None:
        self._record_handled(event.label, self._clock() - self._started)


def _same_metadata(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether only the version may have changed."""
    return replace(new, resource_version=old.resource_version, generation=old.generation) == old


def _counts_otherwise(old: PodInfo, new: PodInfo) -> bool:
    """Whether a nominated pod may be in the way of others less than it was."""
    return old.requests is not new.requests or old.pod.metadata.labels != new.pod.metadata.labels


def same_for_scheduling(old: Node, new: Node) -> bool:
    """Whether nothing changed that a scheduler reads; times of conditions are not read."""
    return old.metadata.labels == new.metadata.labels and old.spec == new.spec and old.status == new.status


def node_update_events(old: Node, new: Node) -> Iterable[ClusterEvent]:
    """One event for each scheduling property that changed."""
    if old.status.allocatable != new.status.allocatable:
        yield _NODE_EVENTS[Action.UPDATE_NODE_ALLOCATABLE]
    if old.metadata.labels != new.metadata.labels:
        yield _NODE_EVENTS[Action.UPDATE_NODE_LABEL]
    # A cordon is a taint to those who wait for it to go.
    if old.spec != new.spec:
        yield _NODE_EVENTS[Action.UPDATE_NODE_TAINT]
    if _condition_statuses(old) != _condition_statuses(new):
        yield _NODE_EVENTS[Action.UPDATE_NODE_CONDITION]
    if old.status.declared_features != new.status.declared_features:
        yield _NODE_EVENTS[Action.UPDATE_NODE_DECLARED_FEATURE]


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions or ()}

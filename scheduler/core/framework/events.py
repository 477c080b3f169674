"""Cluster events: what changed, in the words by which plugins say what can help a pod they rejected.

An event is a resource and a set of actions. A plugin registers the events that may turn its rejection around
(`EnqueueExtensions` in kube-scheduler); the queue wakes a pod when an event *matches* one that a plugin which
rejected it registered. The label of an event is kube-scheduler's metric label.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum, IntFlag, StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from scheduler.core.framework.types import PodInfo, QueuedPodInfo


class EventResource(Enum):
    """The kind of object an event is about."""

    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    """The waiting pod itself."""
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    NAMESPACE = "Namespace"
    SERVICE = "Service"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "apps/ReplicaSet"
    STATEFUL_SET = "apps/StatefulSet"
    WILDCARD = "*"


class Action(IntFlag):
    """What happened to the object; an update carries every part that changed."""

    ADD = 1
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_DECLARED_FEATURE = 1 << 6
    UPDATE_POD_LABEL = 1 << 7
    UPDATE_POD_SCALE_DOWN = 1 << 8
    UPDATE_POD_TOLERATION = 1 << 9
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 10
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 11
    UPDATE_POD_SCALE_UP = 1 << 12
    UPDATE_OTHER = 1 << 13
    UPDATE = (1 << 14) - 1 - 3
    ALL = (1 << 14) - 1


_ACTION_LABELS = {
    Action.ADD: "Add",
    Action.DELETE: "Delete",
    Action.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Action.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    Action.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    Action.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    Action.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    Action.UPDATE_POD_LABEL: "UpdatePodLabel",
    Action.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    Action.UPDATE_POD_SCALE_UP: "UpdatePodScaleUp",
    Action.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    Action.UPDATE_OTHER: "Update",
    Action.UPDATE: "Update",
    Action.ALL: "All",
}


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A resource and what happened to it; also the form in which plugins register interest.

    Attributes:
        label: kube-scheduler's metric label, e.g. ``NodeAdd`` or ``AssignedPodUpdatePodLabel``.
    """

    resource: EventResource
    action: Action
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.resource.value + _ACTION_LABELS.get(self.action, "Update"))

    def matches(self, registered: ClusterEvent) -> bool:
        """Whether this event, as it happened, is one that `registered` asks for."""
        if EventResource.WILDCARD in (self.resource, registered.resource):
            return True
        return self.resource is registered.resource and bool(self.action & registered.action)


QueueingHint: TypeAlias = "Callable[[QueuedPodInfo, object | None, object | None], bool]"
HintSignature: TypeAlias = "Callable[[PodInfo], Hashable | None]"
"""`Plugin.hint_signature`."""


class HintResult(StrEnum):
    """What a hint came to, as the label `hint` of its metric spells it; an error wakes the pod as Queue does."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class RegisteredEvent:
    """An event a plugin asks for, and how to tell whether one of them helps a certain pod.

    A hint speaks for its plugin alone: of each node only the first plugin that rejects it is recorded, so the one that
    is recorded must say yes whenever the event makes *it* accept a node (or may let preemption clear one), whatever
    others think of that node. It may compare the object before and after, or look at the live state of the cluster: it
    is asked right after the event was taken in, or, for a pod in flight, when its attempt has failed.

    Attributes:
        hint: asked with the waiting pod and the object before and after the event (`PodInfo` for pods, with the node
            that a deleted one held as `held_node`); True wakes the pod. None wakes it at every matching event.
    """

    event: ClusterEvent
    hint: QueueingHint | None = None


UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILDCARD, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, Action.ALL, "ForceActivate")
UNSCHEDULED_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(EventResource.UNSCHEDULED_POD, Action.UPDATE_OTHER)
ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
ASSIGNED_POD_UPDATE = ClusterEvent(EventResource.ASSIGNED_POD, Action.UPDATE_OTHER)
ASSIGNED_POD_UPDATE_LABEL = ClusterEvent(EventResource.ASSIGNED_POD, Action.UPDATE_POD_LABEL)
NODE_ADD = ClusterEvent(EventResource.NODE, Action.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, Action.DELETE)

# Labels of entries into the queue that no cluster event caused.
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE = "PopFromBackoffQ"

POD_POPPED = "PodPopped"
"""Stands for an attempt under way among the labels of events in flight."""

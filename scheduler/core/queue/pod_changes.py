"""What an update of a pod changed, as cluster events."""

from scheduler.core.framework.events import Action, ClusterEvent, EventResource
from scheduler.core.framework.types import PodInfo

_EVENTS = {
    resource: {
        action: ClusterEvent(resource, action)
        for action in (
            Action.UPDATE_POD_LABEL,
            Action.UPDATE_POD_SCALE_DOWN,
            Action.UPDATE_POD_SCALE_UP,
            Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            Action.UPDATE_POD_TOLERATION,
            Action.UPDATE_OTHER,
        )
    }
    for resource in (EventResource.ASSIGNED_POD, EventResource.TARGET_POD)
}


def pod_update_events(old: PodInfo, new: PodInfo, resource: EventResource) -> tuple[ClusterEvent, ...]:
    """One event for each scheduling property that the update changed, and a general one if none did or the pod leaves.

    Args:
        old: the pod before.
        new: the pod after.
        resource: ASSIGNED_POD for a pod that has a node, TARGET_POD for one of the queue.
    """
    events = _EVENTS[resource]
    changed: list[ClusterEvent] = []
    if (old.pod.metadata.labels or {}) != (new.pod.metadata.labels or {}):
        changed.append(events[Action.UPDATE_POD_LABEL])
    if old.requests is not new.requests:
        if _asks_less(new, old):
            changed.append(events[Action.UPDATE_POD_SCALE_DOWN])
        if _asks_less(old, new):
            changed.append(events[Action.UPDATE_POD_SCALE_UP])
    if old.pod.spec.scheduling_gates and not new.pod.spec.scheduling_gates:
        changed.append(events[Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED])
    if (old.pod.spec.tolerations or ()) != (new.pod.spec.tolerations or ()):
        changed.append(events[Action.UPDATE_POD_TOLERATION])
    if not changed or _begins_to_leave(old, new):
        changed.append(events[Action.UPDATE_OTHER])
    return tuple(changed)


def _begins_to_leave(old: PodInfo, new: PodInfo) -> bool:
    """Such a pod does not count everywhere any more, whatever else changed with it."""
    return old.pod.metadata.deletion_timestamp is None and new.pod.metadata.deletion_timestamp is not None


def _asks_less(less: PodInfo, more: PodInfo) -> bool:
    """Whether the one asks less than the other of some resource."""
    return any(less.requests.get(name) < amount for name, amount in more.requests.amounts)

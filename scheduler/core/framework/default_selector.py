"""Which pods belong together with a pod that does not say so: those of its services and of its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.api.selectors import EVERYTHING, Selector, SelectorError, all_of, compile_label_selector, compile_labels
from scheduler.api.types import OwnerReference, ReplicaSet, StatefulSet
from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.cluster_objects import ClusterObjects


def default_selector(pod: PodInfo, objects: ClusterObjects) -> Selector:
    """The selectors of all services before the pod and of the controller that owns it, taken together.

    EVERYTHING when there are none. The controller is a ReplicationController (whose labels replace equal ones of the
    services, as in kube-scheduler), ReplicaSet or StatefulSet.
    """
    labels = pod.pod.metadata.labels or {}
    wanted: dict[str, str] = {}
    for service in objects.services.of_namespace(pod.namespace).values():
        if service.spec.selector is not None and compile_labels(service.spec.selector).matches(labels):
            wanted |= service.spec.selector
    owner = next((owner for owner in pod.pod.metadata.owner_references or () if owner.controller), None)
    if owner is not None and (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
        controller = objects.replication_controllers.get(owner.name, pod.namespace)
        if controller is not None:
            wanted |= controller.spec.selector or {}
    selector = compile_labels(wanted)
    return selector if owner is None else all_of(selector, _workload_selector(owner, pod.namespace, objects))


def workload_version(objects: ClusterObjects) -> tuple[int, ...]:
    """Changes whenever `default_selector` may give something else."""
    return (
        objects.services.version,
        objects.replication_controllers.version,
        objects.replica_sets.version,
        objects.stateful_sets.version,
    )


def _workload_selector(owner: OwnerReference, namespace: str, objects: ClusterObjects) -> Selector:
    """What a set of pods selects; EVERYTHING where that is not known or can't be understood."""
    workload: ReplicaSet | StatefulSet | None = None
    if (owner.api_version, owner.kind) == ("apps/v1", "ReplicaSet"):
        workload = objects.replica_sets.get(owner.name, namespace)
    elif (owner.api_version, owner.kind) == ("apps/v1", "StatefulSet"):
        workload = objects.stateful_sets.get(owner.name, namespace)
    if workload is None:
        return EVERYTHING
    try:
        selector = compile_label_selector(workload.spec.selector)
    except SelectorError:
        return EVERYTHING
    return EVERYTHING if selector.selects_nothing else selector

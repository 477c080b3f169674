"""Keeps pods off nodes whose kubelet does not say that it has a feature which the pod needs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.api.types import Container, Node, PodSpec
from scheduler.core.framework.events import Action, ClusterEvent, EventResource, RegisteredEvent
from scheduler.core.framework.interface import Depends, FilterPlugin, Rows
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import IntArray, PodInfo, QueuedPodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState

RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_WITH_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"
_NOTHING: Final[frozenset[str]] = frozenset()


class NodeDeclaredFeatures(FilterPlugin):
    """Filter: nodes whose ``status.declaredFeatures`` lack one that the pod's spec implies (`required_features`).

    Computed once per distinct set of declared features, then spread over the rows that have it.
    """

    name: ClassVar[str] = "NodeDeclaredFeatures"
    depends: ClassVar[Depends] = Depends.NODE

    def filter_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """What the pod needs; None when that is nothing."""
        return required_features(pod.pod.spec) or None

    def hint_signature(self, pod: PodInfo) -> Hashable:
        """What the pod needs."""
        return required_features(pod.pod.spec)

    def filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows) -> IntArray:
        """-1 where a feature is missing."""
        required = required_features(pod.pod.spec)
        declared = snapshot.nodes.feature_sets.values
        # The last entry serves rows without a node.
        table = np.array([*(features is not None and not required <= features for features in declared), False])
        return -table[snapshot.nodes.feature_set_ids[rows]].astype(np.int32)

    def status(self, pod: PodInfo, verdict: int) -> Status:
        """The one reason."""
        return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's required features")

    def events_to_register(self) -> Sequence[RegisteredEvent]:
        """Nodes that come with the features or gain them; a pod that needs others than before."""
        return (
            RegisteredEvent(
                ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE), _node_now_has_them
            ),
            RegisteredEvent(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE), _pod_needs_others),
        )


def required_features(spec: PodSpec) -> frozenset[str]:
    """Names of the features that a node must declare to run such a pod, as Kubernetes 1.37 infers them.

    A user namespace of its own on the host's network, and a rule by which one container's exit restarts all. The third
    that 1.37 knows, bind mount options, is behind an alpha gate: the API server drops the field.
    """
    required = _NOTHING
    if spec.host_network and spec.host_users is False:
        required |= {USER_NAMESPACES_WITH_HOST_NETWORK}
    if _restarts_all(spec.containers) or (spec.init_containers and _restarts_all(spec.init_containers)):
        required |= {RESTART_ALL_CONTAINERS}
    return required


def _restarts_all(containers: Sequence[Container]) -> bool:
    for container in containers:
        rules = container.restart_policy_rules
        if rules and any(rule.action == "RestartAllContainers" for rule in rules):
            return True
    return False


def _node_now_has_them(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    required = required_features(queued.pod_info.pod.spec)
    had = isinstance(old, Node) and required.issubset(old.status.declared_features or ())
    return isinstance(new, Node) and required.issubset(new.status.declared_features or ()) and not had


def _pod_needs_others(queued: QueuedPodInfo, old: object | None, new: object | None) -> bool:
    if not isinstance(old, PodInfo) or not isinstance(new, PodInfo):
        return True
    return required_features(old.pod.spec) != required_features(new.pod.spec)

"""Whether the volumes that were decided about are bound by now.

After the scheduler's writes it is the controllers' turn: they bind claim and volume to each other, or a provisioner
makes the volume first. What they come to is read from what the watches show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.api.storage import SELECTED_NODE_ANNOTATION, PersistentVolume, is_bound
from scheduler.core.volumes.node_volumes import reaches

if TYPE_CHECKING:
    from scheduler.api.types import Node, ObjectMeta
    from scheduler.core.cache.cluster_state import ClusterState
    from scheduler.core.framework.types import PodInfo
    from scheduler.core.volumes.reservation import Binding, Provisioned, Reservation


class BindingFailed(Exception):  # noqa: N818 - the name says what happened
    """The volumes will not be bound as was decided; the text is kube-scheduler's."""


def settled(cluster: ClusterState, pod: PodInfo, node_name: str, reservation: Reservation) -> bool:
    """Whether every claim of the reservation is bound.

    Raises:
        BindingFailed: that won't happen any more.
    """
    info = cluster.cache.node_info(node_name)
    node = info.node if info is not None else None
    if node is None:
        raise BindingFailed(f'failed to get node "{node_name}": node "{node_name}" not found')
    if cluster.cache.pod_state(pod.uid) is None:
        raise BindingFailed(f'pod does not exist any more: pod "{pod.name}" not found')
    return all(_binding_settled(cluster, node, binding) for binding in reservation.bindings) and all(
        _provision_settled(cluster, node, provisioned) for provisioned in reservation.provisions
    )


def _binding_settled(cluster: ClusterState, node: Node, binding: Binding) -> bool:
    written, claim = binding.volume.metadata, binding.claim.metadata
    volume = cluster.objects.persistent_volumes.get(written.name)
    if volume is None:
        raise BindingFailed(f'failed to check binding: persistentvolumes "{written.name}" not found')
    current = cluster.objects.persistent_volume_claims.get(claim.name, claim.namespace)
    if current is None:
        key = f"{claim.namespace}/{claim.name}"
        raise BindingFailed(f'failed to check binding: persistentvolumeclaims "{key}" not found')
    if _is_newer(written, volume.metadata):
        return False
    _check_reach(cluster, node, volume)
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        raise BindingFailed(f'ClaimRef got reset for pv "{volume.metadata.name}"')
    return is_bound(current)


def _provision_settled(cluster: ClusterState, node: Node, provisioned: Provisioned) -> bool:
    written = provisioned.claim.metadata
    claim = cluster.objects.persistent_volume_claims.get(written.name, written.namespace)
    if claim is None:
        key = f"{written.namespace}/{written.name}"
        raise BindingFailed(f'failed to check provisioning pvc: persistentvolumeclaims "{key}" not found')
    if _is_newer(written, claim.metadata):
        return False
    if claim.metadata.annotations is None:
        raise BindingFailed(f'selectedNode annotation reset for PVC "{written.name}"')
    if claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION) != node.metadata.name:
        raise BindingFailed(f'provisioning failed for PVC "{written.name}"')
    if claim.spec.volume_name:
        volume = cluster.objects.persistent_volumes.get(claim.spec.volume_name)
        if volume is None:
            return False
        _check_reach(cluster, node, volume)
    return is_bound(claim)


def _check_reach(cluster: ClusterState, node: Node, volume: PersistentVolume) -> None:
    csi_node = cluster.objects.csi_nodes.get(node.metadata.name)
    if not reaches(volume, node.metadata.labels or {}, csi_node):
        raise BindingFailed(
            f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.metadata.name}": '
            "no matching NodeSelectorTerms"
        )


def _is_newer(written: ObjectMeta, seen: ObjectMeta) -> bool:
    """Whether the watch has yet to show what was written."""
    if written.uid != seen.uid:
        return False
    try:
        return int(written.resource_version) > int(seen.resource_version)
    except ValueError:
        return written.resource_version != seen.resource_version

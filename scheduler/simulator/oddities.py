"""What is odd in a cluster, though it could stand in an API server: warnings beside the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from scheduler.api.quantity import nano_value
from scheduler.api.requests import CPU, assigned_pod_requests
from scheduler.api.types import Node, PersistentVolume, PersistentVolumeClaim, Pod
from scheduler.simulator.cluster_input import ClusterInput
from scheduler.simulator.places import Place, Remark

_FINISHED = ("Succeeded", "Failed")
_PODS = "pods"


def oddities(cluster: ClusterInput, served: Collection[str]) -> Iterator[Remark]:
    """One remark for each thing that its author may not have meant.

    Args:
        cluster: decoded and valid.
        served: schedulerNames of the profiles.
    """
    live = [pod for pod in cluster.pods if pod.status.phase not in _FINISHED]
    if not cluster.nodes:
        yield Remark(Place("input"), "there are no nodes")
    if not any(_is_pending(pod, served) for pod in live):
        yield Remark(Place("input"), f"no pending pod asks for {' or '.join(sorted(served))}")
    yield from _lost_pods(cluster, live)
    yield from _full_nodes(cluster, live)
    yield from _volumes(cluster)


def _is_pending(pod: Pod, served: Collection[str]) -> bool:
    return not pod.spec.node_name and (pod.spec.scheduler_name or "") in served


def _lost_pods(cluster: ClusterInput, live: list[Pod]) -> Iterator[Remark]:
    names = {node.metadata.name for node in cluster.nodes}
    for pod in live:
        node_name = pod.spec.node_name
        if node_name and node_name not in names:
            place = cluster.places[pod.metadata.uid].at("spec.nodeName")
            yield Remark(place, f"there is no node {node_name}: the pod takes room nowhere")
        nominated = pod.status.nominated_node_name
        if nominated and not node_name and nominated not in names:
            place = cluster.places[pod.metadata.uid].at("status.nominatedNodeName")
            yield Remark(place, f"there is no node {nominated}")


def _full_nodes(cluster: ClusterInput, live: list[Pod]) -> Iterator[Remark]:
    taken: dict[str, Counter[str]] = {node.metadata.name: Counter() for node in cluster.nodes}
    for pod in live:
        on_node = taken.get(pod.spec.node_name or "")
        if on_node is not None:
            on_node[_PODS] += 1
            for name, amount in assigned_pod_requests(pod).amounts:
                on_node[name] += amount
    for node in cluster.nodes:
        place = cluster.places[node.metadata.uid]
        if not node.status.allocatable:
            yield Remark(place.at("status.allocatable"), "is missing, and so is capacity: nothing fits there")
            continue
        over = [name for name, amount in sorted(taken[node.metadata.name].items()) if amount > _allocatable(node, name)]
        if over:
            yield Remark(place, f"its pods take more than is allocatable of {', '.join(over)}")


def _allocatable(node: Node, name: str) -> int:
    """In thousandths of cpu, in whole units of all else."""
    amount = (node.status.allocatable or {}).get(name)
    if amount is None:
        return 0
    nano = nano_value(amount)
    return nano // 10**6 if name == CPU else nano // 10**9


def _volumes(cluster: ClusterInput) -> Iterator[Remark]:
    volumes = {obj.metadata.name for obj in cluster.objects if isinstance(obj, PersistentVolume)}
    bound_to: dict[str, PersistentVolumeClaim] = {}
    for obj in cluster.objects:
        if not isinstance(obj, PersistentVolumeClaim) or not obj.spec.volume_name:
            continue
        name = obj.spec.volume_name
        place = cluster.places[obj.metadata.uid].at("spec.volumeName")
        if name not in volumes:
            yield Remark(place, f"there is no PersistentVolume {name}")
        first = bound_to.setdefault(name, obj)
        if first is not obj:
            other = f"{first.metadata.namespace}/{first.metadata.name}"
            yield Remark(place, f"PersistentVolume {name} is bound to claim {other} already")

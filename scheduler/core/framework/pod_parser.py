"""From a pod as the API server stores it to what the core needs of it."""

from scheduler.api.pod_volumes import pod_volumes
from scheduler.api.requests import assigned_pod_requests, host_ports, pod_requests
from scheduler.api.types import Pod
from scheduler.core.framework.types import PodInfo


def parse_pod(pod: Pod) -> PodInfo:
    """The pod as the core sees it: what it asks while it is pending, what it takes once it is on a node.

    Raises:
        QuantityError: a request is not a quantity; the API server refuses such pods.
    """
    metadata, spec = pod.metadata, pod.spec
    return PodInfo(
        pod,
        metadata.uid,
        f"{metadata.namespace}/{metadata.name}",
        metadata.namespace,
        spec.priority or 0,
        assigned_pod_requests(pod) if spec.node_name else pod_requests(pod),
        host_ports(pod),
        pod_volumes(pod),
    )

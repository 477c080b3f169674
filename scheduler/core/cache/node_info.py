"""A node with the pods on it, kept up to date one pod at a time."""

from collections import Counter

from scheduler.api.pod_volumes import VolumeUse
from scheduler.api.quantity import milli_value, value
from scheduler.api.requests import CPU, HostPort
from scheduler.api.types import Node
from scheduler.core.framework.types import PodInfo


class NodeInfo:
    """What is known of one node: its object, its pods, and their sums.

    It exists as soon as a pod names the node or the Node object arrives, and lives until both are gone.

    Attributes:
        row: the node's row in the columns for as long as this object lives.
        node: the Node object; None while only its pods are known. Set by `set_node`.
        allocatable: resource name to what the node offers (cpu in milli, others in units; `pods` is one of them).
        pods: pods on the node by UID, assumed ones included, in the order in which they came.
        requested: resource name to what the pods ask (cpu in milli, others in units).
        non_zero_cpu_milli, non_zero_memory_bytes: the same with scoring's defaults for pods that ask nothing.
        used_ports: host ports with the number of containers that take them.
        used_volumes: claims, disks and in-tree volumes with the number of times pods mount them.
        priorities: priorities of the pods with the number of pods that have them.
    """

    __slots__ = (
        "allocatable",
        "name",
        "node",
        "non_zero_cpu_milli",
        "non_zero_memory_bytes",
        "pods",
        "priorities",
        "requested",
        "row",
        "used_ports",
        "used_volumes",
    )

    def __init__(self, name: str, row: int) -> None:
        self.name = name
        self.row = row
        self.node: Node | None = None
        self.allocatable: dict[str, int] = {}
        self.pods: dict[str, PodInfo] = {}
        self.requested: dict[str, int] = {}
        self.non_zero_cpu_milli = 0
        self.non_zero_memory_bytes = 0
        self.used_ports: Counter[HostPort] = Counter()
        self.used_volumes: Counter[VolumeUse] = Counter()
        self.priorities: dict[int, int] = {}

    def set_node(self, node: Node | None) -> None:
        """Take the Node object, or None when it is gone.

        Raises:
            QuantityError: an allocatable amount is not a quantity; nothing is taken then.
        """
        self.allocatable = {} if node is None else allocatable_amounts(node)
        self.node = node

    def add_pod(self, pod: PodInfo) -> None:
        """Count `pod` in. It must not be here yet."""
        self.pods[pod.uid] = pod
        self._count(pod, 1)

    def remove_pod(self, uid: str) -> PodInfo:
        """Take the pod out and give it back.

        Raises:
            KeyError: no such pod on this node.
        """
        pod = self.pods.pop(uid)
        self._count(pod, -1)
        return pod

    def _count(self, pod: PodInfo, sign: int) -> None:
        requested = self.requested
        for name, amount in pod.requests.amounts:
            requested[name] = requested.get(name, 0) + sign * amount
        self.non_zero_cpu_milli += sign * pod.requests.non_zero_cpu_milli
        self.non_zero_memory_bytes += sign * pod.requests.non_zero_memory_bytes
        pods = self.priorities.get(pod.priority, 0) + sign
        if pods:
            self.priorities[pod.priority] = pods
        else:
            del self.priorities[pod.priority]
        for port in pod.host_ports:
            self.used_ports[port] += sign
            if not self.used_ports[port]:
                del self.used_ports[port]
        for use in pod.volumes.uses():
            self.used_volumes[use] += sign
            if not self.used_volumes[use]:
                del self.used_volumes[use]


def allocatable_amounts(node: Node) -> dict[str, int]:
    """Resource name to what the node offers (cpu in milli, others in units).

    Raises:
        QuantityError: an amount is not a quantity.
    """
    quantities = node.status.allocatable or {}
    return {name: milli_value(quantity) if name == CPU else value(quantity) for name, quantity in quantities.items()}

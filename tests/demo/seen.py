"""Nodes, pods and events as the API server gave them, reduced to what the story tells."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.api.quantity import milli_value
from tests.controlplane.resources import Manifest


@dataclass(frozen=True)
class SeenNode:
    """A node; `allocatable` in thousandths by resource."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    allocatable: Mapping[str, int]

    @property
    def zone(self) -> str:
        """The value of the zone label, empty without one."""
        return self.labels.get("topology.kubernetes.io/zone", "")


@dataclass(frozen=True)
class SeenPod:
    """A pod.

    Attributes:
        node_name: empty while it is on no node.
        reason, message: of the condition PodScheduled; empty when it has none or is true.
        requests: of its containers, in thousandths by resource.
    """

    name: str
    node_name: str
    phase: str
    reason: str
    message: str
    requests: Mapping[str, int]


@dataclass(frozen=True)
class SeenEvent:
    """An event about a pod; `time` as the reporter wrote it, which sorts by age."""

    pod: str
    reason: str
    note: str
    reporter: str
    time: str


def seen_node(node: Manifest) -> SeenNode:
    """The node in an API object."""
    taints = node["spec"].get("taints") or ()
    return SeenNode(
        node["metadata"]["name"],
        node["metadata"].get("labels") or {},
        tuple(f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in taints),
        _amounts(node["status"]["allocatable"]),
    )


def seen_pod(pod: Manifest) -> SeenPod:
    """The pod in an API object."""
    conditions = pod["status"].get("conditions") or ()
    unscheduled: Manifest = next((c for c in conditions if c["type"] == "PodScheduled" and c["status"] != "True"), {})
    requests: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for resource, amount in _amounts(container.get("resources", {}).get("requests") or {}).items():
            requests[resource] = requests.get(resource, 0) + amount
    return SeenPod(
        pod["metadata"]["name"],
        pod["spec"].get("nodeName", ""),
        pod["status"].get("phase", ""),
        unscheduled.get("reason", ""),
        unscheduled.get("message", ""),
        requests,
    )


def seen_event(event: Manifest) -> SeenEvent:
    """The event in an API object."""
    return SeenEvent(
        (event.get("regarding") or {}).get("name", ""),
        event.get("reason", ""),
        event.get("note", ""),
        event.get("reportingController", ""),
        event.get("eventTime") or "",
    )


def _amounts(quantities: Mapping[str, str]) -> dict[str, int]:
    return {resource: milli_value(quantity) for resource, quantity in quantities.items()}

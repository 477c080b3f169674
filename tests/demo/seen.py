"""Nodes, pods and events as the API server gave them, reduced to what the story tells."""

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.api.quantity import milli_value
from tests.controlplane.resources import Manifest

_NOMINATED_NODE = "scheduler.kubernetes.io/nominated-node-name"


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
        nominated_node, annotated_node: where it is nominated to, by status and by annotation; empty when nowhere.
        disruption: message of the condition DisruptionTarget; empty without one.
        is_leaving: whether it is being deleted.
    """

    name: str
    uid: str
    node_name: str
    phase: str
    reason: str
    message: str
    requests: Mapping[str, int]
    priority: int
    nominated_node: str
    annotated_node: str
    disruption: str
    is_leaving: bool


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
    metadata, status = pod["metadata"], pod["status"]
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    scheduled: Manifest = conditions.get("PodScheduled", {})
    unscheduled = scheduled if scheduled.get("status") != "True" else {}
    requests: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for resource, amount in _amounts(container.get("resources", {}).get("requests") or {}).items():
            requests[resource] = requests.get(resource, 0) + amount
    return SeenPod(
        metadata["name"],
        metadata["uid"],
        pod["spec"].get("nodeName", ""),
        status.get("phase", ""),
        unscheduled.get("reason", ""),
        unscheduled.get("message", ""),
        requests,
        pod["spec"].get("priority", 0),
        status.get("nominatedNodeName", ""),
        (metadata.get("annotations") or {}).get(_NOMINATED_NODE, ""),
        conditions.get("DisruptionTarget", {}).get("message", ""),
        "deletionTimestamp" in metadata,
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

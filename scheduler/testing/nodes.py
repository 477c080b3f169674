"""Nodes in one line: `make_node("n1").capacity(cpu="8").label(disk="ssd").taint("gpu", "true", "NoSchedule").obj()`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from scheduler.api.meta import ObjectMeta, Quantity
from scheduler.api.node import ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus, Taint

_DEFAULT_CAPACITY: dict[str, Quantity] = {"cpu": "4", "memory": "32Gi", "pods": "110"}


def make_node(name: str) -> NodeBuilder:
    """A node of 4 cpus, 32 GiB and 110 pods that carries the label kubernetes.io/hostname and no taint."""
    metadata = ObjectMeta(name, uid=f"uid-of-{name}", resource_version="1", labels={"kubernetes.io/hostname": name})
    status = NodeStatus(capacity=_DEFAULT_CAPACITY, allocatable=_DEFAULT_CAPACITY)
    return NodeBuilder(Node(metadata, NodeSpec(), status))


class NodeBuilder:
    """A node in the making. Each method gives a new builder, so a half-made node may be the start of several."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def obj(self) -> Node:
        """The finished node."""
        return self._node

    def capacity(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> NodeBuilder:
        """Sets these resources, in capacity and allocatable: `capacity({"nvidia.com/gpu": 8}, cpu="64")`."""
        amounts = {**(resources or {}), **named}
        status = self._node.status
        return self._status(capacity={**(status.capacity or {}), **amounts}).allocatable(amounts)

    def allocatable(self, resources: Mapping[str, Quantity] | None = None, /, **named: Quantity) -> NodeBuilder:
        """Sets these resources in allocatable alone."""
        return self._status(allocatable={**(self._node.status.allocatable or {}), **(resources or {}), **named})

    def label(self, labels: Mapping[str, str] | None = None, /, **named: str) -> NodeBuilder:
        """Adds labels: `label({"topology.kubernetes.io/zone": "a"}, disk="ssd")`."""
        return self._metadata(labels={**(self._node.metadata.labels or {}), **(labels or {}), **named})

    def taint(self, key: str, value: str | None = None, effect: str = "NoSchedule") -> NodeBuilder:
        """Adds a taint."""
        return self._spec(taints=(*(self._node.spec.taints or ()), Taint(key, value, effect)))

    def unschedulable(self) -> NodeBuilder:
        """Cordons the node, with the taint that the API server gives a cordoned node."""
        return self._spec(unschedulable=True).taint("node.kubernetes.io/unschedulable")

    def image(self, *names: str, size_bytes: int) -> NodeBuilder:
        """Adds an image under these names."""
        return self._status(images=(*(self._node.status.images or ()), ContainerImage(names, size_bytes)))

    def condition(self, kind: str, status: str, reason: str | None = None) -> NodeBuilder:
        """Adds a condition, such as Ready, True."""
        conditions = (*(self._node.status.conditions or ()), NodeCondition(kind, status, reason))
        return self._status(conditions=conditions)

    def declared_features(self, *features: str) -> NodeBuilder:
        """Sets the features that the node says it has."""
        return self._status(declared_features=features)

    def uid(self, uid: str) -> NodeBuilder:
        """Sets the uid, which otherwise follows from the name."""
        return self._metadata(uid=uid)

    def resource_version(self, resource_version: str) -> NodeBuilder:
        """Sets the version of the object."""
        return self._metadata(resource_version=resource_version)

    def created(self, at: datetime) -> NodeBuilder:
        """Sets the creation time."""
        return self._metadata(creation_timestamp=at)

    def _metadata(self, **changes: object) -> NodeBuilder:
        return NodeBuilder(replace(self._node, metadata=replace(self._node.metadata, **changes)))

    def _spec(self, **changes: object) -> NodeBuilder:
        return NodeBuilder(replace(self._node, spec=replace(self._node.spec, **changes)))

    def _status(self, **changes: object) -> NodeBuilder:
        return NodeBuilder(replace(self._node, status=replace(self._node.status, **changes)))

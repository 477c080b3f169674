"""From bytes to a Node that shares with others what nodes of one make have in common.

A node lists up to fifty images under two names each: without sharing they would be the larger part of 5,000 nodes.
A heartbeat changes none of the shared parts, so that comparing them by identity first finds what has changed.
"""

from datetime import datetime
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from scheduler.api.meta import ApiStruct, ObjectMeta, ResourceList
from scheduler.api.node import ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus
from scheduler.api.pod_wire import ABSENT
from scheduler.api.sharing import SharingTable, decoded_parts


class WireNodeMeta(ApiStruct, frozen=True):
    """No plugin reads a node's annotations."""

    name: str
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class WireNodeStatus(ApiStruct, frozen=True):
    """The status, its shared parts raw."""

    capacity: Raw = ABSENT
    allocatable: Raw = ABSENT
    conditions: tuple[NodeCondition, ...] | None = None
    images: tuple[Raw, ...] | None = None
    declared_features: tuple[str, ...] | None = None


class WireNode(ApiStruct, frozen=True):
    """A node as it comes."""

    metadata: WireNodeMeta
    spec: NodeSpec = NodeSpec()
    status: WireNodeStatus = WireNodeStatus()


_decode_wire_node: Final = msgspec.json.Decoder(WireNode).decode
_resource_lists: Final = decoded_parts(ResourceList)
_images: Final = decoded_parts(ContainerImage)
_conditions: Final[SharingTable[tuple[NodeCondition, ...], tuple[NodeCondition, ...]]] = SharingTable(lambda key: key)


def decode_shared_node(buffer: bytes | memoryview) -> Node:
    """The node in `buffer`; raises `msgspec.ValidationError` where a value is null or of another type than said."""
    metadata, spec, status = astuple(_decode_wire_node(buffer))
    name, uid, resource_version, labels, created, deleted = astuple(metadata)
    capacity, allocatable, conditions, images, declared_features = astuple(status)
    return Node(
        ObjectMeta(
            name=name,
            uid=uid,
            resource_version=resource_version,
            labels=labels,
            creation_timestamp=created,
            deletion_timestamp=deleted,
        ),
        spec,
        NodeStatus(
            capacity=None if capacity is ABSENT else _resource_lists[bytes(capacity)],
            allocatable=None if allocatable is ABSENT else _resource_lists[bytes(allocatable)],
            conditions=None if conditions is None else _conditions[conditions],
            images=None if images is None else tuple([_images[bytes(image)] for image in images]),
            declared_features=declared_features,
        ),
    )

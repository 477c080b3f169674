"""Node: what it offers and whom it keeps away."""

from scheduler.api.meta import ApiStruct, ObjectMeta, ResourceList


class Taint(ApiStruct, frozen=True):
    """Keeps away pods that do not tolerate it; effects NoSchedule, PreferNoSchedule, NoExecute."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class NodeSpec(ApiStruct, frozen=True):
    """What administrators and controllers say of the node."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class NodeCondition(ApiStruct, frozen=True):
    """A condition of the node, without its heartbeat, so that a heartbeat changes nothing."""

    type: str = ""
    status: str = ""
    reason: str | None = None


class ContainerImage(ApiStruct, frozen=True):
    """An image that is on the node, under all its names."""

    names: tuple[str, ...] | None = None
    size_bytes: int | None = None


class NodeStatus(ApiStruct, frozen=True):
    """What the node says of itself; pods are counted against `allocatable`."""

    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: tuple[NodeCondition, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None
    declared_features: tuple[str, ...] | None = None


class Node(ApiStruct, frozen=True):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

"""The shape in which a pod is decoded first: what is likely to be shared stays raw, to be looked up by its bytes.

Names and order of the fields are those of the types in `scheduler.api.pod`; `pod_decoding` relies on the order.
"""

from datetime import datetime
from typing import Final

from msgspec import Raw, field

from scheduler.api.meta import ApiStruct
from scheduler.api.pod import MIRROR_POD_ANNOTATION, NOMINATED_NODE_ANNOTATION, PodCondition

ABSENT: Final = Raw(b"")
"""A part that the object does not have."""


class WireAnnotations(ApiStruct, frozen=True):
    """Only the annotations that are read; the others are skipped without being made."""

    nominated_node_name: str | None = field(default=None, name=NOMINATED_NODE_ANNOTATION)
    mirror: str | None = field(default=None, name=MIRROR_POD_ANNOTATION)


class WireMeta(ApiStruct, frozen=True):
    """Nearly all of it differs from pod to pod."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Raw = ABSENT
    annotations: WireAnnotations | None = None
    owner_references: Raw = ABSENT
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    generation: int | None = None


class WireContainer(ApiStruct, frozen=True):
    """What is read of a container; its mounts, which name the token volume, are skipped."""

    name: Raw = ABSENT
    image: Raw = ABSENT
    resources: Raw = ABSENT
    ports: Raw = ABSENT
    restart_policy: Raw = ABSENT
    restart_policy_rules: Raw = ABSENT


class WireSpec(ApiStruct, frozen=True):
    """The spec."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: Raw = ABSENT
    affinity: Raw = ABSENT
    tolerations: Raw = ABSENT
    topology_spread_constraints: Raw = ABSENT
    scheduling_gates: Raw = ABSENT
    containers: tuple[WireContainer, ...] = ()
    init_containers: tuple[WireContainer, ...] | None = None
    overhead: Raw = ABSENT
    resources: Raw = ABSENT
    volumes: tuple[dict[str, Raw], ...] | None = None
    resource_claims: Raw = ABSENT
    host_network: bool | None = None
    host_users: bool | None = None
    termination_grace_period_seconds: int | None = None
    scheduling_group: Raw = ABSENT


class WireContainerStatus(ApiStruct, frozen=True):
    """What is read of a container's status."""

    name: Raw = ABSENT
    allocated_resources: Raw = ABSENT
    resources: Raw = ABSENT


class WireStatus(ApiStruct, frozen=True):
    """The status; conditions are cheaper to compare than to keep raw."""

    phase: str | None = None
    reason: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    nominated_node_name: str | None = None
    start_time: datetime | None = None
    container_statuses: tuple[WireContainerStatus, ...] | None = None
    init_container_statuses: tuple[WireContainerStatus, ...] | None = None
    allocated_resources: Raw = ABSENT
    resources: Raw = ABSENT


class WirePod(ApiStruct, frozen=True):
    """A pod as it comes."""

    metadata: WireMeta
    spec: WireSpec = WireSpec()
    status: WireStatus = WireStatus()


class WireAffinity(ApiStruct, frozen=True):
    """The three affinities, each shared by itself."""

    node_affinity: Raw = ABSENT
    pod_affinity: Raw = ABSENT
    pod_anti_affinity: Raw = ABSENT

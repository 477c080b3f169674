"""From bytes to a Pod in two steps, so that pods of one template share their parts.

The first step decodes what differs from pod to pod and leaves each larger part as raw bytes (`pod_wire`). The second
looks the bytes up: equal bytes are the same typed part, decoded once. The bytes of a whole container or volume list
are of no use as a key, because every pod's token volume, and hence a mount in every container, has a name of its own:
they are taken apart, and what a scheduler reads of them is the key.

What costs little is done the way that costs least, for this runs twice for every pod of the cluster: parts are given
to the types by position, and the parts of a container are joined by a character that stands in no JSON text.
"""

from sys import intern
from typing import Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from scheduler.api.meta import ObjectMeta, OwnerReference, ResourceList
from scheduler.api.pod import (
    MIRROR_POD_ANNOTATION,
    NOMINATED_NODE_ANNOTATION,
    Affinity,
    Container,
    ContainerPort,
    ContainerRestartRule,
    ContainerStatus,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodAntiAffinity,
    PodCondition,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from scheduler.api.pod_wire import (
    ABSENT,
    WireAffinity,
    WireAnnotations,
    WireContainer,
    WireContainerStatus,
    WireMeta,
    WirePod,
    WireSpec,
    WireStatus,
)
from scheduler.api.sharing import SharingTable, decoded_parts
from scheduler.api.volumes import READ_KINDS, UNREAD_KINDS, Volume

T = TypeVar("T")

_PART: Final = b"\0"
_NO_KINDS: Final[frozenset[str]] = frozenset()

_decode_wire_pod: Final = msgspec.json.Decoder(WirePod).decode
_decode_wire_affinity: Final = msgspec.json.Decoder(WireAffinity).decode
_encode: Final = msgspec.json.Encoder().encode

_strings: Final = decoded_parts(str)
_string_maps: Final = decoded_parts(dict[str, str])
_owner_references: Final = decoded_parts(tuple[OwnerReference, ...])
_node_affinities: Final = decoded_parts(NodeAffinity)
_pod_affinities: Final = decoded_parts(PodAffinity)
_pod_anti_affinities: Final = decoded_parts(PodAntiAffinity)
_tolerations: Final = decoded_parts(tuple[Toleration, ...])
_topology_spread_constraints: Final = decoded_parts(tuple[TopologySpreadConstraint, ...])
_scheduling_gates: Final = decoded_parts(tuple[PodSchedulingGate, ...])
_resource_lists: Final = decoded_parts(ResourceList)
_resource_requirements: Final = decoded_parts(ResourceRequirements)
_ports: Final = decoded_parts(tuple[ContainerPort, ...])
_restart_policy_rules: Final = decoded_parts(tuple[ContainerRestartRule, ...])
_resource_claims: Final = decoded_parts(tuple[PodResourceClaim, ...])
_scheduling_groups: Final = decoded_parts(PodSchedulingGroup)
_volumes: Final = decoded_parts(Volume)


def _get(table: SharingTable[bytes, T], part: Raw | bytes) -> T | None:
    return table[bytes(part)] if part else None


def _build_affinity(key: bytes) -> Affinity:
    node, pod, anti = astuple(_decode_wire_affinity(key))
    return Affinity(_get(_node_affinities, node), _get(_pod_affinities, pod), _get(_pod_anti_affinities, anti))


def _build_container(key: bytes) -> Container:
    name, image, resources, ports, restart_policy, rules = key.split(_PART)
    return Container(
        _get(_strings, name) or "",
        _get(_strings, image),
        _get(_resource_requirements, resources),
        _get(_ports, ports),
        _get(_strings, restart_policy),
        _get(_restart_policy_rules, rules),
    )


def _build_container_status(key: bytes) -> ContainerStatus:
    name, allocated, resources = key.split(_PART)
    return ContainerStatus(
        _get(_strings, name) or "", _get(_resource_lists, allocated), _get(_resource_requirements, resources)
    )


def _build_containers(keys: tuple[bytes, ...]) -> tuple[Container, ...]:
    return tuple([_containers[key] for key in keys])


def _build_container_statuses(keys: tuple[bytes, ...]) -> tuple[ContainerStatus, ...]:
    return tuple([_container_statuses[key] for key in keys])


def _itself(key: T) -> T:
    return key


_affinities: Final = SharingTable(_build_affinity)
_containers: Final = SharingTable(_build_container)
_container_tuples: Final = SharingTable(_build_containers)
_container_statuses: Final = SharingTable(_build_container_status)
_container_status_tuples: Final = SharingTable(_build_container_statuses)
_conditions: Final[SharingTable[tuple[PodCondition, ...], tuple[PodCondition, ...]]] = SharingTable(_itself)
_volume_tuples: Final[SharingTable[tuple[Volume, ...], tuple[Volume, ...]]] = SharingTable(_itself)
_volume_kinds: Final[SharingTable[frozenset[str], frozenset[str]]] = SharingTable(lambda names: names - {"name"})


def _row_keys(rows: tuple[WireContainer | WireContainerStatus, ...]) -> tuple[bytes, ...]:
    return tuple([_PART.join(astuple(row)) for row in rows])


def decode_shared_pod(buffer: bytes | memoryview) -> Pod:
    """The pod in `buffer`; raises `msgspec.ValidationError` where a value is null or of another type than said."""
    metadata, spec, status = astuple(_decode_wire_pod(buffer))
    return Pod(_metadata(metadata), _spec(spec), _status(status))


def _metadata(wire: WireMeta) -> ObjectMeta:
    name, namespace, uid, resource_version, labels, annotations, owners, created, deleted, generation = astuple(wire)
    return ObjectMeta(
        name,
        intern(namespace),
        uid,
        resource_version,
        None if labels is ABSENT else _string_maps[bytes(labels)],
        None if annotations is None else _annotations(annotations),
        None if owners is ABSENT else _owner_references[bytes(owners)],
        created,
        deleted,
        generation,
    )


def _annotations(wire: WireAnnotations) -> dict[str, str] | None:
    nominated, mirror = astuple(wire)
    if nominated is None and mirror is None:
        return None
    read = {NOMINATED_NODE_ANNOTATION: nominated, MIRROR_POD_ANNOTATION: mirror}
    return {name: value for name, value in read.items() if value is not None}


def _spec(wire: WireSpec) -> PodSpec:
    (
        node,
        scheduler,
        priority,
        class_name,
        preemption,
        selector,
        affinity,
        tolerations,
        constraints,
        gates,
        containers,
        init_containers,
        overhead,
        resources,
        volumes,
        claims,
        host_network,
        host_users,
        grace_period,
        group,
    ) = astuple(wire)
    read_volumes, volume_kinds = (None, _NO_KINDS) if volumes is None else _share_volumes(volumes)
    return PodSpec(
        node and intern(node),
        scheduler and intern(scheduler),
        priority,
        class_name and intern(class_name),
        preemption and intern(preemption),
        None if selector is ABSENT else _string_maps[bytes(selector)],
        None if affinity is ABSENT else _affinities[bytes(affinity)],
        None if tolerations is ABSENT else _tolerations[bytes(tolerations)],
        None if constraints is ABSENT else _topology_spread_constraints[bytes(constraints)],
        None if gates is ABSENT else _scheduling_gates[bytes(gates)],
        _container_tuples[_row_keys(containers)],
        None if init_containers is None else _container_tuples[_row_keys(init_containers)],
        None if overhead is ABSENT else _resource_lists[bytes(overhead)],
        None if resources is ABSENT else _resource_requirements[bytes(resources)],
        read_volumes,
        volume_kinds,
        None if claims is ABSENT else _resource_claims[bytes(claims)],
        host_network,
        host_users,
        grace_period,
        None if group is ABSENT else _scheduling_groups[bytes(group)],
    )


def _share_volumes(wires: tuple[dict[str, Raw], ...]) -> tuple[tuple[Volume, ...] | None, frozenset[str]]:
    """The volumes of kinds that are read, and the kinds of all; among unread ones a null does no harm."""
    kinds = _volume_kinds[_NO_KINDS.union(*wires)]
    if kinds <= UNREAD_KINDS:
        return None, kinds
    present = [{name: raw for name, raw in wire.items() if bytes(raw) != b"null"} for wire in wires]
    volumes = tuple([_volumes[_encode(wire)] for wire in present if not READ_KINDS.isdisjoint(wire)])
    return _volume_tuples[volumes] or None, _volume_kinds[_NO_KINDS.union(*present)]


def _status(wire: WireStatus) -> PodStatus:
    phase, reason, conditions, nominated, started, statuses, init_statuses, allocated, resources = astuple(wire)
    return PodStatus(
        phase and intern(phase),
        reason,
        None if conditions is None else _conditions[conditions],
        nominated and intern(nominated),
        started,
        None if statuses is None else _container_status_tuples[_row_keys(statuses)],
        None if init_statuses is None else _container_status_tuples[_row_keys(init_statuses)],
        None if allocated is ABSENT else _resource_lists[bytes(allocated)],
        None if resources is ABSENT else _resource_requirements[bytes(resources)],
    )

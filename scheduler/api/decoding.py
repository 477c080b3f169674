"""JSON to typed objects: a function for each kind, and `DECODERS` for those who have the kind's name.

Each takes the JSON of one object and raises `msgspec.DecodeError` when it is no JSON, `msgspec.ValidationError` (a
DecodeError too) naming the path when a value has the wrong type or the object no name. Unknown fields are skipped, a
null is as good as an absent field. Nothing made here aliases the buffer. Encoding is plain `msgspec.json.encode`.

Informers call these for every object of a list and every event of a watch.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from scheduler.api.coordination import Event, Lease
from scheduler.api.node import Node
from scheduler.api.node_decoding import decode_shared_node
from scheduler.api.nulls import without_nulls
from scheduler.api.pod import Pod
from scheduler.api.pod_decoding import decode_shared_pod
from scheduler.api.policy import Namespace, PodDisruptionBudget, PriorityClass
from scheduler.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from scheduler.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

T = TypeVar("T", bound=msgspec.Struct)

Buffer = bytes | memoryview


def _decoder(api_type: type[T], decode: Callable[[Buffer], T]) -> Callable[[Buffer], T]:
    """`decode`, and where it fails once more without nulls."""

    def decode_object(buffer: Buffer) -> T:
        try:
            return decode(buffer)
        except msgspec.ValidationError:
            value = without_nulls(msgspec.json.decode(buffer), api_type)
            msgspec.convert(value, api_type)  # names the path from the object's root, as `decode` may not
            return decode(msgspec.json.encode(value))

    return decode_object


def _plain_decoder(api_type: type[T]) -> Callable[[Buffer], T]:
    return _decoder(api_type, msgspec.json.Decoder(api_type).decode)


decode_pod: Final = _decoder(Pod, decode_shared_pod)
decode_node: Final = _decoder(Node, decode_shared_node)
decode_namespace: Final = _plain_decoder(Namespace)
decode_priority_class: Final = _plain_decoder(PriorityClass)
decode_pod_disruption_budget: Final = _plain_decoder(PodDisruptionBudget)
decode_persistent_volume: Final = _plain_decoder(PersistentVolume)
decode_persistent_volume_claim: Final = _plain_decoder(PersistentVolumeClaim)
decode_storage_class: Final = _plain_decoder(StorageClass)
decode_csi_node: Final = _plain_decoder(CSINode)
decode_csi_driver: Final = _plain_decoder(CSIDriver)
decode_csi_storage_capacity: Final = _plain_decoder(CSIStorageCapacity)
decode_volume_attachment: Final = _plain_decoder(VolumeAttachment)
decode_service: Final = _plain_decoder(Service)
decode_replication_controller: Final = _plain_decoder(ReplicationController)
decode_replica_set: Final = _plain_decoder(ReplicaSet)
decode_stateful_set: Final = _plain_decoder(StatefulSet)
decode_lease: Final = _plain_decoder(Lease)
decode_event: Final = _plain_decoder(Event)

DECODERS: Final[Mapping[str, Callable[[Buffer], Any]]] = {
    "Pod": decode_pod,
    "Node": decode_node,
    "Namespace": decode_namespace,
    "PriorityClass": decode_priority_class,
    "PodDisruptionBudget": decode_pod_disruption_budget,
    "PersistentVolume": decode_persistent_volume,
    "PersistentVolumeClaim": decode_persistent_volume_claim,
    "StorageClass": decode_storage_class,
    "CSINode": decode_csi_node,
    "CSIDriver": decode_csi_driver,
    "CSIStorageCapacity": decode_csi_storage_capacity,
    "VolumeAttachment": decode_volume_attachment,
    "Service": decode_service,
    "ReplicationController": decode_replication_controller,
    "ReplicaSet": decode_replica_set,
    "StatefulSet": decode_stateful_set,
    "Lease": decode_lease,
    "Event": decode_event,
}

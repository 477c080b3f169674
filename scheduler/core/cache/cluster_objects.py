"""What the scheduler knows of the cluster beside nodes and pods."""

from collections.abc import Collection, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from scheduler.api.meta import ObjectMeta
from scheduler.api.types import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)


class ApiObject(Protocol):
    """Any typed object of the API."""

    @property
    def metadata(self) -> ObjectMeta: ...  # noqa: D102


T = TypeVar("T", bound=ApiObject)

_NONE: Final[dict[str, object]] = {}


class ObjectStore(Generic[T]):
    """The objects of one kind, by namespace ("" for kinds without) and name.

    Attributes:
        version: grows with every change of what the objects say, for what is derived from them.
    """

    __slots__ = ("_by_namespace", "version")

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, T]] = {}
        self.version = 0

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object, None when there is none of that name."""
        return self.of_namespace(namespace).get(name)

    def of_namespace(self, namespace: str) -> dict[str, T]:
        """The objects of a namespace by name; read only."""
        found = self._by_namespace.get(namespace)
        return _NONE if found is None else found  # type: ignore[return-value] # an empty dict of anything

    def __iter__(self) -> Iterator[T]:
        """All objects."""
        for objects in self._by_namespace.values():
            yield from objects.values()

    def set(self, obj: T, *, says_the_same: bool = False) -> None:
        """The watch shows an object, new or changed, or another version of it that says the same."""
        self.version += not says_the_same
        self._by_namespace.setdefault(obj.metadata.namespace, {})[obj.metadata.name] = obj

    def remove(self, obj: T) -> None:
        """The watch shows that the object is gone; does nothing for one that isn't here."""
        self.version += 1
        objects = self._by_namespace.get(obj.metadata.namespace)
        if objects is not None and objects.pop(obj.metadata.name, None) is not None and not objects:
            del self._by_namespace[obj.metadata.namespace]


class ClusterObjects:
    """A store for each kind that plugins read. Written by `event_handlers` as the watches tell, on the loop."""

    def __init__(self) -> None:
        self.namespaces: ObjectStore[Namespace] = ObjectStore()
        self.services: ObjectStore[Service] = ObjectStore()
        self.replication_controllers: ObjectStore[ReplicationController] = ObjectStore()
        self.replica_sets: ObjectStore[ReplicaSet] = ObjectStore()
        self.stateful_sets: ObjectStore[StatefulSet] = ObjectStore()
        self.persistent_volumes: ObjectStore[PersistentVolume] = ObjectStore()
        self.persistent_volume_claims: ObjectStore[PersistentVolumeClaim] = ObjectStore()
        self.storage_classes: ObjectStore[StorageClass] = ObjectStore()
        self.csi_nodes: ObjectStore[CSINode] = ObjectStore()
        self.csi_drivers: ObjectStore[CSIDriver] = ObjectStore()
        self.csi_storage_capacities: ObjectStore[CSIStorageCapacity] = ObjectStore()
        self.volume_attachments: ObjectStore[VolumeAttachment] = ObjectStore()
        self._by_type: dict[type, ObjectStore[Any]] = {
            Namespace: self.namespaces,
            Service: self.services,
            ReplicationController: self.replication_controllers,
            ReplicaSet: self.replica_sets,
            StatefulSet: self.stateful_sets,
            PersistentVolume: self.persistent_volumes,
            PersistentVolumeClaim: self.persistent_volume_claims,
            StorageClass: self.storage_classes,
            CSINode: self.csi_nodes,
            CSIDriver: self.csi_drivers,
            CSIStorageCapacity: self.csi_storage_capacities,
            VolumeAttachment: self.volume_attachments,
        }

    def kinds(self) -> Collection[type]:
        """The types that there is a store for."""
        return self._by_type.keys()

    def set(self, obj: ApiObject, *, says_the_same: bool = False) -> None:
        """Put an object into the store of its kind."""
        self._by_type[type(obj)].set(obj, says_the_same=says_the_same)

    def remove(self, obj: ApiObject) -> None:
        """Take an object out of the store of its kind."""
        self._by_type[type(obj)].remove(obj)

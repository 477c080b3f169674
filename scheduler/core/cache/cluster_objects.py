"""What the scheduler knows of the cluster beside nodes and pods."""

from collections.abc import Callable, Collection, Iterator
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

    __slots__ = ("_by_namespace", "_followers", "version")

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._followers: list[Callable[[T | None, T | None], None]] = []
        self.version = 0

    def follow(self, follower: Callable[[T | None, T | None], None]) -> None:
        """Tell of every object that is here already, and from now on of every change: what it was, what it is."""
        for obj in self:
            follower(None, obj)
        self._followers.append(follower)

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
        objects = self._by_namespace.setdefault(obj.metadata.namespace, {})
        old = objects.get(obj.metadata.name)
        objects[obj.metadata.name] = obj
        for follower in self._followers:
            follower(old, obj)

    def remove(self, obj: T) -> None:
        """The watch shows that the object is gone; does nothing for one that isn't here."""
        self.version += 1
        objects = self._by_namespace.get(obj.metadata.namespace, {})
        old = objects.pop(obj.metadata.name, None)
        if old is None:
            return
        if not objects:
            del self._by_namespace[obj.metadata.namespace]
        for follower in self._followers:
            follower(old, None)


class AssumptionError(Exception):
    """The object is not any more what a decision about it was made on."""


class AssumedObjects(Generic[T]):
    """The objects of a store as they will be once what was decided is written.

    An assumption stands until the watch shows another version of the object, whoever changed it, or it is taken back::

                 assume                 the watch shows another version
        stored ----------> assumed ----------------------------------------> stored
          ^                   |
          +--- restore -------+
    """

    __slots__ = ("_assumed", "_followers", "_store")

    def __init__(self, store: ObjectStore[T]) -> None:
        self._store = store
        self._assumed: dict[tuple[str, str], T] = {}
        self._followers: list[Callable[[T | None, T | None], None]] = []
        store.follow(self._stored)

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object as it is assumed to be, else as it is stored; None when there is none of that name."""
        return self._assumed.get((namespace, name)) or self._store.get(name, namespace)

    def __getitem__(self, name: str) -> T:
        """As `get`, of kinds without a namespace.

        Raises:
            AssumptionError: there is none of that name any more.
        """
        obj = self.get(name)
        if obj is None:
            raise AssumptionError(f'"{name}" not found')
        return obj

    def follow(self, follower: Callable[[T | None, T | None], None]) -> None:
        """As `ObjectStore.follow`, of the objects as they are assumed to be."""
        for obj in self._store:
            follower(None, self.get(obj.metadata.name, obj.metadata.namespace))
        self._followers.append(follower)

    def assume(self, obj: T) -> None:
        """Take the object for what it will be.

        Raises:
            AssumptionError: it is gone, or has changed since the version that `obj` was made from.
        """
        metadata = obj.metadata
        stored = self._store.get(metadata.name, metadata.namespace)
        name = f"{metadata.namespace}/{metadata.name}".removeprefix("/")
        if stored is None:
            raise AssumptionError(f'"{name}" not found')
        version = stored.metadata.resource_version
        if version != metadata.resource_version:
            raise AssumptionError(f'"{name}" is out of sync (stored: {version}, assume: {metadata.resource_version})')
        before = self.get(metadata.name, metadata.namespace)
        self._assumed[metadata.namespace, metadata.name] = obj
        self._tell(before, obj)

    def restore(self, obj: T) -> None:
        """Take the assumption back, unless it is about another version of the object by now."""
        key = (obj.metadata.namespace, obj.metadata.name)
        assumed = self._assumed.get(key)
        if assumed is not None and assumed.metadata.resource_version == obj.metadata.resource_version:
            del self._assumed[key]
            self._tell(assumed, self._store.get(obj.metadata.name, obj.metadata.namespace))

    def _stored(self, old: T | None, new: T | None) -> None:
        obj = new or old
        assert obj is not None
        key = (obj.metadata.namespace, obj.metadata.name)
        assumed = self._assumed.get(key)
        if assumed is None:
            self._tell(old, new)
        elif new is None or new.metadata.resource_version != assumed.metadata.resource_version:
            del self._assumed[key]
            self._tell(assumed, new)

    def _tell(self, old: T | None, new: T | None) -> None:
        for follower in self._followers:
            follower(old, new)


class ClusterObjects:
    """A store for each kind that plugins read. Written by `event_handlers` as the watches tell, on the loop.

    Attributes:
        assumed_volumes, assumed_claims: the same as the scheduler's own decisions will change them.
    """

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
        self.assumed_volumes: AssumedObjects[PersistentVolume] = AssumedObjects(self.persistent_volumes)
        self.assumed_claims: AssumedObjects[PersistentVolumeClaim] = AssumedObjects(self.persistent_volume_claims)
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

"""The kinds of objects that are read, and how an object's kind is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from scheduler.api import types

CORE: Final = ""
APPS: Final = "apps"
STORAGE: Final = "storage.k8s.io"


@dataclass(frozen=True, slots=True)
class ReadKind:
    """A kind whose objects take part."""

    name: str
    group: str
    api_type: type[msgspec.Struct]
    namespaced: bool = False
    version: str = "v1"

    @property
    def api_version(self) -> str:
        """As it is written in an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def plural(self) -> str:
        """The resource's name in paths and rights."""
        name = self.name.lower()
        if name.endswith("s"):
            return f"{name}es"
        return f"{name[:-1]}ies" if name.endswith("ty") else f"{name}s"

    @property
    def path(self) -> str:
        """Of the list of all its objects."""
        return f"/apis/{self.api_version}/{self.plural}" if self.group else f"/api/{self.version}/{self.plural}"


READ_KINDS: Final[Mapping[tuple[str, str], ReadKind]] = {
    (kind.group, kind.name): kind
    for kind in (
        ReadKind("Node", CORE, types.Node),
        ReadKind("Pod", CORE, types.Pod, namespaced=True),
        ReadKind("Namespace", CORE, types.Namespace),
        ReadKind("Service", CORE, types.Service, namespaced=True),
        ReadKind("ReplicationController", CORE, types.ReplicationController, namespaced=True),
        ReadKind("PersistentVolume", CORE, types.PersistentVolume),
        ReadKind("PersistentVolumeClaim", CORE, types.PersistentVolumeClaim, namespaced=True),
        ReadKind("ReplicaSet", APPS, types.ReplicaSet, namespaced=True),
        ReadKind("StatefulSet", APPS, types.StatefulSet, namespaced=True),
        ReadKind("StorageClass", STORAGE, types.StorageClass),
        ReadKind("CSINode", STORAGE, types.CSINode),
        ReadKind("CSIDriver", STORAGE, types.CSIDriver),
        ReadKind("CSIStorageCapacity", STORAGE, types.CSIStorageCapacity, namespaced=True),
        ReadKind("VolumeAttachment", STORAGE, types.VolumeAttachment),
        ReadKind("PriorityClass", "scheduling.k8s.io", types.PriorityClass),
        ReadKind("PodDisruptionBudget", "policy", types.PodDisruptionBudget, namespaced=True),
    )
}
"""By group and kind."""

POD_MAKERS: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"})
"""Kinds that have pods made for them by controllers, which do not run here."""


_SERVED_GROUPS: Final = frozenset({"extensions", *(group for group, _ in READ_KINDS)})
"""Those of the API server itself, among which a name stands for one kind only."""


def meant_kind(group: str, name: str) -> ReadKind | None:
    """The kind that is read and was meant by a kind that there is not: `pod`, or `Pod` in the group `apps`."""
    if group not in _SERVED_GROUPS:
        return None
    written = name.lower()
    return next((kind for kind in READ_KINDS.values() if written in (kind.name.lower(), kind.plural)), None)


def kind_of(value: Mapping[str, Any]) -> tuple[str, str, str]:
    """Group, version and kind of an object.

    Raises:
        ValueError: it doesn't say, or not in text; the text names the field.
    """
    for name in ("apiVersion", "kind"):
        written = value.get(name)
        if not isinstance(written, str) or not written:
            problem = "is missing" if written is None else "must be text"
            example = "v1" if name == "apiVersion" else "Pod"
            raise ValueError(f"{name} {problem}; write {name}: {example} or what it is")
    group, _, version = value["apiVersion"].rpartition("/")
    return group, version, value["kind"]

"""Bring a control plane back to the objects it had at first, between two tests."""

from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import TypeAlias

import msgspec

from tests.controlplane.client import ApiError, Client, PatchType, wait_until
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.resources import Manifest

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_METADATA_ONLY = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"
# The same objects as core/v1 events; and what the API server itself keeps in step with other objects.
_SKIPPED_GROUPS = {"events.k8s.io", "apiregistration.k8s.io"}
_SKIPPED_RESOURCES = {"ipaddresses", "endpoints", "endpointslices"}

_AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}

Key: TypeAlias = tuple[str, str, str]
"""Collection path, namespace and name of an object."""


@dataclass(frozen=True)
class _Collection:
    root: str
    """For example `/apis/apps/v1`."""
    plural: str
    deletes_all: bool
    """Whether one call can delete all objects (of a namespace)."""

    def path(self, namespace: str = "") -> str:
        """URL path of the collection in one namespace; without one, of all objects."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"


@dataclass(frozen=True)
class _Found:
    collection: _Collection
    namespace: str
    name: str
    has_finalizers: bool

    @property
    def key(self) -> Key:
        return self.collection.path(), self.namespace, self.name

    @property
    def path(self) -> str:
        return f"{self.collection.path(self.namespace)}/{self.name}"


class CleanState:
    """Knows the objects of a control plane at first, and deletes all others on demand.

    Events are never kept. Objects that were there at first and were changed or deleted since are not restored.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        """Take the present objects as the state to go back to."""
        self._control_plane = control_plane
        with control_plane.client() as client:
            self._kept = {
                found.key
                for collection in _collections(client)
                if collection.plural != "events"
                for found in _list(client, collection)
            }
        self._kept_scopes = {(collection, namespace) for collection, namespace, _ in self._kept}

    def restore(self) -> None:
        """Stop what a test has started in the control plane and delete what it has created, of any kind.

        Returns when the objects are gone. Nobody needs to carry out finalizers: they are taken away.
        """
        self._control_plane.stop_extra_components()
        with self._control_plane.client() as client:
            # Namespaces last: what is in them must be deletable on its own, for without a controller manager nobody
            # else deletes it. Instances of custom resources before their definition.
            last = ("customresourcedefinitions", "namespaces")
            collections = sorted(_collections(client), key=lambda c: last.index(c.plural) if c.plural in last else -1)
            for collection in collections:
                self._empty(client, collection)

    def _empty(self, client: Client, collection: _Collection) -> None:
        extra = self._extra(client, collection)
        if not extra:
            return
        for namespace, group in groupby(extra, key=lambda found: found.namespace):
            self._delete(client, collection, namespace, list(group))
        wait_until(
            lambda: not self._extra(client, collection),
            what=lambda: f"deletion of {[found.path for found in self._extra(client, collection)]}",
        )

    def _extra(self, client: Client, collection: _Collection) -> list[_Found]:
        found = [found for found in _list(client, collection) if found.key not in self._kept]
        return sorted(found, key=lambda found: found.namespace)

    def _delete(self, client: Client, collection: _Collection, namespace: str, extra: list[_Found]) -> None:
        for found in extra:
            if found.has_finalizers:
                _ignoring_absence(client, "PATCH", found.path, {"metadata": {"finalizers": None}})
        if collection.deletes_all and (collection.path(), namespace) not in self._kept_scopes:
            client.request("DELETE", collection.path(namespace), _AT_ONCE)
            return
        for found in extra:
            _ignoring_absence(client, "DELETE", found.path, _AT_ONCE)
            if collection.plural == "namespaces":
                namespace_object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": found.name}}
                _ignoring_absence(client, "PUT", f"{found.path}/finalize", namespace_object)


def _ignoring_absence(client: Client, method: str, path: str, body: Manifest) -> None:
    """Send a request about an object that the server may have deleted by itself since it was listed."""
    content_type = PatchType.MERGE if method == "PATCH" else "application/json"
    try:
        client.request(method, path, body, content_type=content_type)
    except ApiError as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise


def _collections(client: Client) -> list[_Collection]:
    """Every resource that can be listed and deleted, each in the version its group prefers."""
    collections: dict[tuple[str, str], _Collection] = {}
    for prefix in ("api", "apis"):
        groups = msgspec.json.decode(client.read("GET", f"/{prefix}", accept=_DISCOVERY))["items"]
        for group in groups:
            group_name = group["metadata"].get("name", "")
            if group_name in _SKIPPED_GROUPS:
                continue
            for version in group["versions"]:
                root = "/".join(["", prefix, *filter(None, [group_name]), version["version"]])
                for resource in version.get("resources", []):
                    plural = resource["resource"]
                    if {"list", "delete"} <= set(resource["verbs"]) and plural not in _SKIPPED_RESOURCES:
                        collection = _Collection(root, plural, "deletecollection" in resource["verbs"])
                        collections.setdefault((group_name, plural), collection)
    return list(collections.values())


def _list(client: Client, collection: _Collection) -> list[_Found]:
    answer = msgspec.json.decode(client.read("GET", collection.path(), accept=_METADATA_ONLY))
    return [
        _Found(
            collection,
            item["metadata"].get("namespace", ""),
            item["metadata"]["name"],
            "finalizers" in item["metadata"],
        )
        for item in answer["items"] or []
    ]

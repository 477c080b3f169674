"""A small synchronous API client for tests, demo and benchmarks, independent of the one under test."""

import http.client
import select
import ssl
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from enum import StrEnum
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import msgspec

from tests.controlplane.ports import LOOPBACK
from tests.controlplane.resources import RESOURCES, Manifest, Manifests, node_manifest, resource_of

T = TypeVar("T")

_POLL_SECONDS = 0.02
# More workers than this only queue up in the API server of a small machine.
_WORKERS = 8


class PatchType(StrEnum):
    """How the API server reads the body of a PATCH."""

    STRATEGIC = "application/strategic-merge-patch+json"
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class ApiError(Exception):
    """The API server refused a request: `code` is the HTTP status, `reason` and `message` are its words."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


class Client:
    """Calls one API server over one connection that is kept and renewed when needed; not for use by several threads.

    Methods raise ApiError when the server refuses, and OSError or http.client.HTTPException when the connection fails.
    Resources are named by their plural (`"pods"`).
    """

    def __init__(self, port: int, token: str, context: ssl.SSLContext | None, *, timeout_seconds: float = 30) -> None:
        """`context` None means plain HTTP."""
        self._port = port
        self._token = token
        self._context = context
        self._timeout_seconds = timeout_seconds
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def another(self, *, timeout_seconds: float | None = None) -> "Client":
        """A client with the same identity and a connection of its own, for another thread or patience."""
        timeout_seconds = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        return Client(self._port, self._token, self._context, timeout_seconds=timeout_seconds)

    def get(self, resource: str, name: str, namespace: str | None = None) -> Manifest:
        """Read one object."""
        return self.request("GET", RESOURCES[resource].path(namespace, name))

    def find(self, resource: str, name: str, namespace: str | None = None) -> Manifest | None:
        """Read one object; None when there is none."""
        try:
            return self.get(resource, name, namespace)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            return None

    def list(
        self, resource: str, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> Manifests:
        """Read all objects, of one namespace or of all."""
        query = {"labelSelector": label_selector, "fieldSelector": field_selector}
        answer = self.request("GET", RESOURCES[resource].path(namespace), query=query)
        items: Manifests = answer["items"] or []
        return items

    def create(self, manifest: Manifest) -> Manifest:
        """Create the object; its namespace stands in its metadata."""
        path = resource_of(manifest).path(manifest["metadata"].get("namespace"))
        return self.request("POST", path, manifest)

    def create_many(self, manifests: Iterable[Manifest]) -> None:
        """Create many objects over several connections, in no fixed order; the first error is raised."""
        self._in_parallel(Client.create, manifests)

    def create_nodes(
        self, count: int, make: Callable[[int], Manifest] = lambda index: node_manifest(f"node-{index}")
    ) -> None:
        """Create nodes made by `make(0)` … `make(count - 1)`; by default `node-0` … with 32 cpu, 64Gi, 110 pods."""
        self.create_many(map(make, range(count)))

    def replace(self, manifest: Manifest) -> Manifest:
        """Update the object with PUT; fails with 409 when its resourceVersion is not the current one."""
        metadata = manifest["metadata"]
        return self.request("PUT", resource_of(manifest).path(metadata.get("namespace"), metadata["name"]), manifest)

    def patch(
        self,
        resource: str,
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Manifest:
        """Patch one object, or its subresource."""
        path = RESOURCES[resource].path(namespace, name, subresource)
        return self.request("PATCH", path, patch, content_type=patch_type)

    def patch_status(self, resource: str, name: str, status: Manifest, namespace: str | None = None) -> Manifest:
        """Merge `status` into the object's status."""
        return self.patch(resource, name, {"status": status}, namespace, subresource="status")

    def delete(
        self, resource: str, name: str, namespace: str | None = None, *, grace_period_seconds: int | None = 0
    ) -> None:
        """Delete one object: at once by default; None leaves a pod its own grace period, for KWOK to end."""
        body = {"gracePeriodSeconds": grace_period_seconds, "propagationPolicy": "Background"}
        self.request("DELETE", RESOURCES[resource].path(namespace, name), body)

    def delete_all(self, resource: str, namespace: str | None = None) -> None:
        """Delete all objects of a cluster-wide resource, or those in one namespace, at once."""
        body = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        self.request("DELETE", RESOURCES[resource].path(namespace), body)

    def delete_many(self, resource: str, names: Iterable[str], namespace: str | None = None) -> None:
        """Delete the named objects at once, over several connections."""
        self._in_parallel(lambda client, name: client.delete(resource, name, namespace), names)

    def bind(self, pod: str, namespace: str, node: str) -> None:
        """Bind a pod as a scheduler does."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self.request("POST", RESOURCES["pods"].path(namespace, pod, "binding"), binding)

    def grant(self, user: str, rules: Iterable[Manifest], role: str | None = None) -> None:
        """Give a user (its name in the API server, `podium`) rights everywhere: a ClusterRole and its binding."""
        name = role or f"{user}-granted"
        group = "rbac.authorization.k8s.io"
        base = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
        self.create(base | {"kind": "ClusterRole", "rules": list(rules)})
        self.bind_cluster_role(user, name)

    def bind_cluster_role(self, user: str, role: str) -> None:
        """Let a user have an existing ClusterRole, such as `system:kube-scheduler`."""
        group = "rbac.authorization.k8s.io"
        self.create(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"{user}-{role}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
            }
        )

    def may(self, user: str, verb: str, resource: str, group: str = "", subresource: str = "") -> bool:
        """Ask whether a user may act on a resource everywhere; a right just granted takes a moment to count."""
        attributes = {"verb": verb, "resource": resource, "group": group, "subresource": subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        answer = self.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    def watch(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        timeout_seconds: int = 300,
    ) -> Generator[Manifest, None, None]:
        """Yield watch events (`{"type": …, "object": …}`) until the server ends the watch or is lost.

        Without a version the objects that exist come first, as ADDED. The watch has a connection of its own.
        """
        query = {"watch": "1", "timeoutSeconds": str(timeout_seconds), "allowWatchBookmarks": "true"}
        query["resourceVersion"] = resource_version or ""
        with closing(self._connect(timeout_seconds + self._timeout_seconds)) as connection:
            connection.request("GET", _target(RESOURCES[resource].path(namespace), query), headers=self._headers())
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                raise _api_error(response.status, response.read())
            for line in iter(response.readline, b""):
                yield msgspec.json.decode(line)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Manifest:
        """Send one request and return the decoded answer."""
        answer: Manifest = msgspec.json.decode(self.read(method, path, body, query=query, content_type=content_type))
        return answer

    def read(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """Send one request and return the bytes of the answer, whatever their format."""
        encoded = None if body is None else msgspec.json.encode(body)
        headers = self._headers() | {"Content-Type": content_type, "Accept": accept}
        connection = self._connection
        if connection is None or _is_stale(connection):
            self.close()
            connection = self._connection = self._connect(self._timeout_seconds)
        try:
            connection.request(method, _target(path, query or {}), encoded, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise _api_error(response.status, content)
        return content

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def _connect(self, timeout_seconds: float) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(LOOPBACK, self._port, timeout=timeout_seconds)
        return http.client.HTTPSConnection(LOOPBACK, self._port, timeout=timeout_seconds, context=self._context)

    def _in_parallel(self, call: "Callable[[Client, T], object]", arguments: Iterable[T]) -> None:
        """Call `call(client, argument)` for each argument from a few threads; the first error is raised."""
        remaining = [*arguments]

        def work(share: Sequence[T]) -> None:
            with self.another() as client:
                for argument in share:
                    call(client, argument)

        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="client") as pool:
            for future in [pool.submit(work, remaining[start::_WORKERS]) for start in range(_WORKERS)]:
                future.result()


def _target(path: str, query: dict[str, str]) -> str:
    given = {key: value for key, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def _is_stale(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection: then it is readable, though no answer is due."""
    return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])


def _api_error(code: int, content: bytes) -> ApiError:
    try:
        status = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return ApiError(code, http.HTTPStatus(code).phrase, content.decode(errors="replace").strip())
    return ApiError(code, status.get("reason", ""), status.get("message", ""))


def wait_until(
    predicate: Callable[[], T | None], timeout_seconds: float = 30, *, what: str | Callable[[], str] = "the condition"
) -> T:
    """Poll until `predicate()` is true and return what it returned.

    Raises TimeoutError, which names `what`; a callable tells the state seen last.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            text = what if isinstance(what, str) else what()
            raise TimeoutError(f"{text} did not come true within {timeout_seconds:g} s")
        time.sleep(_POLL_SECONDS)

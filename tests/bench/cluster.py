"""The cluster under test: one control plane and its nodes for all runs, and pods that come and go with each run."""

import datetime as dt
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from http.client import HTTPException
from types import TracebackType
from typing import Self

import msgspec
import uvloop

from tests.bench.endpoint import Endpoint
from tests.bench.errors import BenchError
from tests.bench.load_client import LoadClient
from tests.bench.nodes import node, node_index
from tests.bench.observer import Assignment
from tests.bench.pods import KEPT, NAMESPACE, PREEMPTING, RUN_LABEL, PodShape, pod_index, pod_name, pods
from tests.controlplane.client import ApiError, PatchType, wait_until
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.ports import LOOPBACK
from tests.controlplane.resources import RESOURCES, Manifest, Manifests, resource_of

_PODS_PATH = RESOURCES["pods"].path(NAMESPACE)
_EVENTS_PATH = RESOURCES["events"].path(NAMESPACE)
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
# A DELETE of a collection that takes the API server longer is cut there, and goes on when it is asked again.
_DELETE_SECONDS = 90.0
_DELETE_ROUNDS = 20
# The same rights for both: RBAC costs the API server time.
_SCHEDULER_ROLES = ("system:kube-scheduler", "system:volume-scheduler")
_PRIORITY_CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": PREEMPTING},
    "value": 1000,
}
# Of the pod that started first; a second before the next one.
_FIRST_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
# Lets the API server finish what a load has left behind: garbage collection, mostly.
_SETTLE_SECONDS = 2.0


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None


class BenchCluster:
    """Creates and deletes objects fast, and checks what a run has left. Objects stand in the namespace `bench`.

    A context manager: leaving it closes its connection and nothing else.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        """`control_plane` runs already. KWOK is not wanted: nothing but the scheduler under test writes."""
        self.control_plane = control_plane
        self.endpoint = Endpoint(
            LOOPBACK, control_plane.port, control_plane.token(), str(control_plane.credentials.ca_file)
        )
        self._client = control_plane.client().another(timeout_seconds=_DELETE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def prepare(self, nodes: int) -> None:
        """Create namespace, priority class and nodes, and give the schedulers' users their rights."""
        self._client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self._client.create(_PRIORITY_CLASS)
        for role in _SCHEDULER_ROLES:
            self._client.bind_cluster_role(User.PODIUM, role)
        wait_until(lambda: self._client.may(User.PODIUM, "create", "pods/binding"), what="the rights of Podium")
        self.create("nodes", map(node, range(nodes)))

    def create(self, what: str, manifests: Iterable[Manifest]) -> None:
        """Create objects as fast as the API server takes them; `what` names them on stderr."""
        started = time.monotonic()
        count = uvloop.run(self._create(manifests))
        say(f"  created {count:,} {what} in {time.monotonic() - started:.1f} s")

    def let_run(self, run: str, count: int) -> None:
        """Write into the status of the bound pods `<run>-0` … that they run, each since a second after the one before.

        No kubelet is there to do it.
        """

        def patch(index: int) -> tuple[str, Manifest]:
            started = _FIRST_START + dt.timedelta(seconds=index)
            status = {"phase": "Running", "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ")}
            return RESOURCES["pods"].path(NAMESPACE, pod_name(run, index), "status"), {"status": status}

        uvloop.run(self._patch(map(patch, range(count))))

    def settle(self) -> None:
        """Wait a moment, so that what was created does not disturb what is measured."""
        time.sleep(_SETTLE_SECONDS)

    def assignment(self, gathering_seconds: float) -> Assignment:
        """What an observer shall watch from now on."""
        version: str = self._client.request("GET", _PODS_PATH, query={"limit": "1"})["metadata"]["resourceVersion"]
        return Assignment(self.endpoint, NAMESPACE, version, gathering_seconds)

    def shape(self, pod_kb: int) -> PodShape:
        """The shape of pods that have about `pod_kb` KB as the API server writes them; 0 means small ones.

        Raises BenchError for a size too small to be realistic.
        """
        if not pod_kb:
            return PodShape()
        bare = PodShape(is_realistic=True)
        padding_bytes = pod_kb * 1000 - self.pod_size_bytes(bare)
        if padding_bytes < 0:
            raise BenchError(f"POD_KB={pod_kb} is less than the bare realistic pod has; take a larger one or 0")
        return replace(bare, padding_bytes=padding_bytes)

    def pod_size_bytes(self, shape: PodShape) -> int:
        """The size of a pending pod in JSON as the API server writes it, with its managedFields."""
        pod = next(pods(shape, "measured", 1, "nobody"))
        return len(self._client.read("POST", _PODS_PATH, pod, query={"dryRun": "All"}))

    def confirm(self, count: int) -> None:
        """Check on the API server that no pod is pending and `count` `Scheduled` events are there.

        Raises BenchError when it is not so.
        """
        pending = self._count(_PODS_PATH, {"fieldSelector": "spec.nodeName="})
        events = self._count(_EVENTS_PATH, {"fieldSelector": "reason=Scheduled"})
        if pending or events != count:
            raise BenchError(
                f"of {count:,} pods {pending:,} are still pending, and the API server has {events:,} Scheduled events"
            )

    def count_pods(self, run: str) -> int:
        """How many pods of the run there are."""
        return self._count(_PODS_PATH, {"labelSelector": f"{RUN_LABEL}={run}"})

    def node_of_pods(self, run: str) -> list[int]:
        """The node of each pod of the run, in order of the pods; all must be bound."""
        found = self._client.list("pods", NAMESPACE, label_selector=f"{RUN_LABEL}={run}")
        node_of = {pod_index(pod["metadata"]["name"]): node_index(pod["spec"]["nodeName"]) for pod in found}
        return [node_of[index] for index in sorted(node_of)]

    def objects(self, resource: str) -> Manifests:
        """All objects of a kind, of the namespace `bench` or without one."""
        return self._client.list(resource, NAMESPACE)

    def delete(self, resource: str) -> None:
        """Delete all objects of a kind, of the namespace `bench` or without one, and wait until they are gone.

        Finalizers are taken away: nobody is there to carry them out.
        """
        held = [found["metadata"]["name"] for found in self.objects(resource) if found["metadata"].get("finalizers")]
        released = {"metadata": {"finalizers": None}}
        uvloop.run(self._patch((RESOURCES[resource].path(NAMESPACE, name), released) for name in held))
        self._delete_all(RESOURCES[resource].path(NAMESPACE), {})

    def clear(self) -> None:
        """Delete all events and all pods but those that stay for all runs, and wait until they are gone."""
        self._delete_all(_PODS_PATH, {"labelSelector": f"{RUN_LABEL}!={KEPT}"})
        self._delete_all(_EVENTS_PATH, {})

    def pending_message(self, run: str) -> str:
        """What the API server knows about one of the pods of the run that are not bound; empty when all are."""
        query = {"labelSelector": f"{RUN_LABEL}={run}", "fieldSelector": "spec.nodeName=", "limit": "1"}
        items = self._client.request("GET", _PODS_PATH, query=query)["items"]
        if not items:
            return ""
        conditions = items[0]["status"].get("conditions", [])
        words = [f"{c['type']}={c['status']} {c.get('reason', '')} {c.get('message', '')}".rstrip() for c in conditions]
        return f"pod {items[0]['metadata']['name']} is not bound; its conditions: {'; '.join(words) or 'none'}"

    def kubernetes_version(self) -> str:
        """The version of the API server, which is the peer's too."""
        version: str = self._client.request("GET", "/version")["gitVersion"]
        return version

    async def _create(self, manifests: Iterable[Manifest]) -> int:
        count = 0
        async with LoadClient(self.endpoint) as load:

            def requests() -> Iterable[bytes]:
                nonlocal count
                for manifest in manifests:
                    count += 1
                    path = resource_of(manifest).path(manifest["metadata"].get("namespace"))
                    yield load.encode("POST", path, manifest)

            await load.send_all(requests())
        return count

    async def _patch(self, patches: Iterable[tuple[str, Manifest]]) -> None:
        """Merge each patch into the object at its path."""
        async with LoadClient(self.endpoint) as load:
            await load.send_all(load.encode("PATCH", path, patch, PatchType.MERGE) for path, patch in patches)

    def _delete_all(self, path: str, query: dict[str, str]) -> None:
        for _ in range(_DELETE_ROUNDS):
            try:
                self._client.read("DELETE", path, _AT_ONCE, query=query, accept=_METADATA_ONLY)
                if not self._count(path, query | {"limit": "1"}):
                    return
            except (ApiError, OSError, HTTPException) as error:
                say(f"  deleting goes on after: {error}")
        raise BenchError(f"the objects of {path} could not be deleted")

    def _count(self, path: str, query: dict[str, str]) -> int:
        answer = self._client.read("GET", path, query=query, accept=_METADATA_ONLY)
        return len(msgspec.json.decode(answer, type=_List).items or ())


def say(line: str) -> None:
    """Tell the user how far it has come."""
    print(line, file=sys.stderr, flush=True)

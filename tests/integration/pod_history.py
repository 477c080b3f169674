"""A record of which node each pod was ever seen on, kept by a watch of the test's own that goes past every fault."""

import http.client
import threading
from collections.abc import Collection
from types import TracebackType
from typing import Self

import msgspec

from tests.controlplane.client import ApiError, Client, wait_until
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.resources import RESOURCES, Manifest

_WATCH_SECONDS = 3
_RETRY_SECONDS = 0.2


class PodHistory:
    """Watches the pods of a namespace in a thread of its own, also across the death of the API server."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._control_plane = control_plane
        self._namespace = namespace
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pod-history")
        self.nodes: dict[str, list[str]] = {}
        """By UID, the different nodes the pod was on, in order."""
        self.names: dict[str, str] = {}
        """Name by UID, of every pod ever seen."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def bound(self) -> set[str]:
        """The names of pods that are or were bound."""
        return {self.names[uid] for uid in list(self.nodes)}

    def wait_until_bound(self, names: Collection[str], timeout_seconds: float) -> None:
        """Wait until all these pods were seen bound."""
        awaited = set(names)
        wait_until(
            lambda: awaited <= self.bound(),
            timeout_seconds,
            what=lambda: f"binding of {len(awaited - self.bound())} pods ({sorted(awaited - self.bound())[:5]} …)",
        )

    def moved(self) -> dict[str, list[str]]:
        """Pods that were on more than one node, which must never happen."""
        return {self.names[uid]: nodes for uid, nodes in self.nodes.items() if len(nodes) > 1}

    def _run(self) -> None:
        with self._control_plane.client() as client:
            while not self._stopping.is_set():
                try:
                    self._follow(client)
                except (OSError, http.client.HTTPException, ApiError, msgspec.DecodeError):
                    self._stopping.wait(_RETRY_SECONDS)

    def _follow(self, client: Client) -> None:
        listed = client.request("GET", RESOURCES["pods"].path(self._namespace))
        for pod in listed["items"]:
            self._note(pod)
        version = listed["metadata"]["resourceVersion"]
        for event in client.watch("pods", self._namespace, resource_version=version, timeout_seconds=_WATCH_SECONDS):
            if event["type"] in ("ADDED", "MODIFIED"):
                self._note(event["object"])
            if self._stopping.is_set():
                return

    def _note(self, pod: Manifest) -> None:
        uid = pod["metadata"]["uid"]
        self.names[uid] = pod["metadata"]["name"]
        node = pod["spec"].get("nodeName")
        if node is not None and node not in self.nodes.setdefault(uid, []):
            self.nodes[uid].append(node)

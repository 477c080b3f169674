"""Where the story plays: the cluster, changed and read through the API server only."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.controlplane.client import Client, wait_until
from tests.controlplane.component import Component
from tests.controlplane.resources import Manifest, node_manifest, pod_manifest
from tests.demo.podium import Podium
from tests.demo.seen import SeenEvent, SeenNode, SeenPod, seen_event, seen_node, seen_pod

NAMESPACE = "demo"
SCHEDULED = "Scheduled"
FAILED = "FailedScheduling"
PREEMPTED = "Preempted"
NOT_HELPFUL = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."
"""What a pod is told that fits on none of so many nodes, whoever may be evicted."""
_ZONE_LABEL = "topology.kubernetes.io/zone"
_PATIENCE_SECONDS = 30.0


class Stage:
    """The cluster in the hands of its administrator.

    Waiting here never fails: it ends when the awaited came, or when patience did. What then is so, the story reads
    back and checks.
    """

    def __init__(self, client: Client, podium: Podium, kubelets: Component) -> None:
        """`kubelets` is the process that plays them, `podium` need not run yet."""
        self.client = client
        self.podium = podium
        self._kubelets = kubelets

    def set(self) -> None:
        """Create the namespace and nine nodes of 4 cpu and 8Gi in three zones: two with fast disks, one tainted."""
        self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for zone in "abc":
            for number in (1, 2):
                self.add_node(f"node-{zone}{number}", zone=zone)
        self.add_node("ssd-a1", zone="a", labels={"disktype": "ssd"})
        self.add_node("ssd-b1", zone="b", labels={"disktype": "ssd"})
        taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
        self.add_node("gpu-c1", zone="c", labels={"accelerator": "gpu"}, taints=[taint])

    def add_node(
        self,
        name: str,
        *,
        zone: str,
        cpu: str = "4",
        memory: str = "8Gi",
        labels: dict[str, str] | None = None,
        taints: list[dict[str, str]] | None = None,
    ) -> None:
        """Create a node."""
        labels = {_ZONE_LABEL: zone} | (labels or {})
        self.client.create(node_manifest(name, cpu=cpu, memory=memory, labels=labels, taints=taints))

    def add_priority(self, name: str, value: int) -> None:
        """Create a priority class."""
        self.client.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )

    @contextmanager
    def slow_kubelets(self) -> Iterator[None]:
        """Meanwhile no kubelet does anything: pods that are being deleted stay."""
        self._kubelets.pause()
        try:
            yield
        finally:
            self._kubelets.resume()

    def create_pod(self, name: str, requests: dict[str, str] | None = None, **spec: Any) -> str:
        """Create a pod for Podium and return its name; `spec` takes further fields by their JSON names."""
        self.client.create(pod_manifest(name, NAMESPACE, requests=requests, **spec))
        return name

    def end_pod(self, name: str) -> None:
        """End a pod at once, as its kubelet does when its containers have stopped."""
        self.client.delete("pods", name, NAMESPACE)

    def create_pods(self, manifests: Iterable[Manifest]) -> None:
        """Create many pods at once."""
        self.client.create_many(manifests)

    def nodes(self) -> list[SeenNode]:
        """All nodes, by name."""
        return sorted(map(seen_node, self.client.list("nodes")), key=lambda node: node.name)

    def node(self, name: str) -> SeenNode:
        """One node."""
        return seen_node(self.client.get("nodes", name))

    def pods(self) -> list[SeenPod]:
        """All pods of the demo, by name."""
        return sorted(map(seen_pod, self.client.list("pods", NAMESPACE)), key=lambda pod: pod.name)

    def pod(self, name: str) -> SeenPod:
        """One pod."""
        return seen_pod(self.client.get("pods", name, NAMESPACE))

    def events(self, pod: str = "", reason: str = "") -> list[SeenEvent]:
        """The events about one pod or all, with one reason or any; the oldest first."""
        asked = {"regarding.name": pod, "reason": reason}
        selector = ",".join(f"{field}={value}" for field, value in asked.items() if value)
        found = self.client.list("events", NAMESPACE, field_selector=selector)
        return sorted(map(seen_event, found), key=lambda event: event.time)

    def await_scheduled(self, *names: str) -> None:
        """Wait until each pod is on a node and its event says so."""
        self.await_(lambda: all(self.pod(name).node_name and self.events(name, SCHEDULED) for name in names))

    def await_refused(self, name: str) -> None:
        """Wait until a pod is told, by condition and event, why it fits nowhere."""
        self.await_(lambda: bool(self.pod(name).message and self.events(name, FAILED)))

    def await_(self, came: Callable[[], bool]) -> None:
        """Wait until `came()`, for half a minute at most. Raises ComponentError when Podium has ended."""

        def look() -> bool:
            self.podium.require_running()
            return came()

        try:
            wait_until(look, _PATIENCE_SECONDS)
        except TimeoutError:
            return

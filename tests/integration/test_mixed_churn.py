"""Pods of all kinds come and go on the real API server: what is bound in the end breaks no rule, and nobody is lost."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.conftest import Cluster
from tests.controlplane.client import Client, wait_until
from tests.controlplane.resources import Manifests, node_manifest, pod_manifest
from tests.integration.constrained_clusters import HOST, ZONE, near, spread
from tests.integration.observations import PATIENCE_SECONDS
from tests.integration.podium import PodiumProcess, Podiums
from tests.integration.volume_manifests import claim, pod_with_claim, storage_class, volume_on

NODES: Final = 7
VOLUMES: Final = 6
PODS: Final = 220

_CPU_MILLI: Final = 3_000
_KINDS: Final = {"apart": 100, "near": 100, "spread": 100, "port": 100, "claim": 100, "plain": 100, "large": 1_500}
"""Milli of cpu that a pod of each kind asks for."""
_PORTS: Final = (8080, 8081)
_BINDER: Final = "persistentvolume-binder-controller"


class Churn:
    """Creates and deletes pods, relabels some, and cordons nodes for a while."""

    def __init__(self, client: Client, namespace: str, seed: int) -> None:
        self._client = client
        self._namespace = namespace
        self._rng = random.Random(seed)
        self._kinds: dict[str, str] = {}
        self.zones = {f"node-{index}": "abc"[index % 3] for index in range(NODES)}

    def prepare(self) -> None:
        """Nodes in three zones, some with a volume, and a claim for each of these."""
        for node, zone in self.zones.items():
            self._client.create(node_manifest(node, cpu=f"{_CPU_MILLI}m", labels={ZONE: zone}))
        self._client.create(storage_class("local"))
        for index in range(VOLUMES):
            self._client.create(volume_on(f"volume-{index}", f"node-{index}", "local"))
            self._client.create(claim(f"claim-{index}", self._namespace, "local"))

    def run(self) -> None:
        """All of it; in the end no node is cordoned."""
        rng, client = self._rng, self._client
        for index in range(PODS):
            self._create(f"p{index}")
            # Those that are spread stay: how they were spread when they came could not be told otherwise.
            leaving = [name for name, kind in self._kinds.items() if kind != "spread"]
            if leaving and rng.random() < 0.45:
                name = rng.choice(leaving)
                del self._kinds[name]
                client.delete("pods", name, self._namespace)
            plain = [name for name, kind in self._kinds.items() if kind == "plain"]
            if plain and rng.random() < 0.1:
                patch = {"metadata": {"labels": {"app": f"near-{rng.randrange(3)}"}}}
                client.patch("pods", rng.choice(plain), patch, self._namespace)
            if rng.random() < 0.05:
                client.patch("nodes", rng.choice(list(self.zones)), {"spec": {"unschedulable": rng.random() < 0.5}})
        for node in self.zones:
            client.patch("nodes", node, {"spec": {"unschedulable": False}})

    def _create(self, name: str) -> None:
        kind = self._kinds[name] = self._rng.choice(list(_KINDS))
        labels = {"kind": kind, "app": f"{kind}-{self._rng.randrange(3)}"}
        own = {"app": labels["app"]}
        if kind == "claim":
            mounted = f"claim-{self._rng.randrange(VOLUMES)}"
            self._client.create(pod_with_claim(name, self._namespace, mounted, labels=labels))
            return
        specs: dict[str, dict[str, Any]] = {
            "apart": near("podAntiAffinity", own, HOST),
            "near": near("podAffinity", own, ZONE),
            "spread": spread(ZONE, own),
        }
        requests = {"cpu": f"{_KINDS[kind]}m"}
        pod = pod_manifest(name, self._namespace, labels=labels, requests=requests, **specs.get(kind, {}))
        if kind == "port":
            port = {"containerPort": 80, "hostPort": self._rng.choice(_PORTS)}
            pod["spec"]["containers"][0]["ports"] = [port]
        self._client.create(pod)


def settle(process: PodiumProcess, client: Client, namespace: str) -> None:
    """Wait until each pod is bound or waits for something to happen."""

    def settled() -> bool:
        waiting = sum(1 for pod in client.list("pods", namespace) if not pod["spec"].get("nodeName"))
        parked = process.sample("scheduler_pending_pods", queue="unschedulable")
        return waiting == parked

    wait_until(settled, PATIENCE_SECONDS, what="every pod being bound or waiting for an event")


def bound_pods(client: Client, namespace: str) -> dict[str, Manifests]:
    """Pods by node."""
    on_node: dict[str, Manifests] = defaultdict(list)
    for pod in client.list("pods", namespace):
        if pod["spec"].get("nodeName"):
            on_node[pod["spec"]["nodeName"]].append(pod)
    return on_node


def faults_on(node: str, pods: Manifests, volume_of: dict[str, str]) -> Iterator[str]:
    """What on the node breaks a rule."""
    kinds = Counter(pod["metadata"]["labels"]["kind"] for pod in pods)
    apps = Counter(pod["metadata"]["labels"]["app"] for pod in pods)
    ports = Counter(
        port["hostPort"] for pod in pods for each in pod["spec"]["containers"] for port in each.get("ports", ())
    )
    if sum(_KINDS[kind] * count for kind, count in kinds.items()) > _CPU_MILLI:
        yield f"{node}: {dict(kinds)}"
    yield from (f"{node}: {app} {count} times" for app, count in apps.items() if "apart" in app and count > 1)
    yield from (f"{node}: port {port} {count} times" for port, count in ports.items() if count > 1)
    for pod in pods:
        claims = [volume.get("persistentVolumeClaim") for volume in pod["spec"].get("volumes", ())]
        mounted = [volume_of.get(each["claimName"]) for each in claims if each is not None]
        yield from (f"{node}: {volume}" for volume in mounted if volume != f"volume-{node.removeprefix('node-')}")


def uneven(on_node: dict[str, Manifests], zones: dict[str, str]) -> Iterator[str]:
    """Applications that are not spread as they ask."""
    apps: dict[str, Counter[str]] = defaultdict(lambda: Counter(dict.fromkeys(zones.values(), 0)))
    for node, pods in on_node.items():
        for pod in pods:
            if pod["metadata"]["labels"]["kind"] == "spread":
                apps[pod["metadata"]["labels"]["app"]][zones[node]] += 1
    yield from (f"{app}: {dict(by)}" for app, by in apps.items() if max(by.values()) - min(by.values()) > 1)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 6))])
def test_mixed_pods_come_and_go(cluster: Cluster, podium: Podiums, seed: int) -> None:
    """Then a scheduler that starts now finds nobody whom it could place."""
    client, namespace = cluster.client, cluster.namespace
    churn = Churn(client, namespace, seed)
    churn.prepare()
    cluster.control_plane.start_controller_manager(controllers=[_BINDER], qps=100, burst=100)
    first = podium.start(cluster.control_plane)
    churn.run()
    settle(first, client, namespace)
    on_node = bound_pods(client, namespace)
    claims = client.list("persistentvolumeclaims", namespace)
    volume_of = {each["metadata"]["name"]: each["spec"].get("volumeName", "") for each in claims}
    broken = [fault for node, pods in on_node.items() for fault in faults_on(node, pods, volume_of)]
    assert not [*broken, *uneven(on_node, churn.zones)]
    first.kill()
    second = podium.start(cluster.control_plane)
    settle(second, client, namespace)
    assert second.sample("scheduler_schedule_attempts_total", result="scheduled") == 0

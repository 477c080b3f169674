"""What the process does when it is told: end without losing a pod, and show what it believes."""

import signal
from collections import Counter
from pathlib import Path

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import CutAfterCommit, Delay, Rule
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.integration.observations import PATIENCE_SECONDS, wait_until_bound
from tests.integration.pod_history import PodHistory
from tests.integration.podium import Podiums, write_slow_config

# More than may be in their binding cycle at once, for those all end well.
_PODS = 500
_NODES = 25
_NAMES = [f"pod-{index}" for index in range(_PODS)]
_BINDING = "/pods/([^/]+)/binding$"


def test_sigterm_finishes_what_is_under_way(
    cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums, tmp_path: Path
) -> None:
    """In the middle of the pods: exit code 0, each Binding sent is a bound pod with its event; others do the rest."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(_NODES, lambda index: node_manifest(f"node-{index}", cpu="2"))
    client.create_many(pod_manifest(name, namespace, requests={"cpu": "100m"}) for name in _NAMES)
    # Some answers are lost, so that some bindings are in doubt when the signal comes.
    fault_proxy.add(Rule(CutAfterCommit(), "POST", _BINDING, probability=0.1))
    config = ("--config", str(write_slow_config(tmp_path)))
    first = podium.start(cluster.control_plane, *config, proxy=fault_proxy, wait_until_ready=False)
    with PodHistory(cluster.control_plane, namespace) as history:
        wait_until(lambda: len(history.bound()) >= _PODS // 5, PATIENCE_SECONDS)
        first.send(signal.SIGTERM)
        assert first.wait() == 0
    pods = {pod["metadata"]["name"]: pod for pod in client.list("pods", namespace)}
    bound = {name for name, pod in pods.items() if "nodeName" in pod["spec"]}
    sent = {logged.line.path.split("/")[-2] for logged in fault_proxy.requests("POST", _BINDING)}
    assert sent == bound
    assert len(bound) < _PODS
    told = [event["regarding"]["name"] for event in client.list("events", namespace) if event["reason"] == "Scheduled"]
    assert sorted(told) == sorted(bound)
    assert first.messages("stopped")[0]["given_up"] == 0

    fault_proxy.clear()
    podium.start(cluster.control_plane, proxy=fault_proxy)
    nodes = wait_until_bound(client, namespace, _NAMES)
    assert Counter(nodes.values()) == {f"node-{index}": _PODS // _NODES for index in range(_NODES)}


def test_sigterm_before_the_caches_are_filled(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """A process whose lists do not come ends as well, with exit code 0."""
    fault_proxy.add(Rule(Delay(600), "GET", "^/api/v1/pods$"))
    process = podium.start(cluster.control_plane, proxy=fault_proxy, wait_until_ready=False)
    wait_until(lambda: fault_proxy.requests("GET", "^/api/v1/pods$"), PATIENCE_SECONDS)
    process.send(signal.SIGTERM)
    assert process.wait() == 0


def test_sigusr2_shows_cache_and_queue(cluster: Cluster, podium: Podiums) -> None:
    """Nodes with their pods, waiting pods by place, and no difference from a fresh list."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(3)
    process = podium.start(cluster.control_plane)
    names = [f"pod-{index}" for index in range(30)]
    client.create_many(pod_manifest(name, namespace) for name in names)
    client.create(pod_manifest("huge", namespace, requests={"cpu": "1k"}))
    client.create(pod_manifest("gated", namespace, schedulingGates=[{"name": "example.com/wait"}]))
    nodes = wait_until_bound(client, namespace, names)
    wait_until(lambda: process.sample("scheduler_cache_size", type="assumed_pods") == 0, PATIENCE_SECONDS)
    wait_until(lambda: process.sample("scheduler_pending_pods", queue="unschedulable") == 1, PATIENCE_SECONDS)
    process.send(signal.SIGUSR2)
    compared = wait_until(lambda: process.messages("cache compared with a fresh list"), PATIENCE_SECONDS)
    assert compared[0]["differences"] == []
    shown = {line["node"]: line["pods"] for line in process.messages("cached node")}
    for node in ("node-0", "node-1", "node-2"):
        assert sorted(shown[node]) == sorted(f"{namespace}/{name}" for name in names if nodes[name] == node)
    waiting = {line["place"]: line["pods"] for line in process.messages("queued pods")}
    assert waiting["unschedulable"] == [f"{namespace}/huge"]
    assert waiting["gated"] == [f"{namespace}/gated"]
    assert process.is_running


def test_log_is_of_one_shape(cluster: Cluster, podium: Podiums) -> None:
    """Each line is a JSON object with time, level, logger and message."""
    cluster.client.create_nodes(1)
    process = podium.start(cluster.control_plane, "--v", "10")
    cluster.client.create(pod_manifest("pod", cluster.namespace))
    wait_until_bound(cluster.client, cluster.namespace, ["pod"])
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    lines = process.log()
    assert lines
    assert all(list(line)[:4] == ["ts", "level", "logger", "msg"] for line in lines)

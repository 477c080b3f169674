"""A process with several profiles: each pod is decided by its own profile's plugins, weights and args."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from tests.conftest import Cluster
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.integration.observations import node_of, wait_for_event, wait_until_bound, wait_until_refused
from tests.integration.podium import PodiumProcess, Podiums

KUBE_SCHEDULER_DEFAULTS = Path(__file__).parents[1] / "unit" / "config" / "kube_scheduler_defaults.yaml"

TAINT = {"key": "dedicated", "value": "yes", "effect": "NoSchedule"}
AMOUNTS = {"cpu": "1", "memory": "2Gi"}
PROFILES: list[dict[str, Any]] = [
    {"schedulerName": "spreading"},
    {
        "schedulerName": "packing",
        "percentageOfNodesToScore": 50,
        "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
    },
    {
        "schedulerName": "careless",
        "plugins": {
            "filter": {"disabled": [{"name": "TaintToleration"}]},
            "postFilter": {"disabled": [{"name": "*"}]},
            "score": {"enabled": [{"name": "TaintToleration", "weight": 7}]},
        },
    },
]


def start(podium: Podiums, cluster: Cluster, directory: Path) -> PodiumProcess:
    """A process with these profiles."""
    config = directory / "config.json"
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config.write_bytes(msgspec.json.encode({**header, "profiles": PROFILES}))
    return podium.start(cluster.control_plane, "--config", str(config))


def test_each_pod_is_decided_by_its_own_profile(cluster: Cluster, podium: Podiums, tmp_path: Path) -> None:
    """Least and most allocated node, a filter that one profile lacks; events, metrics and /configz tell them apart."""
    client, namespace = cluster.client, cluster.namespace
    for name in ("empty", "busy"):
        client.create(node_manifest(name, cpu="8", memory="16Gi", labels={"plain": "yes"}))
    client.create(node_manifest("tainted", labels={"dedicated": "yes"}, taints=[TAINT]))
    client.create(pod_manifest("load", namespace, requests={"cpu": "4", "memory": "8Gi"}, nodeName="busy"))
    process = start(podium, cluster, tmp_path)
    for name in ("spreading", "packing"):
        client.create(
            pod_manifest(name, namespace, scheduler_name=name, requests=AMOUNTS, nodeSelector={"plain": "yes"})
        )
    for name in ("spreading", "careless"):
        selector = {"dedicated": "yes"}
        client.create(pod_manifest(f"{name}-2", namespace, scheduler_name=name, nodeSelector=selector))
    bound = wait_until_bound(client, namespace, ["spreading", "packing", "careless-2"])
    assert bound == {"spreading": "empty", "packing": "busy", "careless-2": "tainted"}
    refusal = wait_until_refused(client, "spreading-2", namespace)
    assert "1 node(s) had untolerated taint(s)" in refusal["message"]
    for name in ("spreading", "packing"):
        event = wait_for_event(client, client.get("pods", name, namespace), "Scheduled")
        assert event["reportingController"] == name
    for profile, result, attempts in (
        ("spreading", "scheduled", 1),
        ("spreading", "unschedulable", 1),
        ("packing", "scheduled", 1),
        ("packing", "unschedulable", 0),
        ("careless", "scheduled", 1),
    ):
        assert process.sample("scheduler_schedule_attempts_total", profile=profile, result=result) == attempts
        count = "scheduler_scheduling_attempt_duration_seconds_count"
        assert process.sample(count, profile=profile, result=result) == attempts
    assert process.sample("scheduler_unschedulable_pods", profile="spreading", plugin="TaintToleration") == 1
    evaluated = "scheduler_plugin_evaluation_total"
    for profile, filters, balances in (("spreading", True, True), ("packing", True, False), ("careless", False, True)):
        filtering = {"profile": profile, "plugin": "TaintToleration", "extension_point": "Filter"}
        balancing = {"profile": profile, "plugin": "NodeResourcesBalancedAllocation", "extension_point": "Score"}
        assert (process.sample(evaluated, **filtering) > 0) is filters
        assert process.sample(evaluated, **balancing) == 0 or balances
    filtered = "scheduler_framework_extension_point_duration_seconds_count"
    assert process.sample(filtered, profile="spreading", extension_point="Filter", status="Unschedulable") == 1
    assert process.sample(filtered, profile="packing", extension_point="Filter", status="Success") == 1
    assert_configuration_is_shown(process)


def assert_configuration_is_shown(process: PodiumProcess) -> None:
    """/configz has every profile, defaults filled in, and what is active in each."""
    status, text = process.get("/configz")
    assert status == HTTPStatus.OK
    shown = msgspec.json.decode(text)
    profiles = shown["componentconfig"]["profiles"]
    assert [each["schedulerName"] for each in profiles] == ["spreading", "packing", "careless"]
    assert [each.get("percentageOfNodesToScore") for each in profiles] == [None, 50, None]
    strategies = [
        entry["args"]["scoringStrategy"]["type"]
        for each in profiles
        for entry in each["pluginConfig"]
        if entry["name"] == "NodeResourcesFit"
    ]
    assert strategies == ["LeastAllocated", "MostAllocated", "LeastAllocated"]
    active = shown["podium"]
    assert ["TaintToleration" in active[name]["predicates"] for name in active] == [True, True, False]
    assert [active[name]["prioritizers"].get("TaintToleration") for name in active] == [3, 3, 7]
    assert "NodeResourcesBalancedAllocation" not in active["packing"]["prioritizers"]


def test_a_profile_without_preemption_evicts_nobody(cluster: Cluster, podium: Podiums, tmp_path: Path) -> None:
    """The same pod on the same full node: one profile lets it wait, the other makes room."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("full", cpu="2"))
    client.create(pod_manifest("victim", namespace, requests={"cpu": "2"}, nodeName="full"))
    start(podium, cluster, tmp_path)
    for name in ("careless", "spreading"):
        important = pod_manifest(
            name, namespace, scheduler_name=name, requests={"cpu": "2"}, priorityClassName="system-node-critical"
        )
        client.create(important)
        if name == "careless":
            refusal = wait_until_refused(client, name, namespace)
            assert refusal["message"] == "0/1 nodes are available: 1 Insufficient cpu."
            assert node_of(client, "victim", namespace) == "full"
    wait_for_event(client, client.get("pods", "victim", namespace), "Preempted")


def test_what_kube_scheduler_writes_out_runs(cluster: Cluster, podium: Podiums) -> None:
    """Its own default configuration, unchanged, serves the pods of default-scheduler once that is allowed."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("n"))
    podium.start(cluster.control_plane, "--config", str(KUBE_SCHEDULER_DEFAULTS), "--take-over")
    client.create(pod_manifest("p", namespace, scheduler_name="default-scheduler"))
    assert wait_until_bound(client, namespace, ["p"]) == {"p": "n"}

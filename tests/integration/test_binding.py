"""A pod lands where it should: on an idle cluster, by selectors, taints, ports, room and images."""

import pytest

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.resources import Manifest, node_manifest, pod_manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    node_of,
    scheduled_condition,
    wait_for_event,
    wait_until_bound,
)
from tests.integration.podium import PodiumProcess, Podiums

_GPU_TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
_GPU_TOLERATION = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
_IMAGE = "registry.example/model:1"


@pytest.fixture
def process(cluster: Cluster, podium: Podiums) -> PodiumProcess:
    """A scheduler before which nothing exists."""
    return podium.start(cluster.control_plane)


def land(cluster: Cluster, *pods: Manifest) -> dict[str, str]:
    """Create pods one after the other, each when the one before is bound; the node of each."""
    nodes: dict[str, str] = {}
    for pod in pods:
        cluster.client.create(pod)
        nodes |= wait_until_bound(cluster.client, cluster.namespace, [pod["metadata"]["name"]])
    return nodes


def test_pods_land_and_the_cluster_is_told(cluster: Cluster, process: PodiumProcess) -> None:
    """Each pod is bound, has the event Scheduled in kube-scheduler's words and the condition PodScheduled True."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(3)
    names = [f"pod-{index}" for index in range(9)]
    client.create_many(pod_manifest(name, namespace, requests={"cpu": "8"}) for name in names)
    nodes = wait_until_bound(client, namespace, names)
    assert sorted(nodes.values()) == sorted(["node-0", "node-1", "node-2"] * 3)
    for name in names:
        pod = client.get("pods", name, namespace)
        event = wait_for_event(client, pod, "Scheduled")
        assert event["note"] == f"Successfully assigned {namespace}/{name} to {nodes[name]}"
        assert (event["type"], event["action"]) == ("Normal", "Binding")
        assert event["reportingController"] == "podium"
        assert event["reportingInstance"] == process.name
        condition = scheduled_condition(pod)
        assert condition is not None
        assert condition["status"] == "True"
    assert process.sample("scheduler_schedule_attempts_total", result="scheduled", profile="podium") == 9


def test_pods_of_other_schedulers_are_left_alone(cluster: Cluster, process: PodiumProcess) -> None:
    """Neither bound nor told anything."""
    cluster.client.create_nodes(1)
    cluster.client.create(pod_manifest("theirs", cluster.namespace, scheduler_name="another"))
    land(cluster, pod_manifest("ours", cluster.namespace))
    theirs = cluster.client.get("pods", "theirs", cluster.namespace)
    assert "nodeName" not in theirs["spec"]
    assert scheduled_condition(theirs) is None
    assert process.is_running


@pytest.mark.usefixtures("process")
def test_pods_that_were_there_before_count(cluster: Cluster, podium: Podiums) -> None:
    """A process that starts later finds bound pods and waiting ones, and gives no room away twice."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(2, lambda index: node_manifest(f"node-{index}", cpu="1"))
    client.create(pod_manifest("big", namespace, requests={"cpu": "1"}, nodeName="node-0"))
    assert land(cluster, pod_manifest("small", namespace, requests={"cpu": "500m"})) == {"small": "node-1"}


@pytest.mark.usefixtures("process")
def test_selectors_and_affinity_choose_the_node(cluster: Cluster) -> None:
    """A node selector and a required node affinity are obeyed, a preferred one tips the scale."""
    client, namespace = cluster.client, cluster.namespace
    for name, zone, disk in (("a", "east", "ssd"), ("b", "east", "hdd"), ("c", "west", "ssd")):
        client.create(node_manifest(name, labels={"zone": zone, "disk": disk}))
    in_east = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}]
    on_hdd = {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": in_east},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": on_hdd}],
    }
    nodes = land(
        cluster,
        pod_manifest("selected", namespace, nodeSelector={"zone": "west"}),
        pod_manifest("preferred", namespace, affinity={"nodeAffinity": affinity}),
        pod_manifest("both", namespace, nodeSelector={"zone": "east", "disk": "ssd"}),
    )
    assert nodes == {"selected": "c", "preferred": "b", "both": "a"}


@pytest.mark.usefixtures("process")
def test_taints_keep_pods_away_unless_tolerated(cluster: Cluster) -> None:
    """An intolerant pod avoids tainted and cordoned nodes; a tolerant one that must go there goes there."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("tainted", cpu="64", taints=[_GPU_TAINT], labels={"gpu": "yes"}))
    client.create(node_manifest("cordoned", cpu="64"))
    client.patch("nodes", "cordoned", {"spec": {"unschedulable": True}})
    client.create(node_manifest("open", cpu="1"))
    nodes = land(
        cluster,
        pod_manifest("intolerant", namespace),
        pod_manifest("tolerant", namespace, tolerations=[_GPU_TOLERATION], nodeSelector={"gpu": "yes"}),
    )
    assert nodes == {"intolerant": "open", "tolerant": "tainted"}


@pytest.mark.usefixtures("process")
def test_a_host_port_is_given_once_a_node(cluster: Cluster) -> None:
    """Two pods with one host port land on two nodes; a third waits until one of them is gone."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(2)
    ports = [{"containerPort": 80, "hostPort": 8080}]
    containers = [{"name": "web", "image": "registry.k8s.io/pause:3.10", "ports": ports}]
    pods = [pod_manifest(f"web-{index}", namespace, containers=containers) for index in range(3)]
    nodes = land(cluster, *pods[:2])
    assert set(nodes.values()) == {"node-0", "node-1"}
    waiting = client.create(pods[2])
    wait_for_event(client, waiting, "FailedScheduling", "2 node(s) didn't have free ports")
    client.delete("pods", "web-0", namespace)
    assert wait_until_bound(client, namespace, ["web-2"]) == {"web-2": nodes["web-0"]}


@pytest.mark.usefixtures("process")
def test_the_node_that_has_the_image_is_preferred(cluster: Cluster) -> None:
    """Of three equal nodes the one that holds a big image of the pod is taken."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(3)
    client.patch_status("nodes", "node-1", {"images": [{"names": [_IMAGE], "sizeBytes": 900 << 20}]})
    containers = [{"name": "model", "image": _IMAGE}]
    pods = [pod_manifest(f"model-{index}", namespace, containers=containers) for index in range(3)]
    assert set(land(cluster, *pods).values()) == {"node-1"}


@pytest.mark.usefixtures("process")
def test_a_pod_waits_for_room(cluster: Cluster) -> None:
    """A pod that fits nowhere is bound once a node that has room appears."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("small", cpu="1"))
    pod = client.create(pod_manifest("big", namespace, requests={"cpu": "2"}))
    wait_for_event(client, pod, "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.")
    client.create(node_manifest("large", cpu="4"))
    wait_until(lambda: node_of(client, "big", namespace) == "large", PATIENCE_SECONDS)

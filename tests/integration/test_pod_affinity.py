"""Pods that are to run near others or apart, on the real API server: refused in words, let in when that helps."""

import pytest

from tests.conftest import Cluster
from tests.controlplane.resources import Manifest, node_manifest, pod_manifest
from tests.integration.observations import wait_for_event, wait_until_bound, wait_until_refused
from tests.integration.podium import Podiums

_WEB = {"app": "web"}
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"


def required(kind: str, topology_key: str, namespace_labels: dict[str, str] | None = None) -> Manifest:
    """A required term about pods of the application, in the pod's own namespace or in those with the labels."""
    term: Manifest = {"labelSelector": {"matchLabels": _WEB}, "topologyKey": topology_key}
    if namespace_labels is not None:
        term["namespaceSelector"] = {"matchLabels": namespace_labels}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize("how", ["deleted", "relabelled"])
def test_a_repelled_pod_waits_until_that_ends(cluster: Cluster, podium: Podiums, how: str) -> None:
    """Its own spec is plain, yet it is refused while the other is there; pods it cannot concern land."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    repelling = pod_manifest("repelling", namespace, nodeName="node-0", affinity=required("podAntiAffinity", _HOSTNAME))
    client.create(repelling)
    podium.start(cluster.control_plane)
    waiting = client.create(pod_manifest("waiting", namespace, labels=_WEB))
    client.create(pod_manifest("unconcerned", namespace, labels={"app": "batch"}))
    text = "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    condition = wait_until_refused(client, "waiting", namespace, text)
    assert condition["reason"] == "Unschedulable"
    wait_for_event(client, waiting, "FailedScheduling", text)
    wait_until_bound(client, namespace, ["unconcerned"])
    if how == "deleted":
        client.delete("pods", "repelling", namespace)
    else:
        client.patch("pods", "waiting", {"metadata": {"labels": {"app": "other"}}}, namespace)
    wait_until_bound(client, namespace, ["waiting"])


def test_replicas_that_keep_apart_take_a_node_each(cluster: Cluster, podium: Podiums) -> None:
    """One too many waits, and lands on the node that comes."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(3)
    podium.start(cluster.control_plane)
    apart = required("podAntiAffinity", _HOSTNAME)
    client.create_many(pod_manifest(f"web-{i}", namespace, labels=_WEB, affinity=apart) for i in range(3))
    nodes = wait_until_bound(client, namespace, [f"web-{i}" for i in range(3)])
    assert set(nodes.values()) == {"node-0", "node-1", "node-2"}
    client.create(pod_manifest("web-3", namespace, labels=_WEB, affinity=apart))
    wait_until_refused(client, "web-3", namespace, "3 node(s) didn't match pod anti-affinity rules")
    client.create(node_manifest("node-3"))
    assert wait_until_bound(client, namespace, ["web-3"]) == {"web-3": "node-3"}


def test_the_first_of_its_kind_starts_when_the_last_one_has_left(cluster: Cluster, podium: Podiums) -> None:
    """kube-scheduler leaves it waiting: it does not see that a deletion may help a pod that wants its like near."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("open", labels={_ZONE: "a"}))
    closed = node_manifest("closed", labels={_ZONE: "b"})
    client.create(closed | {"spec": {"unschedulable": True}})
    client.create(pod_manifest("last", namespace, labels=_WEB, nodeName="closed"))
    podium.start(cluster.control_plane)
    client.create(pod_manifest("next", namespace, labels=_WEB, affinity=required("podAffinity", _ZONE)))
    wait_until_refused(client, "next", namespace, "1 node(s) didn't match pod affinity rules")
    client.delete("pods", "last", namespace)
    assert wait_until_bound(client, namespace, ["next"]) == {"next": "open"}


def test_labels_of_namespaces_are_followed(cluster: Cluster, podium: Podiums) -> None:
    """A pod gets near others once their namespace says what it asks for."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    client.create(pod_manifest("there", namespace, labels=_WEB, nodeName="node-0"))
    podium.start(cluster.control_plane)
    near = required("podAffinity", _HOSTNAME, {"team": "blue"})
    client.create(pod_manifest("waiting", namespace, affinity=near))
    wait_until_refused(client, "waiting", namespace, "1 node(s) didn't match pod affinity rules")
    client.patch("namespaces", namespace, {"metadata": {"labels": {"team": "blue"}}})
    wait_until_bound(client, namespace, ["waiting"])

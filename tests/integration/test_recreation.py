"""Pods and nodes that are deleted and made again under the same name: each UID is decided on its own."""

from http import HTTPStatus

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import Delay, Refuse, Rule
from tests.controlplane.resources import Manifest, node_manifest, pod_manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    events_of,
    node_of,
    wait_for_event,
    wait_until_bound,
    wait_until_refused,
)
from tests.integration.podium import Podiums

_BINDING = "/binding$"


def test_pod_recreated_while_it_waits(cluster: Cluster, podium: Podiums) -> None:
    """The second pod is decided by its own spec, although the first was refused and backs off."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("small", cpu="1"))
    podium.start(cluster.control_plane)
    first = client.create(pod_manifest("web-0", namespace, requests={"cpu": "2"}))
    wait_for_event(client, first, "FailedScheduling", "1 Insufficient cpu")
    client.delete("pods", "web-0", namespace)
    second = client.create(pod_manifest("web-0", namespace, requests={"cpu": "500m"}))
    assert wait_until_bound(client, namespace, ["web-0"]) == {"web-0": "small"}
    wait_for_event(client, second, "Scheduled")
    assert events_of(client, first, "Scheduled") == []
    assert events_of(client, second, "FailedScheduling") == []


def test_pod_recreated_while_it_is_bound(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """A Binding on its way when the pod is replaced by a larger one binds neither; the new one goes where it fits.

    This is BC-63 of the known faults of schedulers: web-0 was meant for the small node, its successor needs the large.
    """
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("small", cpu="1", labels={"size": "small"}))
    podium.start(cluster.control_plane, proxy=fault_proxy)
    slow = fault_proxy.add(Rule(Delay(3), "POST", _BINDING, times=1))
    first = client.create(pod_manifest("web-0", namespace, requests={"cpu": "1"}))
    wait_until(lambda: slow.fired, PATIENCE_SECONDS, what="the first Binding")
    client.create(node_manifest("large", cpu="4"))
    client.delete("pods", "web-0", namespace)
    second = client.create(pod_manifest("web-0", namespace, requests={"cpu": "3"}))
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert wait_until_bound(client, namespace, ["web-0"]) == {"web-0": "large"}
    wait_until(lambda: fault_proxy.requests("POST", _BINDING)[0].status, PATIENCE_SECONDS, what="the first answer")
    assert {logged.status for logged in fault_proxy.requests("POST", _BINDING)} == {
        HTTPStatus.CONFLICT,
        HTTPStatus.CREATED,
    }
    wait_for_event(client, second, "Scheduled", "to large")
    assert events_of(client, first, "Scheduled") == []
    # The room that the first pod was to have is free again.
    client.create(pod_manifest("next", namespace, requests={"cpu": "1"}, nodeSelector={"size": "small"}))
    assert wait_until_bound(client, namespace, ["next"]) == {"next": "small"}


def test_pod_deleted_while_it_is_bound(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """Nothing is told of a pod that is gone, and its room goes to the next one."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("small", cpu="1"))
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    slow = fault_proxy.add(Rule(Delay(2), "POST", _BINDING, times=1))
    gone = client.create(pod_manifest("gone", namespace, requests={"cpu": "1"}))
    wait_until(lambda: slow.fired, PATIENCE_SECONDS, what="the first Binding")
    client.delete("pods", "gone", namespace)
    client.create(pod_manifest("next", namespace, requests={"cpu": "1"}))
    assert wait_until_bound(client, namespace, ["next"]) == {"next": "small"}
    wait_until(lambda: fault_proxy.requests("POST", _BINDING)[0].status, PATIENCE_SECONDS, what="the first answer")
    wait_until(lambda: process.sample("scheduler_cache_size", type="assumed_pods") == 0, PATIENCE_SECONDS)
    assert events_of(client, gone, "Scheduled") == []
    assert all(process.sample("scheduler_pending_pods", queue=queue) == 0 for queue in ("active", "backoff"))


def test_pod_changed_while_its_binding_fails(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """The next attempt is made with the pod as it is by then: it tolerates what it did not tolerate before."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("open", cpu="1"))
    client.create(node_manifest("tainted", cpu="1", taints=[{"key": "gpu", "value": "", "effect": "NoSchedule"}]))
    podium.start(cluster.control_plane, proxy=fault_proxy)
    fault_proxy.add(Rule(Delay(2), "POST", _BINDING, times=1))
    refused = fault_proxy.add(Rule(Refuse(HTTPStatus.FORBIDDEN), "POST", _BINDING, times=1))
    client.create(pod_manifest("pod", namespace, requests={"cpu": "1"}))
    wait_until(lambda: len(fault_proxy.requests("POST", _BINDING)) == 1, PATIENCE_SECONDS)
    tolerations = [*client.get("pods", "pod", namespace)["spec"]["tolerations"], {"key": "gpu", "operator": "Exists"}]
    client.patch("pods", "pod", {"spec": {"tolerations": tolerations}}, namespace)
    client.create(pod_manifest("filler", namespace, requests={"cpu": "1"}, nodeName="open"))
    assert wait_until_bound(client, namespace, ["pod"]) == {"pod": "tainted"}
    assert refused.fired == 1


def test_node_recreated(cluster: Cluster, podium: Podiums) -> None:
    """A node that comes back with other labels and another size is what it is now; pods that outlived it count."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("node", cpu="1", labels={"disk": "ssd"}))
    podium.start(cluster.control_plane)
    client.create(pod_manifest("first", namespace, requests={"cpu": "1"}))
    wait_until_bound(client, namespace, ["first"])
    client.create(pod_manifest("second", namespace, requests={"cpu": "1"}))
    wait_until_refused(client, "second", namespace, "0/1 nodes are available: 1 Insufficient cpu.")

    client.delete("nodes", "node")
    client.create(pod_manifest("third", namespace, nodeSelector={"disk": "hdd"}))
    wait_until_refused(client, "third", namespace, "no nodes available to schedule pods")
    client.create(node_manifest("node", cpu="2", labels={"disk": "hdd"}))
    # The first pod still holds half of the node.
    nodes = wait_until_bound(client, namespace, ["second"])
    assert nodes == {"second": "node"}
    wait_until_refused(client, "third", namespace, "0/1 nodes are available: 1 Insufficient cpu.")
    client.create(on_ssd(namespace))
    wait_until_refused(client, "on-ssd", namespace, "1 node(s) didn't match Pod's node affinity/selector")
    client.delete("pods", "first", namespace)
    wait_until_bound(client, namespace, ["third"])
    assert node_of(client, "on-ssd", namespace) is None


def on_ssd(namespace: str) -> Manifest:
    """A pod for the label that the node had in its first life."""
    return pod_manifest("on-ssd", namespace, nodeSelector={"disk": "ssd"})

"""Objects that cannot be read, in lists and from watches: each is logged and counted, and everything else goes on."""

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import Rewrite, Rule
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.integration.observations import PATIENCE_SECONDS, node_of, scheduled_condition, wait_until_bound
from tests.integration.podium import PodiumProcess, Podiums

_SPOIL = {"spoil": "me"}
# Labels must be text; the API server never sends this.
_SPOILT = Rewrite('"spoil":"me"', '"spoil":7')
_LEFT_OUT = "Left out an object that cannot be read"


def left_out(process: PodiumProcess) -> set[tuple[str, str]]:
    """Kind and name of the objects that the log says were left out."""
    return {(line["kind"], line["name"]) for line in process.messages(_LEFT_OUT)}


def counted(process: PodiumProcess, kind: str) -> float:
    """What /metrics says of them."""
    return process.sample("podium_malformed_objects_total", kind=kind)


def test_malformed_objects_in_lists(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """A spoilt node is not used and a spoilt pod not tried; the others are, and the process becomes ready."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("bad", cpu="64", labels=_SPOIL))
    client.create(node_manifest("good", cpu="1"))
    client.create(pod_manifest("bad", namespace, labels=_SPOIL))
    client.create(pod_manifest("good", namespace))
    fault_proxy.add(Rule(_SPOILT))
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    assert wait_until_bound(client, namespace, ["good"]) == {"good": "good"}
    assert left_out(process) == {("Node", "bad"), ("Pod", "bad")}
    assert (counted(process, "Node"), counted(process, "Pod")) == (1, 1)
    assert scheduled_condition(client.get("pods", "bad", namespace)) is None


def test_malformed_objects_from_watches(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """The watch goes on after a spoilt event; an object is taken in as soon as it can be read."""
    client, namespace = cluster.client, cluster.namespace
    spoiling = fault_proxy.add(Rule(_SPOILT))
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    client.create(node_manifest("bad", cpu="64", labels=_SPOIL))
    client.create(pod_manifest("bad", namespace, labels=_SPOIL))
    client.create(node_manifest("good", cpu="1"))
    client.create(pod_manifest("good", namespace))
    assert wait_until_bound(client, namespace, ["good"]) == {"good": "good"}
    wait_until(lambda: left_out(process) == {("Node", "bad"), ("Pod", "bad")}, PATIENCE_SECONDS)
    assert (counted(process, "Node"), counted(process, "Pod")) == (1, 1)
    assert node_of(client, "bad", namespace) is None
    assert len(fault_proxy.requests("GET", "/(pods|nodes)$", "watch=")) == 2

    fault_proxy.remove(spoiling)
    client.patch("pods", "bad", {"metadata": {"annotations": {"changed": "yes"}}}, namespace)
    client.patch("nodes", "bad", {"metadata": {"annotations": {"changed": "yes"}}})
    client.create(pod_manifest("large", namespace, requests={"cpu": "32"}))
    nodes = wait_until_bound(client, namespace, ["bad", "large"])
    assert nodes["large"] == "bad"


def test_quantity_that_is_none(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """A node whose size cannot be read is not used; the fault is logged and counted, the others are used."""
    client, namespace = cluster.client, cluster.namespace
    fault_proxy.add(Rule(Rewrite('"cpu":"63"', '"cpu":"lots"')))
    process = podium.start(cluster.control_plane, proxy=fault_proxy, expected_faults=["lots"])
    client.create(node_manifest("bad", cpu="63"))
    client.create(node_manifest("good", cpu="1"))
    client.create(pod_manifest("pod", namespace))
    assert wait_until_bound(client, namespace, ["pod"]) == {"pod": "good"}
    assert process.sample("podium_handler_errors_total", kind="Node") == 1
    assert len(process.unexpected([])) == 1

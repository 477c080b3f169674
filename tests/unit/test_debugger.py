"""The dump that SIGUSR2 asks for: what is held, and every way in which it may differ from the API server."""

from typing import Any

import msgspec
from structlog.testing import capture_logs

from scheduler.client.transport import Transport, TransportSettings
from scheduler.client.watch_decoding import Resource
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.debugger import Debugger
from scheduler.testing import make_node, make_pod
from tests.unit.client.fakes import Answer, FakeRoundTripper, RecordingSleep, Sent, credentials, ok, refusal
from tests.unit.shell import Shell

_PODS = Resource("Pod", "/pods", {"fieldSelector": "status.phase!=Failed"})
_NODES = Resource("Node", "/nodes", {})


def page(*items: dict[str, Any], further: str = "") -> Answer:
    """A page of a list."""
    return ok(msgspec.json.encode({"metadata": {"resourceVersion": "9", "continue": further}, "items": items}))


def node(name: str) -> dict[str, Any]:
    """A node as the server lists it."""
    return {"metadata": {"name": name, "uid": name}, "spec": {}, "status": {}}


def pod(name: str, node_name: str | None) -> dict[str, Any]:
    """A pod as the server lists it."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-default-{name}"}
    spec = {"containers": [{"name": "main"}]} | ({"nodeName": node_name} if node_name else {})
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


async def dump(shell: Shell, **answers: list[Answer]) -> list[dict[str, Any]]:
    """The log of a dump, with the lists that the server gives for `pods` and `nodes`."""

    def server(sent: Sent) -> Answer:
        script = answers["pods" if sent.target.startswith("/pods") else "nodes"]
        return script.pop(0)

    transport = Transport(credentials(), FakeRoundTripper(server), TransportSettings(tries=1), sleep=RecordingSleep())
    with capture_logs() as logs:
        await Debugger(shell.cache, shell.nominator, shell.queue, transport, _PODS, _NODES).dump()
    return [dict(line) for line in logs]


async def test_what_is_held_is_shown() -> None:
    """A line a node, a line a place of the queue, and no differences where there are none."""
    shell = Shell()
    shell.see(make_node("n1").obj(), make_pod("placed").node("n1").obj(), make_pod("waiting").obj())
    logs = await dump(shell, nodes=[page(node("n1"))], pods=[page(pod("placed", "n1"), pod("waiting", None))])
    cached, *places, compared = logs
    assert (cached["node"], cached["exists"], cached["pods"]) == ("n1", True, ["default/placed"])
    assert {line["place"]: line["pods"] for line in places}["active"] == ["default/waiting"]
    assert compared["differences"] == []


async def test_every_difference_is_told() -> None:
    """Nodes and pods that only one side knows, pods on different nodes; an assumed pod is marked."""
    shell = Shell()
    shell.see(make_node("both").obj(), make_node("ours").obj())
    shell.see(*(make_pod(name).node("both").obj() for name in ("same", "moved", "gone")))
    shell.cache.assume_pod(parse_pod(make_pod("assumed").obj()), "both")
    logs = await dump(
        shell,
        nodes=[page(node("both"), node("theirs"))],
        pods=[page(pod("same", "both"), pod("moved", "theirs"), further="more"), page(pod("new", "both"))],
    )
    assert logs[-1]["differences"] == [
        "node ours is only in the cache",
        "node theirs is missing in the cache",
        "pod default/moved is cached on both but runs on theirs",
        "pod default/new is missing in the cache",
        "pod default/gone on both is only in the cache",
        "pod default/assumed on both is only in the cache (assumed)",
    ]


async def test_an_object_that_cannot_be_read_is_told_and_the_rest_is_compared() -> None:
    """One bad object spoils nothing else."""
    shell = Shell()
    shell.see(make_node("n1").obj())
    logs = await dump(shell, nodes=[page({"metadata": {"name": 7}}, node("n1"))], pods=[page(pod("new", "n1"))])
    *_, told, compared = logs
    assert (told["log_level"], told["kind"]) == ("warning", "Node")
    assert compared["differences"] == ["pod default/new is missing in the cache"]


async def test_a_server_that_gives_no_list_is_told() -> None:
    """What is held is shown all the same."""
    shell = Shell()
    shell.see(make_node("n1").obj())
    logs = await dump(shell, nodes=[refusal(503, "ServiceUnavailable")], pods=[])
    assert logs[0]["node"] == "n1"
    assert logs[-1]["event"] == "the cache can't be compared, the API server gives no list"
    assert logs[-1]["log_level"] == "warning"

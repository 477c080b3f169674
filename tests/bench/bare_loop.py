"""Bind every pod and write its `Scheduled` event, in a bare loop that decides nothing: the API server's own limit.

Run as `python -m tests.bench.bare_loop PLAN`, where PLAN is a JSON file of a Plan. Like a scheduler, it ends when it is
killed.
"""

import datetime as dt
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import uvloop

from tests.bench.endpoint import Endpoint
from tests.bench.load_client import LoadClient
from tests.bench.nodes import node_name
from tests.bench.pods import NAMESPACE, pod_name
from tests.controlplane.resources import RESOURCES, Manifest

_CONNECTIONS = 64


class Plan(msgspec.Struct, frozen=True):
    """The pods `<run>-0` … go to the nodes `node-0` … in turn."""

    endpoint: Endpoint
    run: str
    pods: int
    nodes: int


async def carry_out(plan: Plan) -> None:
    """Send all bindings and events. Raises BenchError when the API server refuses one."""
    async with LoadClient(plan.endpoint, _CONNECTIONS) as load:
        await load.send_all(_requests(load, plan))


def _requests(load: LoadClient, plan: Plan) -> Iterator[bytes]:
    pods_path, events_path = RESOURCES["pods"], RESOURCES["events"].path(NAMESPACE)
    for index in range(plan.pods):
        pod, node = pod_name(plan.run, index), node_name(index % plan.nodes)
        yield load.encode("POST", pods_path.path(NAMESPACE, pod, "binding"), _binding(pod, node))
        yield load.encode("POST", events_path, _event(pod, node))


def _binding(pod: str, node: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod, "namespace": NAMESPACE},
        "target": {"kind": "Node", "name": node},
    }


def _event(pod: str, node: str) -> Manifest:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.bare", "namespace": NAMESPACE},
        "eventTime": dt.datetime.now(dt.UTC).isoformat(timespec="microseconds"),
        "reportingController": "bare-loop",
        "reportingInstance": "bare-loop-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": f"Successfully assigned {NAMESPACE}/{pod} to {node}",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": NAMESPACE, "name": pod},
    }


if __name__ == "__main__":
    uvloop.run(carry_out(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan)))
    signal.pause()

"""Who takes part: kube-scheduler, Podium, and a bare loop that shows what the API server itself can do.

Each is a process of its own for each run and is killed at its end: one that lives on would take the next run's pods.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.bench.bare_loop import Plan
from tests.bench.cluster import BenchCluster
from tests.bench.errors import BenchError
from tests.controlplane.component import Component
from tests.controlplane.credentials import User

_CHECKOUT = Path(__file__).parents[2]
_ENV = "/usr/bin/env"


@dataclass(frozen=True)
class Backlog:
    """What a contestant finds: pods `<run>-0` … that nobody else schedules, and empty nodes `node-0` …."""

    run: str
    pods: int
    nodes: int


@dataclass(frozen=True)
class Contestant:
    """Something that binds pods."""

    name: str
    scheduler_name: str
    start: Callable[[BenchCluster, Backlog], Component]
    """Starts the process and does not wait until it is ready."""


@contextmanager
def running(contestant: Contestant, cluster: BenchCluster, backlog: Backlog) -> Iterator[Component]:
    """The process of the contestant, ended at the end. A BenchError raised meanwhile gets the end of its log."""
    component = contestant.start(cluster, backlog)
    try:
        yield component
    except BenchError as error:
        raise BenchError(f"{error}\n{component.log_tail()}") from error
    finally:
        component.kill()


def _start_kube_scheduler(cluster: BenchCluster, _: Backlog) -> Component:
    return cluster.control_plane.start_peer(
        KUBE_SCHEDULER.scheduler_name, qps=5000, burst=10000, wait_until_ready=False
    )


def _start_podium(cluster: BenchCluster, _: Backlog) -> Component:
    control_plane = cluster.control_plane
    config_file = control_plane.directory / "podium-config.json"
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": PODIUM.scheduler_name}],
    }
    config_file.write_bytes(msgspec.json.encode(config))
    options = [
        *("--kubeconfig", control_plane.kubeconfig(User.PODIUM)),
        *("--config", config_file),
        *("--metrics-port", "0"),
        *("--identity", "bench"),
    ]
    return _start(PODIUM, cluster, ["scheduler", "run", *map(str, options)])


def _start_bare_loop(cluster: BenchCluster, backlog: Backlog) -> Component:
    plan_file = cluster.control_plane.directory / "bare-loop.json"
    plan_file.write_bytes(msgspec.json.encode(Plan(cluster.endpoint, backlog.run, backlog.pods, backlog.nodes)))
    return _start(BARE_LOOP, cluster, ["tests.bench.bare_loop", str(plan_file)])


def _start(contestant: Contestant, cluster: BenchCluster, module_and_arguments: list[str]) -> Component:
    """Run a module of this checkout, whatever the working directory."""
    command = [_ENV, f"PYTHONPATH={_CHECKOUT}", sys.executable, "-m", *module_and_arguments]
    component = Component(contestant.name, command, cluster.control_plane.directory)
    component.start()
    return component


KUBE_SCHEDULER = Contestant("kube-scheduler", "peer", _start_kube_scheduler)
PODIUM = Contestant("podium", "podium", _start_podium)
BARE_LOOP = Contestant("API server's limit", "bare-loop", _start_bare_loop)

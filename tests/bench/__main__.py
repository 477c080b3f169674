"""`python -m tests.bench`: Podium and kube-scheduler in alternation, in pairs, on one control plane.

Progress goes to stderr, the table to stdout, and all figures with the facts of the machine to `.bench/`.
"""

import dataclasses
import itertools
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.cluster import BenchCluster, say
from tests.bench.comparison import Row, ratios, table
from tests.bench.contestants import BARE_LOOP, KUBE_SCHEDULER, PODIUM
from tests.bench.errors import BenchError
from tests.bench.machine import machine_facts
from tests.bench.options import Only, Options, read_options
from tests.bench.pods import KEPT, PodShape, bound_pods
from tests.bench.run import Run
from tests.controlplane.build import BuildError, build_all
from tests.controlplane.component import ComponentError
from tests.controlplane.control_plane import ControlPlane

_RESULTS = Path(__file__).parents[2] / ".bench"
_CONTESTANTS = {None: (KUBE_SCHEDULER, PODIUM), Only.PEER: (KUBE_SCHEDULER,), Only.PODIUM: (PODIUM,)}
# More than this, and others use the cores too.
_QUIET_LOAD = 0.5


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark; returns the exit code."""
    options = read_options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        build_all(("etcd", "k8s"))
        facts = machine_facts()
        if facts["load_average"] > _QUIET_LOAD:
            say(f"warning: the load average is {facts['load_average']:.1f}; figures of a busy machine are worth little")
        with ControlPlane() as control_plane:
            cluster = BenchCluster(control_plane)
            facts["kubernetes"] = cluster.kubernetes_version()
            cluster.prepare(options.nodes)
            shape = cluster.shape(options.pod_kb)
            pod_bytes = cluster.pod_size_bytes(shape)
            rows = _run_all(options, cluster, shape)
    except (BenchError, BuildError, ComponentError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(_title(options, pod_bytes))
    print(table(options.workload.method.metrics, rows, KUBE_SCHEDULER.name, PODIUM.name))
    print(f"written to {_write(options, pod_bytes, rows, facts)}")
    return 0


def _run_all(options: Options, cluster: BenchCluster, shape: PodShape) -> list[Row]:
    workload = options.workload
    if workload.bound_pods_per_node:
        count = workload.bound_pods_per_node * options.nodes
        cluster.create("bound pods", bound_pods(shape, KEPT, count, options.nodes))
    runs = [*itertools.product(range(1, options.pairs + 1), _CONTESTANTS[options.only])]
    if options.with_limit:
        runs.append((0, BARE_LOOP))
    rows = []
    for number, (pair, contestant) in enumerate(runs):
        say(f"pair {pair} of {options.pairs}: {contestant.name}" if pair else contestant.name)
        run = Run(f"run{number}", contestant, cluster, options.nodes, options.pods, shape, workload.vary)
        values = workload.method.measure(run)
        say(f"  {_in_words(options, values)}")
        cluster.clear()
        rows.append(Row(pair, contestant.name, values))
    return rows


def _title(options: Options, pod_bytes: int) -> str:
    workload = options.workload
    bound = workload.bound_pods_per_node * options.nodes
    parts = [
        f"{options.nodes:,} nodes",
        *([f"{bound:,} bound pods"] if bound else []),
        f"{options.pods:,} pods of {pod_bytes / 1000:.1f} KB",
    ]
    return f"{workload.name} ({workload.summary}): {', '.join(parts)}"


def _in_words(options: Options, values: Mapping[str, float]) -> str:
    metrics = options.workload.method.metrics
    return ", ".join(f"{values[metric.key]:,.{metric.decimals}f} {metric.heading}" for metric in metrics)


def _write(options: Options, pod_bytes: int, rows: Sequence[Row], facts: Mapping[str, Any]) -> Path:
    """Write one JSON file; its name tells workload, sizes and time."""
    metrics = options.workload.method.metrics
    content = {
        "workload": options.workload.name,
        "nodes": options.nodes,
        "bound_pods": options.workload.bound_pods_per_node * options.nodes,
        "pods": options.pods,
        "pod_bytes": pod_bytes,
        "machine": facts,
        "runs": [dataclasses.asdict(row) for row in rows],
        "ratios": ratios(metrics, rows, KUBE_SCHEDULER.name, PODIUM.name),
    }
    time = facts["time"].partition("+")[0].replace(":", "")
    name = f"{options.workload.name}-{options.nodes}-nodes-{options.pods}-pods-{options.pod_kb}-kb-{time}.json"
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / name
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

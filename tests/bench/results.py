"""What a benchmark leaves: a heading, and a JSON file with all figures and the facts of the machine."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.comparison import Row, ratios
from tests.bench.contestants import KUBE_SCHEDULER, PODIUM
from tests.bench.options import Options

_RESULTS = Path(__file__).parents[2] / ".bench"


def title(options: Options, pod_bytes: int) -> str:
    """One line that tells what was measured; `pod_bytes` is the size of a pod."""
    workload = options.workload
    bound, low = (count * options.nodes for count in (workload.bound_pods_per_node, workload.low_pods_per_node))
    parts = [
        f"{options.nodes:,} nodes",
        *([f"{bound:,} bound pods"] if bound else []),
        *([f"{low:,} pods of low priority, {options.victims_each} to be evicted for each"] if low else []),
        f"{options.pods:,} pods of {pod_bytes / 1000:.1f} KB",
    ]
    return f"{workload.name} ({workload.summary}): {', '.join(parts)}"


def write(options: Options, pod_bytes: int, rows: Sequence[Row], facts: Mapping[str, Any]) -> Path:
    """Write one JSON file; its name tells workload, sizes and time."""
    metrics = options.workload.method.metrics
    content = {
        "workload": options.workload.name,
        "nodes": options.nodes,
        "bound_pods": options.workload.bound_pods_per_node * options.nodes,
        "low_priority_pods": options.workload.low_pods_per_node * options.nodes,
        "victims_each": options.victims_each,
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

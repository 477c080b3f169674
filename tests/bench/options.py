"""What a benchmark is asked for: command-line options, and environment variables of the same names."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tests.bench.workloads import WORKLOADS, Workload

_PAIRS = 3


class Only(StrEnum):
    """A single scheduler to run, instead of pairs of both."""

    PEER = "peer"
    PODIUM = "podium"


@dataclass(frozen=True)
class Options:
    """Checked options; sizes are those of the workload where the user said none."""

    workload: Workload
    nodes: int
    pods: int
    pairs: int
    pod_kb: int
    """About the size of a pod in JSON; 0 means a small one."""
    only: Only | None
    with_limit: bool
    victims_each: int
    """How many pods must be evicted for each; of a meaning to the workloads with full nodes only."""

    @property
    def room(self) -> int:
        """How many pods the nodes have room for, after evictions where nodes are full."""
        if self.workload.low_pods_per_node:
            return self.nodes * (self.workload.low_pods_per_node // self.victims_each)
        return self.nodes * (self.workload.pods_per_node - self.workload.bound_pods_per_node)


def read_options(arguments: Sequence[str]) -> Options:
    """Read the options; exits with a message and code 2 when one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Podium and kube-scheduler in alternation on one real API server. "
        "Each option may be given as an environment variable (WORKLOAD, NODES, PODS, PAIRS, POD_KB, VICTIMS_EACH, "
        "ONLY).",
        epilog="workloads: " + "; ".join(f"{w.name}: {w.summary}" for w in WORKLOADS.values()),
    )
    parser.add_argument("--workload", choices=WORKLOADS, default=_from_environment("WORKLOAD", "plain"))
    parser.add_argument("--nodes", type=_positive, default=_from_environment("NODES"))
    parser.add_argument("--pods", type=_positive, default=_from_environment("PODS"), help="pods to be bound in a run")
    parser.add_argument("--pairs", type=_positive, default=_from_environment("PAIRS", str(_PAIRS)))
    parser.add_argument(
        "--pod-kb", type=_not_negative, default=_from_environment("POD_KB", "0"), help="size of a pod; 0: small ones"
    )
    parser.add_argument(
        "--victims-each",
        type=_positive,
        default=_from_environment("VICTIMS_EACH"),
        help="pods to be evicted for each pod of the workload preemption; 1 unless told",
    )
    parser.add_argument("--only", choices=[*Only], default=_from_environment("ONLY"), help="run one scheduler alone")
    parser.add_argument(
        "--limit",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the API server's own limit as well, where the workload has one",
    )
    given = parser.parse_args(arguments)
    # argparse does not check a default against the choices.
    if given.workload not in WORKLOADS:
        parser.error(f"WORKLOAD={given.workload}: choose from {', '.join(WORKLOADS)}")
    if given.only not in (None, *Only):
        parser.error(f"ONLY={given.only}: choose from {', '.join(Only)}")
    workload = WORKLOADS[given.workload]
    if given.victims_each and given.victims_each > workload.low_pods_per_node:
        evictable = f"has {workload.low_pods_per_node} pods to evict on a node"
        parser.error(f"VICTIMS_EACH={given.victims_each}: the workload {workload.name} {evictable}")
    options = Options(
        workload=workload,
        nodes=given.nodes or workload.nodes,
        pods=given.pods or workload.pods,
        pairs=given.pairs,
        pod_kb=given.pod_kb,
        only=Only(given.only) if given.only else None,
        with_limit=given.limit and workload.method.has_limit,
        victims_each=given.victims_each or 1,
    )
    if options.pods > options.room:
        room = f"{options.nodes:,} nodes have room for {options.room:,} pods"
        parser.error(f"{room}, not for {options.pods:,}: take more nodes")
    return options


def _from_environment(name: str, default: str | None = None) -> str | None:
    return os.environ.get(name) or default


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value

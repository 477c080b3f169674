"""The table of workloads. A new one is a new entry: what its pods look like, and how it is measured."""

from dataclasses import dataclass

from tests.bench.arrival import ARRIVAL, PODS_PER_SECOND
from tests.bench.drain import DRAIN, START_UP
from tests.bench.pods import LOW_PODS_PER_NODE, Variation, distinct_requests
from tests.bench.preemption import PREEMPTION
from tests.bench.run import Method


@dataclass(frozen=True)
class Workload:
    """What is measured, with sizes for when the user says none."""

    name: str
    summary: str
    method: Method
    pods: int
    nodes: int = 5000
    vary: Variation | None = None
    """Makes the pending pods what they are; None leaves them all alike."""
    bound_pods_per_node: int = 0
    """So many pods are bound on each node before the first run, and stay."""
    low_pods_per_node: int = 0
    """So many pods of low priority fill each node at the start of a run."""


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("plain", "a backlog of equal pods", DRAIN, pods=10_000),
        Workload("distinct", "a backlog of pods with different requests", DRAIN, pods=3000, vary=distinct_requests),
        Workload(
            "startup",
            "from process start to the last pod bound, in a full cluster",
            START_UP,
            pods=1000,
            bound_pods_per_node=10,
        ),
        Workload(
            "arrival",
            f"{PODS_PER_SECOND} pods created a second, as many deleted: creation to binding",
            ARRIVAL,
            pods=60 * PODS_PER_SECOND,
        ),
        Workload(
            "preemption",
            "a backlog of pods that each need the room of others, on full nodes",
            PREEMPTION,
            pods=1000,
            nodes=1000,
            low_pods_per_node=LOW_PODS_PER_NODE,
        ),
    )
}

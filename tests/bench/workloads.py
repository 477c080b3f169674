"""The table of workloads. A new one is a new entry: what its pods look like, and how it is measured."""

from dataclasses import dataclass

from tests.bench import constraints, volumes
from tests.bench.arrival import ARRIVAL, PODS_PER_SECOND
from tests.bench.constraints import Check
from tests.bench.drain import DRAIN, START_UP
from tests.bench.nodes import ZONES
from tests.bench.pods import LOW_PODS_PER_NODE, Variation, distinct_requests
from tests.bench.preemption import PREEMPTION
from tests.bench.run import Method
from tests.bench.volumes import VOLUMES

# Of 100m each on nodes of 4 CPUs; leaves room, so that fragmentation leaves no pod without a node.
_PODS_PER_NODE = 30


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
    check: Check | None = None
    """Judges where they came to be; None allows every node."""
    pods_per_node: int = _PODS_PER_NODE
    """For so many pods of the workload each node has room."""
    bound_pods_per_node: int = 0
    """So many pods are bound on each node before the first run, and stay."""
    vary_bound: Variation | None = None
    """Makes those what they are."""
    low_pods_per_node: int = 0
    """So many pods of low priority fill each node at the start of a run."""


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("plain", "a backlog of equal pods", DRAIN, pods=10_000),
        Workload("distinct", "a backlog of pods with different requests", DRAIN, pods=3000, vary=distinct_requests),
        Workload(
            "spread",
            "a backlog of pods that must not make zones differ much",
            DRAIN,
            pods=3000,
            vary=constraints.spread,
            check=constraints.check_spread,
        ),
        Workload(
            "anti-affinity",
            "a backlog of pods of which each needs a node for itself",
            DRAIN,
            pods=3000,
            vary=constraints.anti_affinity,
            check=constraints.check_anti_affinity,
            pods_per_node=1,
        ),
        Workload(
            "node-affinity",
            "a backlog of pods for two zones of three",
            DRAIN,
            pods=3000,
            vary=constraints.node_affinity,
            check=constraints.check_node_affinity,
            pods_per_node=_PODS_PER_NODE // ZONES,
        ),
        Workload(
            "preferred-affinity",
            "a backlog of pods that prefer the zone of one another",
            DRAIN,
            pods=3000,
            vary=constraints.preferred_affinity,
            check=constraints.check_preferred_affinity,
            pods_per_node=_PODS_PER_NODE // ZONES,
        ),
        Workload(
            "selectors",
            "a backlog of pods that each demand spread, distance or company of other pods",
            DRAIN,
            pods=2000,
            vary=constraints.own_selector,
            check=constraints.check_own_selector,
            bound_pods_per_node=constraints.SELECTED_PER_NODE,
            vary_bound=constraints.belong_to_selected_applications,
        ),
        Workload("volumes", "a backlog of pods with a volume each", VOLUMES, pods=2000, vary=volumes.claim_volume),
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

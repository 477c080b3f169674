"""Full nodes: each pod of a backlog gets in only where pods of low priority are evicted. How fast, at what cost?

The victims have no grace period, so that a DELETE takes them away at once: for both schedulers the kubelet is as fast.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.bench.comparison import Better, Metric
from tests.bench.drain import SECONDS, drain
from tests.bench.errors import BenchError
from tests.bench.pods import LOW_PODS_PER_NODE, bound_pods, low_priority, preemptor
from tests.bench.run import PEAK_MEMORY, Method, Run

_PREEMPTORS_PER_SECOND = Metric("preemptors_per_second", "preemptors/s", Better.HIGHER, 1)
_CPU = Metric("cpu_milliseconds_per_preemptor", "CPU ms/preemptor", Better.LOWER, 3)
_VICTIMS = Metric("victims", "victims", Better.LOWER, 0)


def _measure(run: Run) -> Mapping[str, float]:
    """Time from the first nomination, eviction or bind to the last bind and the last event."""
    cluster = run.cluster
    low_run, low_count = f"{run.name}-low", LOW_PODS_PER_NODE * run.nodes
    cluster.create("pods of low priority", bound_pods(run.shape, low_run, low_count, run.nodes, low_priority))
    cluster.let_run(low_run, low_count)
    victims = 0

    def count_victims() -> None:
        nonlocal victims
        # An eviction that nobody waits for any more may still be under way.
        cluster.settle()
        victims = low_count - cluster.count_pods(low_run)

    drained = drain(replace(run, vary=preemptor(run.victims_each)), count_victims)
    if victims < run.pods * run.victims_each:
        raise BenchError(f"only {victims:,} pods were evicted for {run.pods:,}: nodes hold more than they have")
    return {
        _PREEMPTORS_PER_SECOND.key: run.pods / drained.seconds,
        _CPU.key: drained.cpu_seconds / run.pods * 1000,
        PEAK_MEMORY.key: drained.peak_memory_mib,
        _VICTIMS.key: victims,
        SECONDS.key: drained.seconds,
    }


PREEMPTION = Method((_PREEMPTORS_PER_SECOND, _CPU, PEAK_MEMORY, _VICTIMS, SECONDS), _measure, has_limit=False)

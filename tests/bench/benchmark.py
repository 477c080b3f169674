"""All runs of one benchmark, one after another on the same cluster."""

import itertools

from tests.bench.cluster import BenchCluster, say
from tests.bench.comparison import Row
from tests.bench.contestants import BARE_LOOP, KUBE_SCHEDULER, PODIUM
from tests.bench.options import Only, Options
from tests.bench.pods import KEPT, PodShape, bound_pods
from tests.bench.run import Run

_CONTESTANTS = {None: (KUBE_SCHEDULER, PODIUM), Only.PEER: (KUBE_SCHEDULER,), Only.PODIUM: (PODIUM,)}


def run_all(options: Options, cluster: BenchCluster, shape: PodShape) -> list[Row]:
    """Run the contestants in alternation, then the bare loop if wanted, and return what each run gave.

    The bare loop is of no pair and has the number 0. Raises BenchError when a run is worth nothing.
    """
    workload = options.workload
    if workload.bound_pods_per_node:
        count = workload.bound_pods_per_node * options.nodes
        cluster.create("bound pods", bound_pods(shape, KEPT, count, options.nodes, workload.vary_bound))
    runs = [*itertools.product(range(1, options.pairs + 1), _CONTESTANTS[options.only])]
    if options.with_limit:
        runs.append((0, BARE_LOOP))
    rows = []
    for number, (pair, contestant) in enumerate(runs):
        say(f"pair {pair} of {options.pairs}: {contestant.name}" if pair else contestant.name)
        # The bare loop decides nothing.
        check = None if contestant is BARE_LOOP else workload.check
        run = Run(
            f"run{number}",
            contestant,
            cluster,
            options.nodes,
            options.pods,
            shape,
            workload.vary,
            options.victims_each,
            check,
        )
        values = workload.method.measure(run)
        metrics = workload.method.metrics
        say("  " + ", ".join(f"{values[metric.key]:,.{metric.decimals}f} {metric.heading}" for metric in metrics))
        cluster.clear()
        rows.append(Row(pair, contestant.name, values))
    return rows

"""`python -m tests.bench`: Podium and kube-scheduler in alternation, in pairs, on one control plane.

Progress goes to stderr, the table to stdout, and all figures with the facts of the machine to `.bench/`.
"""

import signal
import sys
from collections.abc import Sequence

from tests.bench.benchmark import run_all
from tests.bench.cluster import BenchCluster, say
from tests.bench.comparison import table
from tests.bench.contestants import KUBE_SCHEDULER, PODIUM
from tests.bench.errors import BenchError
from tests.bench.machine import machine_facts
from tests.bench.options import read_options
from tests.bench.results import title, write
from tests.controlplane.build import BuildError, build_all
from tests.controlplane.client import ApiError
from tests.controlplane.component import ComponentError
from tests.controlplane.control_plane import ControlPlane

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
        with ControlPlane() as control_plane, BenchCluster(control_plane) as cluster:
            facts["kubernetes"] = cluster.kubernetes_version()
            cluster.prepare(options.nodes)
            shape = cluster.shape(options.pod_kb)
            pod_bytes = cluster.pod_size_bytes(shape)
            rows = run_all(options, cluster, shape)
    except (ApiError, BenchError, BuildError, ComponentError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(title(options, pod_bytes))
    print(table(options.workload.method.metrics, rows, KUBE_SCHEDULER.name, PODIUM.name))
    print(f"written to {write(options, pod_bytes, rows, facts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A backlog created beforehand is drained: how fast, at what cost; or how soon after a cold start."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.bench.comparison import Better, Metric
from tests.bench.constraints import Placement
from tests.bench.contestants import running
from tests.bench.observer import GATHERING_SECONDS, Observer
from tests.bench.process_usage import cpu_seconds, peak_memory_mib
from tests.bench.progress import Progress
from tests.bench.run import CPU_PER_POD, PEAK_MEMORY, Method, Run, follow

_PODS_PER_SECOND = Metric("pods_per_second", "pods/s", Better.HIGHER, 1)
SECONDS = Metric("seconds", "seconds", Better.LOWER, 2)
_LAST_BIND = Metric("last_bind_seconds", "s to last bind", Better.LOWER, 2)
_CPU = Metric("cpu_seconds", "CPU s", Better.LOWER, 2)


@dataclass
class Drained:
    """A run that is done; times are those of the monotonic clock."""

    progress: Progress
    started_seconds: float
    cpu_seconds_at_first_act: float
    cpu_seconds_at_end: float
    peak_memory_mib: float

    @property
    def seconds(self) -> float:
        """From the first visible act to the last bind and the last event, so that starting up does not count."""
        assert self.progress.first_act_seconds is not None
        return self.progress.end_seconds - self.progress.first_act_seconds

    @property
    def cpu_seconds(self) -> float:
        """Since the first visible act."""
        return self.cpu_seconds_at_end - self.cpu_seconds_at_first_act


def _measure_rate(run: Run) -> Mapping[str, float]:
    drained = drain(run)
    return {
        _PODS_PER_SECOND.key: run.pods / drained.seconds,
        CPU_PER_POD.key: drained.cpu_seconds / run.pods * 1000,
        PEAK_MEMORY.key: drained.peak_memory_mib,
        SECONDS.key: drained.seconds,
    }


def _measure_start(run: Run) -> Mapping[str, float]:
    """Time from the start of the process to the last bind."""
    drained = drain(run)
    return {
        _LAST_BIND.key: drained.progress.last_bind_seconds - drained.started_seconds,
        _CPU.key: drained.cpu_seconds_at_end,
        PEAK_MEMORY.key: drained.peak_memory_mib,
    }


def drain(run: Run, at_end: Callable[[], None] = lambda: None) -> Drained:
    """Create the pods of the run and let the contestant bind them; calls `at_end` before it is killed.

    Raises BenchError when the run is worth nothing.
    """
    cluster = run.cluster
    cluster.create("pending pods", run.manifests())
    cluster.settle()
    progress = Progress(run.pod_names())
    cpu_at_first_act = 0.0

    with Observer(cluster.assignment(GATHERING_SECONDS)) as observer:
        started_seconds = time.monotonic()
        with running(run.contestant, cluster, run.backlog) as component:

            def note_cpu() -> None:
                nonlocal cpu_at_first_act
                cpu_at_first_act = cpu_seconds(component.pid)

            follow(run, component, observer, progress, note_cpu)
            cpu_at_end, memory_mib = cpu_seconds(component.pid), peak_memory_mib(component.pid)
            at_end()
    cluster.confirm(run.pods)
    if run.check is not None:
        run.check(Placement(cluster.node_of_pods(run.name), run.nodes))
    return Drained(progress, started_seconds, cpu_at_first_act, cpu_at_end, memory_mib)


DRAIN = Method((_PODS_PER_SECOND, CPU_PER_POD, PEAK_MEMORY, SECONDS), _measure_rate, has_limit=True)
START_UP = Method((_LAST_BIND, _CPU, PEAK_MEMORY), _measure_start, has_limit=False)

"""Pods come at a steady rate and as many bound ones go: how long a pod waits from its creation to its binding.

created --bind seen--> bound --oldest of all, one for each pod created--> deleted
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import uvloop

from tests.bench.cluster import say
from tests.bench.comparison import Better, Metric, percentile
from tests.bench.contestants import running
from tests.bench.load_client import LoadClient, first_failure
from tests.bench.observer import Observer
from tests.bench.pods import NAMESPACE, bound_pods, pod_name
from tests.bench.process_usage import cpu_seconds, peak_memory_mib
from tests.bench.progress import Progress
from tests.bench.run import CPU_PER_POD, PEAK_MEMORY, Method, Run, follow
from tests.bench.sightings import Sight, Sighting
from tests.controlplane.resources import RESOURCES

PODS_PER_SECOND = 200
_P50 = Metric("p50_milliseconds", "p50 ms", Better.LOWER, 2)
_P99 = Metric("p99_milliseconds", "p99 ms", Better.LOWER, 2)
_RATE = Metric("created_per_second", "created/s", Better.HIGHER, 1)
# Ten seconds' worth, so that deletions can begin at once; on a small cluster what fits beside the others.
_OLD_PODS = 2000
_OLD_PODS_PER_NODE = 10
# Show that the scheduler is there, and are not counted: a process that starts up is the matter of another workload.
_FIRST_PODS = 100
_CONNECTIONS = 64
_SUFFICIENT = 0.95
"""Of the rate asked for; below, the machine is too slow or busy for this workload."""
_PODS_PATH = RESOURCES["pods"].path(NAMESPACE)
# A bind is seen when it happens: nothing gathers.
_GATHERING_SECONDS = 0.0


@dataclass
class _Arrivals:
    """The stream of pods, and what is known about each."""

    run: Run
    observer: Observer
    progress: Progress
    bound: deque[str]
    """Names of bound pods, the oldest first."""
    sent_seconds: dict[str, float] = field(default_factory=dict)
    """When each pod was to be created, by name: waiting for a free connection counts."""
    last_answer_seconds: float = 0.0
    """When the last creation so far was answered."""

    async def send_all(self) -> None:
        """Create all pods at the fixed rate, late ones at once, and delete a bound pod for each.

        Raises BenchError when the API server refuses one.
        """
        async with LoadClient(self.run.cluster.endpoint, _CONNECTIONS) as load:
            creations = [load.encode("POST", _PODS_PATH, manifest) for manifest in self.run.manifests()]
            names = self.run.pod_names()
            try:
                async with asyncio.TaskGroup() as group:
                    begin_seconds = time.monotonic()
                    for index, (name, creation) in enumerate(zip(names, creations, strict=True)):
                        due_seconds = begin_seconds + index / PODS_PER_SECOND
                        await asyncio.sleep(max(0.0, due_seconds - time.monotonic()))
                        group.create_task(self._create(load, name, creation))
                        self._take(self.observer.receive(0))
                        if self.bound:
                            group.create_task(load.send(_deletion(load, self.bound.popleft())))
            except ExceptionGroup as failures:
                raise first_failure(failures) from failures

    async def _create(self, load: LoadClient, name: str, creation: bytes) -> None:
        self.sent_seconds[name] = time.monotonic()
        await load.send(creation)
        self.last_answer_seconds = time.monotonic()

    def _take(self, sightings: Sequence[Sighting]) -> None:
        self.progress.add(sightings)
        self.bound.extend(name for sight, name, _ in sightings if sight is Sight.BOUND)

    def waits_milliseconds(self) -> list[float]:
        """From a pod's creation to seeing it bound, of all pods."""
        return [(seconds - self.sent_seconds[name]) * 1000 for name, seconds in self.progress.bound_seconds.items()]

    def rate(self) -> float:
        """Pods that the API server created a second: less than asked for when the machine is too slow or busy."""
        return len(self.sent_seconds) / (self.last_answer_seconds - min(self.sent_seconds.values()))


def _deletion(load: LoadClient, name: str) -> bytes:
    return load.encode("DELETE", f"{_PODS_PATH}/{name}", {"gracePeriodSeconds": 0})


def _measure(run: Run) -> Mapping[str, float]:
    first = replace(run, name=f"{run.name}-first", pods=_FIRST_PODS, vary=None)
    old_run, old_count = f"{run.name}-old", min(_OLD_PODS, _OLD_PODS_PER_NODE * run.nodes)
    cluster = run.cluster
    cluster.create("bound pods", bound_pods(run.shape, old_run, old_count, run.nodes))
    cluster.create("first pods", first.manifests())
    cluster.settle()
    with (
        Observer(cluster.assignment(_GATHERING_SECONDS)) as observer,
        running(run.contestant, cluster, run.backlog) as component,
    ):
        follow(first, component, observer, Progress(first.pod_names()))
        cpu_before = cpu_seconds(component.pid)
        bound = deque([*(pod_name(old_run, index) for index in range(old_count)), *first.pod_names()])
        arrivals = _Arrivals(run, observer, Progress(run.pod_names()), bound)
        uvloop.run(arrivals.send_all())
        follow(run, component, observer, arrivals.progress)
        cpu_after, memory_mib = cpu_seconds(component.pid), peak_memory_mib(component.pid)
    cluster.confirm(run.pods + first.pods)
    waits, rate = arrivals.waits_milliseconds(), arrivals.rate()
    if rate < PODS_PER_SECOND * _SUFFICIENT:
        say(f"  warning: the API server took only {rate:.0f} pods a second; the figures tell of its queue")
    return {
        _P50.key: percentile(waits, 50),
        _P99.key: percentile(waits, 99),
        CPU_PER_POD.key: (cpu_after - cpu_before) / run.pods * 1000,
        PEAK_MEMORY.key: memory_mib,
        _RATE.key: rate,
    }


ARRIVAL = Method((_P50, _P99, CPU_PER_POD, PEAK_MEMORY, _RATE), _measure, has_limit=False)

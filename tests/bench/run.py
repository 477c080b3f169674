"""One run of one contestant, and following it to its end."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.bench.cluster import BenchCluster
from tests.bench.comparison import Better, Metric
from tests.bench.constraints import Check
from tests.bench.contestants import Backlog, Contestant
from tests.bench.errors import BenchError
from tests.bench.observer import Observer
from tests.bench.pods import PodShape, Variation, pod_name, pods
from tests.bench.progress import Progress
from tests.controlplane.component import Component
from tests.controlplane.resources import Manifest

CPU_PER_POD = Metric("cpu_milliseconds_per_pod", "CPU ms/pod", Better.LOWER, 3)
PEAK_MEMORY = Metric("peak_memory_mib", "peak MiB", Better.LOWER, 0)
_STALL_SECONDS = 60.0
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Run:
    """What one run has to do; `name` is its own among all runs of a benchmark."""

    name: str
    contestant: Contestant
    cluster: BenchCluster
    nodes: int
    pods: int
    shape: PodShape
    vary: Variation | None
    victims_each: int
    """How many pods must be evicted for each; counts where nodes are full."""
    check: Check | None
    """Looks at where the pods are when all are bound."""

    @property
    def backlog(self) -> Backlog:
        """What the contestant is told."""
        return Backlog(self.name, self.pods, self.nodes)

    def pod_names(self) -> list[str]:
        """The names of the pods that are to be bound."""
        return [pod_name(self.name, index) for index in range(self.pods)]

    def manifests(self) -> Iterator[Manifest]:
        """The pods that are to be bound."""
        return pods(self.shape, self.name, self.pods, self.contestant.scheduler_name, self.vary)


@dataclass(frozen=True)
class Method:
    """A way to measure a run."""

    metrics: tuple[Metric, ...]
    measure: Callable[[Run], Mapping[str, float]]
    """Returns a value for each metric, by key, and leaves pods and events behind. Raises BenchError."""
    has_limit: bool
    """Whether a bare loop measured in the same way tells the API server's own limit."""


def follow(
    run: Run,
    component: Component,
    observer: Observer,
    progress: Progress,
    on_first_act: Callable[[], None] = lambda: None,
) -> None:
    """Take in what the observer sees until all is done; calls `on_first_act` as soon as there was one.

    Raises BenchError when the scheduler ends by itself or nothing happens for a minute.
    """
    news_seconds = time.monotonic()
    while not progress.is_complete:
        sightings = observer.receive(_POLL_SECONDS)
        if sightings:
            news_seconds = time.monotonic()
            has_acted = progress.first_act_seconds is not None
            progress.add(sightings)
            if not has_acted and progress.first_act_seconds is not None:
                on_first_act()
        elif not component.is_running:
            raise BenchError(f"{component.name} ended by itself; {progress}")
        elif time.monotonic() - news_seconds > _STALL_SECONDS:
            raise BenchError(
                f"{component.name}: nothing happened for {_STALL_SECONDS:g} s; {progress}\n"
                f"{run.cluster.pending_message(run.name)}"
            )

"""From a configuration and somebody to write, everything between the watch and the API server, wired together.

`podium run` puts informers before it and a client behind it, `podium simulate` files and a cluster in memory: what
happens to a pod in between is one path of code for both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

import structlog

from scheduler.config.loading import LoadedConfiguration
from scheduler.core.algorithm import CycleObserver
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.best_rows import Rng
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.status import PluginError
from scheduler.core.queue.scheduling_queue import SchedulingQueue
from scheduler.event_handlers import EventHandlers
from scheduler.frameworks import build_frameworks
from scheduler.preemption_executor import PreemptionExecutor, PreemptionWriter
from scheduler.schedule_one import PodReporter, Profiles, ScheduleOne
from scheduler.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts that their owner has to do with: it feeds `handlers`, pops `queue` and drives `schedule_one`."""

    cluster: ClusterState
    queue: SchedulingQueue
    handlers: EventHandlers
    profiles: Profiles
    schedule_one: ScheduleOne


def assemble(
    loaded: LoadedConfiguration,
    *,
    handle: Callable[[ClusterState], Handle],
    reporter: PodReporter,
    preemption: PreemptionWriter,
    metrics: Metrics,
    rng: Rng,
    spawn: Callable[[Coroutine[object, object, None]], None],
    on_active: Callable[[], None],
    clock: Callable[[], float],
    observer: CycleObserver | None = None,
) -> Assembly:
    """Build it all, with nothing in it yet.

    Args:
        loaded: the profiles and their plugins.
        handle: makes what plugins may reach, of the state that is made here.
        reporter: tells the cluster what became of a pod.
        preemption: carries the writes of a preemption out.
        metrics: told of everything.
        rng: decides between nodes that tie.
        spawn: starts a binding or preemption cycle.
        on_active: called when the queue has a pod again.
        clock: monotonic seconds.
        observer: told of each decision.
    """
    configuration = loaded.configuration
    cluster = ClusterState()
    snapshot = Snapshot(cluster)
    frameworks = build_frameworks(loaded, handle(cluster), metrics)
    profiles = Profiles(frameworks, snapshot, rng, metrics, observer)

    def report_fault(fault: PluginError) -> None:
        metrics.cycle_errors.labels().inc()
        log.error("plugin failed", error=str(fault), exc_info=fault)

    queue = SchedulingQueue(
        registered_events={name: framework.registered_events() for name, framework in frameworks.items()},
        pre_enqueue=lambda pod: profiles.framework(pod).pre_enqueue(pod),
        sort_key=next(iter(frameworks.values())).sort_key,
        record_incoming=metrics.pod_queued,
        report_fault=report_fault,
        on_active=on_active,
        hint_signatures={name: framework.hint_signatures() for name, framework in frameworks.items()},
        hint_recorder=metrics,
        initial_backoff_seconds=configuration.pod_initial_backoff_seconds,
        max_backoff_seconds=configuration.pod_max_backoff_seconds,
    )
    handlers = EventHandlers(cluster, queue, profiles.serves, clock, metrics.event_handled)
    executor = PreemptionExecutor(cluster.cache, cluster.nominator, preemption, metrics.preemption)
    schedule_one = ScheduleOne(
        cluster.cache, cluster.nominator, queue, profiles, reporter, executor, metrics, spawn, clock, observer
    )
    return Assembly(cluster, queue, handlers, profiles, schedule_one)

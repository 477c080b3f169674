"""Schedules the pending pods of a cluster as the running scheduler would, one after another, in no time.

::

    ClusterInput ──> event handlers ──> queue, cache ──> ScheduleOne ──> SimulatedApiServer
                          ^                                                    │
                          └───────────── what was written, as the watch shows it

It is the scheduler's own queue, cache, cycle and preemption: only the clock and both ends are others. Time stands still
but for a moment at each attempt, which keeps the order of those that failed; when nothing is left but pods that back
off, it jumps to the end of the next back-off. It is over when every pod that waits was tried since the last change.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from typing import Final

from scheduler.api.types import Pod
from scheduler.assembly import Assembly, assemble
from scheduler.config.loading import LoadedConfiguration
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.status import Code
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.queue.entry import Place
from scheduler.simulator.api_server import SimulatedApiServer
from scheduler.simulator.cluster_input import ClusterInput
from scheduler.simulator.observer import AttemptObserver
from scheduler.simulator.results import ForeignPod, Outcome, PodResult, Simulation
from scheduler.simulator.volumes import SimulatedVolumes
from scheduler.telemetry.metrics import Metrics

_ATTEMPT_SECONDS: Final = 1e-6
_FINISHED: Final = ("Succeeded", "Failed")
_ATTEMPTS_WITHOUT_CHANGE: Final = 2
"""A preemptor without victims is tried again though nothing has happened."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def simulate(cluster: ClusterInput, loaded: LoadedConfiguration, seed: int) -> Simulation:
    """What the scheduler would do with the cluster's pending pods.

    Args:
        cluster: as it is before.
        loaded: the profiles; pods of other schedulers are left alone.
        seed: decides where nodes tie.
    """
    return asyncio.run(_Run(cluster, loaded, seed).run())


class _Run:
    def __init__(self, cluster: ClusterInput, loaded: LoadedConfiguration, seed: int) -> None:
        self._cluster = cluster
        self._now_seconds = 0.0
        self._cycles: list[Coroutine[object, object, None]] = []
        self._results: dict[str, PodResult] = {}
        self._tried_at: dict[str, tuple[int, int]] = {}
        self._server = SimulatedApiServer(self._results)
        self._observer = AttemptObserver(self._results)
        self._volumes = SimulatedVolumes()
        self._core = self._assemble(loaded, seed)
        self._server.connect(self._core.handlers)
        self._volumes.connect(self._core.cluster, self._core.handlers)

    def _assemble(self, loaded: LoadedConfiguration, seed: int) -> Assembly:
        return assemble(
            loaded,
            handle=lambda state: Handle(state, self._server, self._volumes),
            reporter=self._server,
            preemption=self._server,
            metrics=Metrics(self._clock),
            rng=random.Random(seed),  # noqa: S311 - ties, not secrets
            spawn=self._cycles.append,
            on_active=lambda: None,
            clock=self._clock,
            observer=self._observer,
        )

    def _clock(self) -> float:
        return self._now_seconds

    async def run(self) -> Simulation:
        foreign_pods = self._fill()
        while (queued := self._next()) is not None:
            self._core.schedule_one.schedule_one(queued)
            terminating = self._observer.terminating
            while self._cycles:
                await self._cycles.pop(0)
            for victim in terminating:
                self._server.finish_termination(victim)
            self._now_seconds += _ATTEMPT_SECONDS
        self._note_gated()
        return Simulation(
            self._in_order(), self._server.evictions, foreign_pods, self._cluster.warnings, len(self._cluster.nodes)
        )

    def _fill(self) -> list[ForeignPod]:
        """Let the scheduler see the cluster: nodes, other objects, pods that are placed, and then those that wait."""
        handlers, serves = self._core.handlers, self._core.profiles.serves
        for node in self._cluster.nodes:
            handlers.node_added(node)
        for obj in self._cluster.objects:
            handlers.object_added(obj)
        live = [pod for pod in self._cluster.pods if pod.status.phase not in _FINISHED]
        self._server.create(pod for pod in live if pod.spec.node_name)
        waiting = sorted((pod for pod in live if not pod.spec.node_name), key=_created)
        ours = [pod for pod in waiting if serves(pod.spec.scheduler_name or "")]
        for pod in ours:
            self._results[pod.metadata.uid] = PodResult(
                pod.metadata.namespace,
                pod.metadata.name,
                pod.spec.scheduler_name or "",
                pod.spec.priority or 0,
                nominated_node=pod.status.nominated_node_name or "",
            )
        self._server.create(ours)
        others = (pod for pod in waiting if pod.metadata.uid not in self._results)
        return [
            ForeignPod(f"{pod.metadata.namespace}/{pod.metadata.name}", pod.spec.scheduler_name or "") for pod in others
        ]

    def _next(self) -> QueuedPodInfo | None:
        """The pod whose turn it is; None when nothing can come of another attempt."""
        queue = self._core.queue
        while True:
            queued = queue.pop()
            if queued is None:
                completion = queue.next_backoff_completion()
                if completion is None:
                    return None
                self._now_seconds = max(self._now_seconds, completion)
                queue.flush_backoff_completed(self._now_seconds)
            elif self._may_help(queued):
                return queued
            else:
                queue.done(queued)

    def _may_help(self, queued: QueuedPodInfo) -> bool:
        """Whether an attempt may come to something else than the pod's last one."""
        if queued.pod_info.pod.metadata.deletion_timestamp is not None:
            self._results[queued.uid].outcome = Outcome.SKIPPED
        changes = self._server.changes
        at, attempts = self._tried_at.get(queued.uid, (-1, 0))
        attempts = attempts + 1 if at == changes else 1
        self._tried_at[queued.uid] = (changes, attempts)
        return attempts <= _ATTEMPTS_WITHOUT_CHANGE

    def _note_gated(self) -> None:
        for queued in self._core.queue.snapshot()[Place.GATED]:
            result, pod = self._results[queued.uid], queued.pod_info
            status = self._core.profiles.framework(pod).pre_enqueue(pod)
            result.outcome = Outcome.GATED
            result.message = "" if status is None or status.code is Code.SUCCESS else status.message

    def _in_order(self) -> Sequence[PodResult]:
        """Placed pods in the order of their placement, then the others as they came."""
        placed = [self._results[uid] for uid in self._server.placed]
        done = set(self._server.placed)
        return [*placed, *(result for uid, result in self._results.items() if uid not in done)]


def _created(pod: Pod) -> datetime:
    """Pods are seen as they are created; those that aren't yet come last, in the order of the input."""
    return pod.metadata.creation_timestamp or _LAST

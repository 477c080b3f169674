"""Everything between the watch and the API server, with both ends and the clock in the test's hands."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import ClassVar

import msgspec

from scheduler.api.types import Node, Pod, PodCondition
from scheduler.config.loading import load_configuration
from scheduler.config.resolution import ProfilePlugins
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import (
    Binder,
    Handle,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import PluginError, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.registry import IN_TREE
from scheduler.core.plugins.unsupported_features import UnsupportedFeatures
from scheduler.core.queue.entry import Place
from scheduler.core.queue.scheduling_queue import SchedulingQueue
from scheduler.event_handlers import EventHandlers
from scheduler.preemption_executor import PreemptionExecutor, PreemptionWriter
from scheduler.schedule_one import Profiles, ScheduleOne
from scheduler.telemetry.metrics import Metrics
from scheduler.testing import FakeClock
from tests.unit.core.framework.profiles import NoApiServer

Answer = Status | Exception | None


class Scripted(PreEnqueuePlugin, PreFilterPlugin, ReservePlugin, PreBindPlugin, PostBindPlugin):
    """Accepts everything, except at the points for which the test has put an answer into `answers`."""

    name: ClassVar[str] = "Scripted"

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.calls: list[tuple[str, str]] = []

    def _answer(self, point: str, pod: PodInfo) -> Status | None:
        self.calls.append((point, pod.name))
        answer = self.answers.get(point)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return self._answer("PreEnqueue", pod)

    def pre_filter(self, state: CycleState, pod: PodInfo, snapshot: Snapshot) -> Status | None:
        return self._answer("PreFilter", pod)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._answer("Reserve", pod)

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._answer("Unreserve", pod)

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return self._answer("PreBind", pod)

    async def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self._answer("PostBind", pod)


class ApiServer(Binder):
    """Plays the API server's part in a binding; while `gate` is closed no answer comes."""

    def __init__(self) -> None:
        self.answer: Answer = None
        self.asked: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.asked.append((pod.name, node_name))
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass(frozen=True)
class Report:
    """What the cluster was told about a pod."""

    what: str
    pod: PodInfo
    text: str


class Reports:
    """Keeps what `ScheduleOne` reports."""

    def __init__(self) -> None:
        self.all: list[Report] = []
        self.conditions: list[PodCondition] = []
        self.cleared: list[str] = []

    def scheduled(self, pod: PodInfo, node_name: str) -> None:
        self.all.append(Report("scheduled", pod, node_name))

    def failed(self, pod: PodInfo, message: str) -> None:
        self.all.append(Report("failed", pod, message))

    def set_condition(self, pod: PodInfo, condition: PodCondition, *, clear_nomination: bool = False) -> None:
        self.conditions.append(condition)
        if clear_nomination:
            self.cleared.append(pod.name)

    def told(self) -> list[tuple[str, str, str]]:
        """What, pod name and text of each report."""
        return [(report.what, report.pod.name, report.text) for report in self.all]


class Evictions(PreemptionWriter):
    """Plays the API server's part in a preemption.

    Attributes:
        pods: what it answers when a pod is read, by name; other pods are as the scheduler knows them.
        faults: raised by the write of this name (`read`, `nominate`, `evict`) about the pod of this name.
        gone: names of pods that the API server does not have any more when they are nominated.
        done: the writes and their pods, in order.
        conditions: of the preemptors, by name.
        nominated: the preemptors as they were then, by name.
        leaves_nothing: whether victims are gone as soon as they are deleted.
    """

    def __init__(self) -> None:
        self.pods: dict[str, Pod | None] = {}
        self.faults: dict[tuple[str, str], Exception] = {}
        self.gone: set[str] = set()
        self.done: list[tuple[str, str]] = []
        self.conditions: dict[str, PodCondition] = {}
        self.nominated: dict[str, PodInfo] = {}
        self.leaves_nothing = False
        self.before_evict: Callable[[PodInfo], None] = lambda victim: None

    async def read(self, pod: PodInfo) -> Pod | None:
        self._note("read", pod)
        return self.pods.get(pod.name, pod.pod)

    async def nominate(self, pod: PodInfo, node_name: str, condition: PodCondition) -> bool:
        self._note("nominate", pod)
        self.conditions[pod.name], self.nominated[pod.name] = condition, pod
        return pod.name not in self.gone

    def clear_nomination(self, pod: PodInfo) -> None:
        self._note("clear", pod)

    async def evict(self, victim: PodInfo, preemptor: PodInfo, node_name: str) -> Pod | None:
        self.before_evict(victim)
        self._note("evict", victim)
        if self.leaves_nothing:
            return None
        metadata = msgspec.structs.replace(victim.pod.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
        evicted = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler")
        status = msgspec.structs.replace(victim.pod.status, conditions=(evicted,))
        return msgspec.structs.replace(victim.pod, metadata=metadata, status=status)

    def _note(self, what: str, pod: PodInfo) -> None:
        fault = self.faults.get((what, pod.name))
        if fault is not None:
            raise fault
        self.done.append((what, pod.name))


@cache
def _default_plugins() -> ProfilePlugins:
    """The default profile, with `Scripted` wherever it can be asked."""
    (plugins,) = load_configuration(None).plugins.values()
    points = ("pre_enqueue", "pre_filter", "reserve", "pre_bind", "post_bind")
    return msgspec.structs.replace(plugins, **{point: (*getattr(plugins, point), Scripted.name) for point in points})


class Shell:
    """Queue, cache, the default profile with `scripted` in it, event handlers and scheduling cycle.

    Binding and preemption cycles are collected in `binding`, unless `spawn` is replaced before the first pod;
    `on_active` is what the queue calls when it has a pod again.
    """

    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        self.metrics = Metrics(self.clock.now)
        self.scripted = Scripted()
        self.binder = ApiServer()
        self.reports = Reports()
        self.faults: list[PluginError] = []
        self.binding: list[Coroutine[object, object, None]] = []
        self.spawn: Callable[[Coroutine[object, object, None]], None] = self.binding.append
        self.on_active: Callable[[], None] = lambda: None
        self.handled: list[str] = []
        self.cluster, self.evictions = ClusterState(), Evictions()
        self.cache, self.nominator = self.cluster.cache, self.cluster.nominator
        framework = Framework(
            "podium",
            _default_plugins(),
            {},
            {**IN_TREE, Scripted.name: lambda args, handle: self.scripted},
            Handle(self.cluster, self.binder, NoApiServer()),
            self.metrics,
            required=(UnsupportedFeatures(),),
        )
        snapshot = Snapshot(self.cluster)
        self.profiles = Profiles({"podium": framework}, snapshot, random.Random(1), self.metrics)
        self.queue = SchedulingQueue(
            registered_events={"podium": framework.registered_events()},
            pre_enqueue=framework.pre_enqueue,
            sort_key=framework.sort_key,
            record_incoming=self.metrics.pod_queued,
            report_fault=self.faults.append,
            on_active=lambda: self.on_active(),
            hint_signatures={"podium": framework.hint_signatures()},
            hint_recorder=self.metrics,
        )
        self.handlers = EventHandlers(
            self.cluster,
            self.queue,
            self.profiles.serves,
            self.clock.now,
            lambda label, seconds: self.handled.append(label),
        )
        self.schedule_one = ScheduleOne(
            self.cache,
            self.nominator,
            self.queue,
            self.profiles,
            self.reports,
            PreemptionExecutor(self.cache, self.nominator, self.evictions, self.metrics.preemption),
            self.metrics,
            lambda binding_cycle: self.spawn(binding_cycle),
            self.clock.now,
        )

    def see(self, *objects: Pod | Node) -> None:
        """Let the watch show new objects."""
        for seen in objects:
            if isinstance(seen, Node):
                self.handlers.node_added(seen)
            else:
                self.handlers.pod_added(seen)

    def decide_next(self) -> None:
        """One scheduling cycle, for the pod whose turn it is."""
        queued = self.queue.pop()
        assert queued is not None
        self.schedule_one.schedule_one(queued)

    def end_backoff(self) -> None:
        """Let so much time pass that every back-off is over."""
        self.clock.advance(20.0)
        self.queue.flush_backoff_completed(self.clock.now())

    async def finish_binding(self) -> None:
        """Run the binding and preemption cycles collected so far."""
        started, self.binding[:] = list(self.binding), []
        for cycle in started:
            await cycle

    def start_binding(self) -> asyncio.Task[None]:
        """Start the only binding cycle collected, as a task."""
        (cycle,) = self.binding
        self.binding.clear()

        async def run() -> None:
            await cycle

        return asyncio.get_running_loop().create_task(run())

    def place_of(self, name: str) -> Place | None:
        """Where in the queue the pod is."""
        for place, waiting in self.queue.snapshot().items():
            if any(queued.pod_info.name == name for queued in waiting):
                return place
        return None

    def attempts(self, result: str) -> float:
        """Value of schedule_attempts_total."""
        labels = {"result": result, "profile": "podium"}
        return self.metrics.registry.get_sample_value("scheduler_schedule_attempts_total", labels) or 0.0

    def counted(self, name: str) -> float:
        """Value of a metric without labels."""
        return self.metrics.registry.get_sample_value(name) or 0.0

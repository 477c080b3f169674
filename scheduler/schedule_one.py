"""One pod's way from the queue to its node: scheduling cycle, binding cycle, and what happens when either fails.

::

    queue.pop -> 1 skip? -> 2 decide -> 3 assume -> 4 reserve -> [ 5 pre-bind -> 6 bind ] -> 7 done, Scheduled event
                               |            |           |               |
                               |            +-----------+---------------+--> unreserve, forget --+
                               |                                                                 v
                               +-- fits nowhere -> 8 post-filter ---- no room to be made ---->  9 requeue,
                                                        |                                        condition, event
                                                        +-- [ nominate, evict the victims ] ----^

Steps 1 to 4 and 8 are the serial part: one pod at a time, without waiting. The brackets are the binding cycle and the
preemption cycle, tasks of their own. A preemptor stays in flight until its victims' deletes are out, so that what
happens meanwhile counts when it is requeued.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Protocol

import structlog

from scheduler.api.types import PodCondition
from scheduler.core.algorithm import CycleObserver, Decision, ScheduleAlgorithm, finished
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.nominator import Nominator
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.best_rows import Rng
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.diagnosis import rejected_on_one_node
from scheduler.core.framework.events import ASSIGNED_POD_DELETE, ASSIGNED_POD_UPDATE
from scheduler.core.framework.node_sampling import NodeSampling
from scheduler.core.framework.requests import PreemptionPlan
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.queue.scheduling_queue import SchedulingQueue
from scheduler.preemption_executor import PreemptionExecutor
from scheduler.telemetry.logging import verbosity
from scheduler.telemetry.metrics import AttemptResult, Metrics

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

_EACH_POD = 2
"""Verbosity from which on the log tells what became of each pod."""
_MEASURED_CYCLES = 10
"""Plugins are timed one by one in one of so many cycles."""


class PodReporter(Protocol):
    """Tells the cluster what became of a pod; implemented by the client. Returns at once, writes later."""

    def scheduled(self, pod: PodInfo, node_name: str) -> None:
        """Event Scheduled."""

    def failed(self, pod: PodInfo, message: str) -> None:
        """Event FailedScheduling."""

    def set_condition(self, pod: PodInfo, condition: PodCondition, *, clear_nomination: bool = False) -> None:
        """Patch the pod's PodScheduled condition unless it says the same already, and end its nomination if asked."""


class Profiles:
    """The profiles in use: one reference, swapped between two cycles.

    A cycle takes its profile once, so a swap never shows in the middle of one.
    """

    def __init__(
        self,
        frameworks: dict[str, Framework],
        snapshot: Snapshot,
        rng: Rng,
        metrics: Metrics,
        observer: CycleObserver | None = None,
    ) -> None:
        sampling = NodeSampling()
        self._algorithms = {
            name: ScheduleAlgorithm(snapshot, framework, rng, metrics, sampling, observer)
            for name, framework in frameworks.items()
        }
        self._frameworks = frameworks

    def serves(self, scheduler_name: str) -> bool:
        """Whether a profile has this schedulerName."""
        return scheduler_name in self._frameworks

    def names(self) -> tuple[str, ...]:
        """All schedulerNames."""
        return tuple(self._frameworks)

    def framework(self, pod: PodInfo) -> Framework:
        """The plugins that serve the pod.

        Raises:
            KeyError: no profile has its schedulerName.
        """
        return self._frameworks[pod.pod.spec.scheduler_name or ""]

    def algorithm(self, scheduler_name: str) -> ScheduleAlgorithm:
        """The algorithm of a profile."""
        return self._algorithms[scheduler_name]

    def plugin_evaluations(self) -> dict[tuple[str, str, str], int]:
        """How often each plugin was asked, by plugin, extension point and schedulerName."""
        return {
            (plugin, extension_point, name): count
            for name, framework in self._frameworks.items()
            for (plugin, extension_point), count in framework.plugin_evaluations().items()
        }


class ScheduleOne:
    """Takes pods through their cycles. One per process, on the scheduling loop.

    Args:
        spawn: starts a binding cycle as a task of its own.
        clock: monotonic seconds.
        observer: told of each decision.

    Attributes:
        binding: pods in their binding cycle at this moment.
    """

    def __init__(
        self,
        cache: Cache,
        nominator: Nominator,
        queue: SchedulingQueue,
        profiles: Profiles,
        reporter: PodReporter,
        preemption: PreemptionExecutor,
        metrics: Metrics,
        spawn: Callable[[Coroutine[object, object, None]], None],
        clock: Callable[[], float],
        observer: CycleObserver | None = None,
    ) -> None:
        self.profiles = profiles
        self.binding = 0
        self._observer = observer
        self._cache = cache
        self._nominator = nominator
        self._queue = queue
        self._reporter = reporter
        self._preemption = preemption
        self._metrics = metrics
        self._spawn = spawn
        self._clock = clock
        self._cycles = 0
        self._log = structlog.get_logger(__name__)

    # --- scheduling cycle

    def schedule_one(self, queued: QueuedPodInfo) -> None:
        """Steps 1 to 4, or 8, for a pod just popped, and the start of its binding or preemption cycle.

        Never raises: a fault is counted, logged with the pod, and the pod is retried.
        """
        started = self._clock()
        # 1. Skip a pod that needs no attempt.
        if self._skip(queued):
            return
        pod = queued.pod_info
        framework = self.profiles.framework(pod)
        self._cycles += 1
        state = CycleState(record_plugin_metrics=self._cycles % _MEASURED_CYCLES == 0)
        held = self._nominator.node_of(pod.uid)
        try:
            # 2. Decide.
            decision = finished(self._algorithm(pod).schedule(state, pod))
            plan = None
            if decision.node_name is None:
                # 8. PostFilter.
                plan = next(self._algorithm(pod).preempt(state, decision), None)
        except Exception as fault:  # noqa: BLE001 - a plugin may raise anything; the pod must not be lost for it
            self._fail_with_error(queued, fault, started)
            return
        if self._observer is not None:
            self._observer.decided(decision, plan)
        self._metrics.algorithm(self._clock() - started)
        if decision.node_name is None:
            self._tell_of_free_room(pod, held, self._nominator.node_of(pod.uid))
            self._fail_unschedulable(queued, decision, plan, started)
            return
        try:
            # 3. Assume.
            self._nominator.remove(pod.uid)
            self._cache.assume_pod(pod, decision.node_name)
            self._tell_of_free_room(pod, held, decision.node_name)
            # 4. Reserve.
            status = framework.reserve(state, pod, decision.node_name)
        except Exception as fault:  # noqa: BLE001 - as above
            self._take_back(framework, state, pod, decision.node_name)
            self._fail_with_error(queued, fault, started)
            return
        if status is not None:
            self._take_back(framework, state, pod, decision.node_name, rejected=status.code.rejected)
            self._fail_with_status(queued, status, started)
            return
        self._spawn(self._binding_cycle(framework, state, queued, decision.node_name, started))

    def _skip(self, queued: QueuedPodInfo) -> bool:
        pod = queued.pod_info
        if pod.pod.metadata.deletion_timestamp is not None:
            self._reporter.failed(pod, f"skip schedule deleting pod: {pod.key}")
        elif not self._cache.is_assumed(pod.uid):
            return False
        self._queue.done(queued)
        return True

    def _algorithm(self, pod: PodInfo) -> ScheduleAlgorithm:
        return self.profiles.algorithm(pod.pod.spec.scheduler_name or "")

    def _tell_of_free_room(self, pod: PodInfo, held: str | None, wanted: str | None) -> None:
        """The pod in flight held room on one node and takes or holds it on another now, or on none."""
        if held is not None and held != wanted:
            self._room_is_free(pod, held, except_uid=pod.uid)

    def _room_is_free(self, pod: PodInfo, node_name: str, *, except_uid: str) -> None:
        """The room that was held for a nominated pod is held no more: others may have it, but for whose doing it is."""
        left = pod.nominated_to(node_name)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, left, None, self._clock(), except_uid=except_uid)

    # --- binding cycle

    async def _binding_cycle(
        self, framework: Framework, state: CycleState, queued: QueuedPodInfo, node_name: str, started: float
    ) -> None:
        """Steps 5 to 7; a task of its own, so other pods are scheduled meanwhile."""
        self.binding += 1
        try:
            await self._bind(framework, state, queued, node_name, started)
        finally:
            self.binding -= 1

    async def _bind(
        self, framework: Framework, state: CycleState, queued: QueuedPodInfo, node_name: str, started: float
    ) -> None:
        pod = queued.pod_info
        try:
            # 5. PreBind, 6. Bind.
            status = (
                await framework.pre_bind(state, pod, node_name)
                or self._missing(node_name)
                or await framework.bind(state, pod, node_name)
            )
        except Exception as fault:  # noqa: BLE001 - as in the scheduling cycle
            self._take_back(framework, state, pod, node_name)
            self._fail_with_error(queued, fault, started)
            return
        if status is not None:
            self._take_back(framework, state, pod, node_name, rejected=status.code.rejected)
            self._fail_with_status(queued, status, started)
            return
        # 7. Done. The watch confirms the assumption on its own.
        self._queue.done(queued)
        self._record_scheduled(queued, framework.profile_name, started)
        self._reporter.scheduled(pod, node_name)
        if verbosity.level >= _EACH_POD:
            self._log.info("Successfully bound pod to node", pod=pod.key, node=node_name)
        try:
            await framework.post_bind(state, pod, node_name)
        except Exception:  # noqa: BLE001 - as above; the pod is bound all the same
            self._log.exception("post-bind failed", pod=pod.key, node=node_name)

    def _missing(self, node_name: str) -> Status | None:
        """An error if the node is gone since it was chosen: the API server binds to nodes that do not exist."""
        info = self._cache.node_info(node_name)
        if info is None or info.node is None:
            return Status.of(Code.ERROR, f'node "{node_name}" not found')
        return None

    def _take_back(
        self, framework: Framework, state: CycleState, pod: PodInfo, node_name: str, *, rejected: bool = False
    ) -> None:
        """Give up the placement; others may have its room. A rejected pod is not woken by that: it was its own."""
        try:
            framework.unreserve(state, pod, node_name)
        except Exception:  # noqa: BLE001 - as above; what the cache holds must be freed all the same
            self._log.exception("unreserve failed", pod=pod.key, node=node_name)
        self._cache.forget_pod(pod.uid)
        nominated = pod.pod.status.nominated_node_name
        if nominated and pod.uid in self._queue:
            self._nominator.add(pod, nominated)
        # It was never there, it only held room there.
        self._room_is_free(pod, node_name, except_uid=pod.uid if rejected else "")

    # --- 9. failure

    def _fail_unschedulable(
        self, queued: QueuedPodInfo, decision: Decision, plan: PreemptionPlan | None, started: float
    ) -> None:
        """The pod fits nowhere: it waits for what may help, after its preemption if there is one."""
        diagnosis = decision.diagnosis
        assert diagnosis is not None
        queued.unschedulable_plugins = diagnosis.unschedulable_plugins
        queued.pending_plugins = diagnosis.pending_plugins
        self._record_failed(queued, AttemptResult.UNSCHEDULABLE, started)
        if plan is None:
            self._requeue(queued, UNSCHEDULABLE, diagnosis.message(), clear_nomination=decision.clears_nomination)
            return
        self._queue.activate((other.uid for other in plan.withdrawn), self._clock())
        for other in plan.withdrawn:
            self._room_is_free(other, plan.node_name, except_uid=queued.uid)
        self._spawn(self._preemption_cycle(queued, plan, diagnosis.message()))

    async def _preemption_cycle(self, queued: QueuedPodInfo, plan: PreemptionPlan, message: str) -> None:
        """The plan is carried out while other pods are scheduled; a task of its own."""
        try:
            if not await self._preemption.carry_out(plan, _pod_scheduled_false(UNSCHEDULABLE, message)):
                self._room_is_free(queued.pod_info, plan.node_name, except_uid=queued.uid)
        except Exception as fault:  # noqa: BLE001 - whatever it is, what was done stays, and the next attempt completes it
            self._metrics.cycle_errors.labels().inc()
            self._log.error("preemption failed", pod=queued.pod_info.key, node=plan.node_name, exc_info=fault)
            # Without a plugin to blame it backs off instead of waiting for an event.
            queued.unschedulable_plugins = queued.pending_plugins = frozenset()
        self._tell_of_evictions(plan)
        if not plan.victims:
            # No event will tell that there is room: it backs off instead of waiting for one.
            self._queue.activate((queued.uid,), self._clock())
        self._requeue(queued, UNSCHEDULABLE, message)

    def _tell_of_evictions(self, plan: PreemptionPlan) -> None:
        """Pods that are on their way out do not count everywhere any more.

        The cache knows of them since the deletes were answered, so the watch will have no news of that.
        """
        for victim in plan.victims:
            state = self._cache.pod_state(victim.uid)
            if state is not None and state.pod.pod.metadata.deletion_timestamp is not None:
                self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_UPDATE, victim, state.pod, self._clock())

    def _fail_with_status(self, queued: QueuedPodInfo, status: Status, started: float) -> None:
        """A plugin turned the pod away after a node was chosen: a rejection counts for that node alone."""
        if not status.code.rejected:
            self._fail(queued, SCHEDULER_ERROR, status.message, AttemptResult.ERROR, started)
            return
        queued.unschedulable_plugins = frozenset({status.plugin})
        message = rejected_on_one_node(status)
        self._fail(queued, UNSCHEDULABLE, message, AttemptResult.UNSCHEDULABLE, started)

    def _fail_with_error(self, queued: QueuedPodInfo, fault: Exception, started: float) -> None:
        self._metrics.cycle_errors.labels().inc()
        self._log.error("scheduling failed", pod=queued.pod_info.key, exc_info=fault)
        self._fail(queued, SCHEDULER_ERROR, str(fault) or type(fault).__name__, AttemptResult.ERROR, started)

    def _fail(self, queued: QueuedPodInfo, reason: str, message: str, result: AttemptResult, started: float) -> None:
        self._record_failed(queued, result, started)
        self._requeue(queued, reason, message)

    def _requeue(self, queued: QueuedPodInfo, reason: str, message: str, *, clear_nomination: bool = False) -> None:
        """Requeue the pod and tell the cluster, unless it was deleted or bound meanwhile."""
        if self._queue.add_unschedulable_if_not_present(queued, self._clock()) is None:
            return
        newest = queued.pod_info
        if verbosity.level >= _EACH_POD:
            self._log.info("Unable to schedule pod", pod=newest.key, reason=reason, message=message)
        self._reporter.failed(newest, message)
        self._reporter.set_condition(newest, _pod_scheduled_false(reason, message), clear_nomination=clear_nomination)

    def _record_failed(self, queued: QueuedPodInfo, result: AttemptResult, started: float) -> None:
        self._metrics.attempt(queued.pod_info.pod.spec.scheduler_name or "", result, self._clock() - started)

    def _record_scheduled(self, queued: QueuedPodInfo, profile: str, started: float) -> None:
        now = self._clock()
        self._metrics.attempt(profile, AttemptResult.SCHEDULED, now - started)
        first = queued.initial_attempt_timestamp
        self._metrics.pod_scheduled(queued.attempts, now - (first if first is not None else started))


def _pod_scheduled_false(reason: str, message: str) -> PodCondition:
    return PodCondition(type="PodScheduled", status="False", reason=reason, message=message)

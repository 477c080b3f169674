"""The API server's part in a simulation: what the scheduler writes takes effect at once, and the watch shows it.

Nothing fails here, nobody else writes, and nothing takes time: a victim is gone as soon as it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.api.types import Pod, PodCondition
from scheduler.core.framework.interface import Binder
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.event_handlers import EventHandlers
from scheduler.simulator.results import Eviction, Outcome, PodResult


class SimulatedApiServer(Binder):
    """Holds the pods; the plugins' binder, the reporter of `ScheduleOne` and the writer of preemptions.

    Attributes:
        changes: how often something happened that others may notice; a simulation ends when nothing does any more.
        evictions: who fell, in order.
        placed: UIDs of the pods that were bound, in order.
    """

    def __init__(self, results: dict[str, PodResult]) -> None:
        self.changes = 0
        self.evictions: list[Eviction] = []
        self.placed: list[str] = []
        self._results = results
        self._pods: dict[str, Pod] = {}
        self._handlers: EventHandlers | None = None

    def connect(self, handlers: EventHandlers) -> None:
        """Who is told of changes from now on."""
        self._handlers = handlers

    def create(self, pods: Iterable[Pod]) -> None:
        """Pods appear, one after another."""
        for pod in pods:
            self._pods[pod.metadata.uid] = pod
            self._watch.pod_added(pod)

    @property
    def _watch(self) -> EventHandlers:
        assert self._handlers is not None
        return self._handlers

    def _update(self, new: Pod) -> None:
        self.changes += 1
        old, self._pods[new.metadata.uid] = self._pods[new.metadata.uid], new
        self._watch.pod_updated(old, new)

    def _delete(self, uid: str) -> None:
        self.changes += 1
        self._watch.pod_deleted(self._pods.pop(uid))

    # --- binding

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """The pod is on the node."""
        stored = self._pods[pod.uid]
        self._update(replace(stored, spec=replace(stored.spec, node_name=node_name)))
        return None

    # --- reports

    def scheduled(self, pod: PodInfo, node_name: str) -> None:
        """The pod was placed."""
        result = self._results[pod.uid]
        result.outcome, result.node_name = Outcome.PLACED, node_name
        self.placed.append(pod.uid)

    def failed(self, pod: PodInfo, message: str) -> None:
        """The attempt came to nothing."""
        self._results[pod.uid].message = message

    def set_condition(self, pod: PodInfo, condition: PodCondition, *, clear_nomination: bool = False) -> None:
        """The reason tells a fault from a pod that fits nowhere."""
        self._results[pod.uid].outcome = Outcome(condition.reason)
        if clear_nomination:
            self.clear_nomination(pod)

    # --- preemption

    async def read(self, pod: PodInfo) -> Pod | None:
        """The pod as it is now."""
        return self._pods.get(pod.uid)

    async def nominate(self, pod: PodInfo, node_name: str, condition: PodCondition) -> bool:
        """The pod's status says where room is made for it."""
        self._nominate(pod.uid, node_name)
        return True

    def clear_nomination(self, pod: PodInfo) -> None:
        """The pod's status says so no more."""
        self._nominate(pod.uid, None)

    def _nominate(self, uid: str, node_name: str | None) -> None:
        pod = self._pods.get(uid)
        if pod is None or pod.status.nominated_node_name == node_name:
            return
        self._results[uid].nominated_node = node_name or ""
        self._update(replace(pod, status=replace(pod.status, nominated_node_name=node_name)))

    async def evict(self, victim: PodInfo, preemptor: PodInfo, node_name: str) -> Pod | None:
        """The victim is gone."""
        self.evictions.append(Eviction(victim.key, node_name, preemptor.key, victim.priority))
        self._results[preemptor.uid].evicted.append(victim.key)
        fallen = self._results.get(victim.uid)
        if fallen is not None:
            fallen.outcome, fallen.message = Outcome.EVICTED, f"evicted for {preemptor.key}"
        self._delete(victim.uid)
        return None

    def finish_termination(self, victim: PodInfo) -> None:
        """A victim that was on its way out before anybody asked for its room is gone, too."""
        if victim.uid in self._pods:
            self._delete(victim.uid)

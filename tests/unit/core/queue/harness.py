"""A queue with everything around it in the test's hands: time, PreEnqueue, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from scheduler.api.types import Container, ObjectMeta, Pod, PodSchedulingGate, PodSpec, ResourceRequirements, Toleration
from scheduler.core.framework.events import (
    Action,
    ClusterEvent,
    EventResource,
    HintResult,
    HintSignature,
    RegisteredEvent,
)
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.queue.entry import Place
from scheduler.core.queue.scheduling_queue import SchedulingQueue

PROFILE = "podium"
FIT = "NodeResourcesFit"
TAINTS = "TaintToleration"
GATES = "SchedulingGates"
HOLDER = "Holder"

NODE_ADD = ClusterEvent(EventResource.NODE, Action.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_TAINT)
NODE_LABEL = ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
OWN_TOLERATION = ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_TOLERATION)
OWN_GATES = ClusterEvent(EventResource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)

REGISTERED: Mapping[str, Mapping[str, Sequence[RegisteredEvent]]] = {
    PROFILE: {
        FIT: (RegisteredEvent(NODE_ADD), RegisteredEvent(POD_DELETE)),
        TAINTS: (RegisteredEvent(NODE_ADD), RegisteredEvent(NODE_TAINT), RegisteredEvent(OWN_TOLERATION)),
        GATES: (RegisteredEvent(OWN_GATES),),
        HOLDER: (RegisteredEvent(POD_DELETE),),
    }
}


@cache
def _containers(cpu: str | None) -> tuple[Container, ...]:
    """One container, shared by all pods that ask the same, as the decoder shares them."""
    return (Container(resources=ResourceRequirements(requests={"cpu": cpu} if cpu else None)),)


def pod_info(
    name: str = "pod",
    *,
    uid: str = "",
    priority: int = 0,
    labels: dict[str, str] | None = None,
    gates: tuple[str, ...] = (),
    tolerations: tuple[Toleration, ...] | None = None,
    cpu: str | None = "100m",
    scheduler_name: str = PROFILE,
) -> PodInfo:
    """A pod as the parser would give it; its uid is `uid-NAME` unless given."""
    pod = Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid or f"uid-{name}", labels=labels),
        spec=PodSpec(
            scheduler_name=scheduler_name,
            priority=priority,
            scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in gates) or None,
            tolerations=tolerations,
            containers=_containers(cpu),
        ),
    )
    return parse_pod(pod)


@dataclass
class Harness:
    """A queue under test.

    Attributes:
        now: the time in monotonic seconds.
        signatures: what the hints of a plugin read of a pod.
        held: PreEnqueue's answer: names of pods to the plugin that holds them.
        incoming: what was counted: (queue, label).
        hints: the calls of hints: (plugin, label, what it came to).
        faults: what plugins failed with.
        wakes: how often the loop was woken.
    """

    registered: Mapping[str, Mapping[str, Sequence[RegisteredEvent]]] = field(default_factory=lambda: REGISTERED)
    signatures: Mapping[str, Mapping[str, HintSignature]] = field(default_factory=dict)
    initial_backoff_seconds: float = 1.0
    max_backoff_seconds: float = 10.0
    now: float = 1000.25
    held: dict[str, str | PluginError] = field(default_factory=dict)
    incoming: list[tuple[str, str]] = field(default_factory=list)
    hints: list[tuple[str, str, str]] = field(default_factory=list)
    faults: list[PluginError] = field(default_factory=list)
    wakes: int = 0
    pre_enqueue_calls: int = 0

    def __post_init__(self) -> None:
        self.queue = SchedulingQueue(
            registered_events=self.registered,
            pre_enqueue=self._pre_enqueue,
            sort_key=lambda queued: (-queued.pod_info.priority, queued.timestamp),
            record_incoming=lambda queue, label: self.incoming.append((queue, label)),
            report_fault=self.faults.append,
            on_active=self._wake,
            hint_signatures=self.signatures,
            hint_recorder=self,
            initial_backoff_seconds=self.initial_backoff_seconds,
            max_backoff_seconds=self.max_backoff_seconds,
        )

    def _pre_enqueue(self, pod: PodInfo) -> Status | None:
        self.pre_enqueue_calls += 1
        if pod.pod.spec.scheduling_gates:
            return Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "gated", plugin=GATES)
        holder = self.held.get(pod.name)
        if isinstance(holder, PluginError):
            raise holder
        return None if holder is None else Status.of(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "held", plugin=holder)

    def clock(self) -> float:
        """The clock of a hint's recorder."""
        return self.now

    def queueing_hint(self, plugin: str, event: str, hint: HintResult, seconds: float) -> None:
        """Write a call of a hint down."""
        self.hints.append((plugin, event, hint))

    def _wake(self) -> None:
        self.wakes += 1

    def add(self, *names: str, priority: int = 0) -> None:
        """Add plain pods."""
        for name in names:
            self.queue.add(pod_info(name, priority=priority), self.now)

    def pop(self) -> QueuedPodInfo:
        """Pop a pod that must be there."""
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def fail(self, queued: QueuedPodInfo, *plugins: str, pending: tuple[str, ...] = ()) -> Place | None:
        """End an attempt: rejected by the plugins, or by an error if there are none."""
        queued.unschedulable_plugins = frozenset(plugins)
        queued.pending_plugins = frozenset(pending)
        return self.queue.add_unschedulable_if_not_present(queued, self.now)

    def event(self, event: ClusterEvent, old: object = None, new: object = None) -> None:
        """Something happened in the cluster."""
        self.queue.move_all_to_active_or_backoff(event, old, new, self.now)

    def in_place(self, place: Place, name: str = "pod") -> None:
        """Bring a pod, new to the queue, to a place, and forget what was counted on the way."""
        if place is Place.GATED:
            self.held[name] = HOLDER
            self.add(name)
            del self.held[name]
        else:
            self.add(name)
            if place is not Place.ACTIVE:
                queued = self.pop()
                assert queued.pod_info.name == name
                if place is Place.UNSCHEDULABLE:
                    self.fail(queued, FIT)
                elif place is Place.BACKOFF:
                    self.event(NODE_ADD)
                    self.fail(queued, FIT)
        assert self.place_of(name) is place
        self.incoming.clear()
        self.wakes = 0

    def place_of(self, name: str = "pod") -> Place | None:
        """Where the queue has the pod of that name; None if nowhere."""
        places = [
            place for place, pods in self.queue.snapshot().items() for queued in pods if queued.pod_info.name == name
        ]
        assert len(places) <= 1, f"{name} is in {places}"
        return places[0] if places else None

    def popped_names(self) -> list[str]:
        """Names of all pods that can be popped, in order."""
        names = []
        while (queued := self.queue.pop()) is not None:
            names.append(queued.pod_info.name)
        return names

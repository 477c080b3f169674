"""The whole queue against a model that only knows which pods exist and which attempts run."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler.core.framework.events import ClusterEvent
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.queue.entry import Place
from tests.unit.core.queue.harness import (
    FIT,
    HOLDER,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETE,
    PROFILE,
    TAINTS,
    Harness,
    pod_info,
)

NAMES = st.sampled_from(["pod-0", "pod-1", "pod-2"])
PLUGINS = st.sampled_from([frozenset({FIT}), frozenset({TAINTS}), frozenset({FIT, "Unknown"}), frozenset[str]()])
PENDING = st.sampled_from([frozenset[str](), frozenset({FIT})])
EVENTS = st.sampled_from([NODE_ADD, POD_DELETE, NODE_TAINT, NODE_LABEL])


class QueueMachine(RuleBasedStateMachine):
    """Random life in the cluster.

    The model: `uid_of` has the pending pods by name, `existing` maps their uids to their newest labels, `attempts` has
    what `pop` gave and whose end was not reported yet (of pods deleted meanwhile, too), `stale` those from before a
    `clear`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.harness = Harness()
        self.generation = 0
        self.uid_of: dict[str, str] = {}
        self.existing: dict[str, dict[str, str]] = {}
        self.attempts: list[QueuedPodInfo] = []
        self.stale: list[QueuedPodInfo] = []

    def _in_flight(self) -> set[str]:
        return {queued.uid for queued in self.attempts if queued.uid in self.existing}

    @rule(name=NAMES, priority=st.integers(0, 2))
    def create(self, name: str, priority: int) -> None:
        if name in self.uid_of:
            self.delete(name)
        self.generation += 1
        uid = self.uid_of[name] = f"{name}-{self.generation}"
        self.existing[uid] = {}
        self.harness.queue.add(pod_info(name, uid=uid, priority=priority), self.harness.now)

    @rule(name=NAMES, value=st.integers(0, 3))
    def update(self, name: str, value: int) -> None:
        if name in self.uid_of:
            uid = self.uid_of[name]
            self.existing[uid] = {"value": str(value)}
            self.harness.queue.update(pod_info(name, uid=uid, labels={"value": str(value)}), self.harness.now)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.uid_of:
            uid = self.uid_of.pop(name)
            del self.existing[uid]
            self.harness.queue.delete(uid)

    @rule(name=NAMES, plugin=st.sampled_from(["", HOLDER, "Unknown"]))
    def gate(self, name: str, plugin: str) -> None:
        self.harness.held.pop(name, None)
        if plugin:
            self.harness.held[name] = plugin

    @rule(event=EVENTS)
    def event(self, event: ClusterEvent) -> None:
        self.harness.event(event)

    @rule(names=st.lists(NAMES))
    def activate(self, names: list[str]) -> None:
        self.harness.queue.activate([self.uid_of.get(name, "unknown") for name in names], self.harness.now)

    @rule()
    def pop(self) -> None:
        counts = self.harness.queue.pending_counts()
        queued = self.harness.queue.pop()
        if queued is None:
            assert counts["active"] == 0
            return
        assert queued.uid in self.existing
        assert queued.uid not in self._in_flight(), "a pod is being tried twice at once"
        assert (queued.pod_info.pod.metadata.labels or {}) == self.existing[queued.uid]
        self.attempts.append(queued)

    @precondition(lambda self: self.attempts)
    @rule(data=st.data(), plugins=PLUGINS, pending=PENDING)
    def fail(self, data: st.DataObject, plugins: frozenset[str], pending: frozenset[str]) -> None:
        queued = self.attempts.pop(data.draw(st.integers(0, len(self.attempts) - 1)))
        place = self.harness.fail(queued, *plugins, pending=tuple(pending))
        assert (place is None) == (queued.uid not in self.existing)

    @rule(name=NAMES, plugins=PLUGINS)
    def create_and_fail(self, name: str, plugins: frozenset[str]) -> None:
        """The commonest life, in one step, so that the others start from a queue with pods in all places."""
        self.create(name, priority=9)
        queued = self.harness.queue.pop()
        if queued is not None:
            self.harness.fail(queued, *plugins)

    @precondition(lambda self: self.attempts)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        queued = self.attempts.pop(data.draw(st.integers(0, len(self.attempts) - 1)))
        self.harness.queue.done(queued)
        if queued.uid in self.existing:
            del self.existing[queued.uid]
            del self.uid_of[queued.pod_info.name]

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.harness.now += seconds
        self.harness.queue.flush_backoff_completed(self.harness.now)
        self.harness.queue.flush_unschedulable_left_over(self.harness.now)

    @rule()
    def empty_and_rebuild(self) -> None:
        self.harness.queue.clear()
        self.stale += self.attempts
        self.attempts = []
        for name, uid in self.uid_of.items():
            labels = self.existing[uid]
            self.harness.queue.add(pod_info(name, uid=uid, labels=labels), self.harness.now)

    @precondition(lambda self: self.stale)
    @rule(bound=st.booleans())
    def end_stale(self, bound: bool) -> None:
        queued = self.stale.pop()
        if bound:
            self.harness.queue.done(queued)
        else:
            assert self.harness.fail(queued, FIT) is None

    @invariant()
    def each_pod_is_in_exactly_one_place(self) -> None:
        places = self.harness.queue.snapshot()
        seen = [queued.uid for pods in places.values() for queued in pods]
        assert sorted(seen) == sorted(self.existing)
        assert {queued.uid for queued in places[Place.IN_FLIGHT]} == self._in_flight()

    @invariant()
    def counts_equal_the_places(self) -> None:
        places = self.harness.queue.snapshot()
        counted = {place.value: len(pods) for place, pods in places.items() if place is not Place.IN_FLIGHT}
        assert self.harness.queue.pending_counts() == counted

    @invariant()
    def rejections_equal_a_recount(self) -> None:
        counted: Counter[tuple[str, str]] = Counter()
        for place, pods in self.harness.queue.snapshot().items():
            if place is not Place.IN_FLIGHT:
                for queued in pods:
                    counted.update((name, PROFILE) for name in queued.unschedulable_plugins | queued.pending_plugins)
        assert +Counter(self.harness.queue.rejection_counts()) == counted
        assert min(self.harness.queue.rejection_counts().values(), default=0) >= 0

    @invariant()
    def pods_fit_the_place_they_are_in(self) -> None:
        places = self.harness.queue.snapshot()
        for queued in places[Place.GATED]:
            assert queued.gating_plugin
        for place in (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.IN_FLIGHT):
            assert not any(queued.gating_plugin for queued in places[place])
        for queued in places[Place.UNSCHEDULABLE]:
            assert queued.unschedulable_plugins or queued.pending_plugins
        for queued in places[Place.BACKOFF]:
            assert queued.attempts
            assert queued.backoff_until > 0
        for place in (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.IN_FLIGHT):
            assert all(queued.initial_attempt_timestamp is not None for queued in places[place])

    @invariant()
    def objects_are_the_newest(self) -> None:
        for place, pods in self.harness.queue.snapshot().items():
            if place is not Place.IN_FLIGHT:
                for queued in pods:
                    assert (queued.pod_info.pod.metadata.labels or {}) == self.existing[queued.uid]

    @invariant()
    def no_event_outlives_the_attempts(self) -> None:
        queue = self.harness.queue
        if not self._in_flight():
            assert queue._in_flight.recorded == 0

    def teardown(self) -> None:
        """Every pod that exists can be brought to an attempt: none is lost."""
        for queued in self.attempts:
            self.harness.fail(queued, FIT)
        self.harness.held.clear()
        self.harness.now += 1000
        self.harness.queue.flush_unschedulable_left_over(self.harness.now)
        self.harness.queue.flush_backoff_completed(self.harness.now)
        assert sorted(self.harness.popped_names()) == sorted(self.uid_of)


QueueMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
TestQueue = QueueMachine.TestCase

"""The pods that wait to be scheduled: whose turn it is, who must wait, and what ends the wait.

A pod is in exactly one place::

                                       5
            1              2      +---------------------------------------+
    (new) -----> ACTIVE <----- BACKOFF <----+                             |
                  | ^ ^           |         | 4                           |
                  | | |    4      |    +---------------+        5         |
                  | | +-----------|----| UNSCHEDULABLE |<-----------------+
                  | |             |    +---------------+                  |
                  | +-------------|---------------------------- 5 --------+
                  |               | 3                                     |
                  +--- pop -------+---------------------------------> IN FLIGHT ---- done ----> (gone)

The labels under which an entry is counted in `queue_incoming_pods_total`:

1. `UnscheduledPodAdd`.
2. `BackoffComplete` (flush of every second) or `ForceActivate` (asked for by a plugin).
3. `PopFromBackoffQ`: nothing is active, and the pod was rejected rather than stopped by an error.
4. The cluster event that may help (`NodeAdd`, `AssignedPodDelete`, `TargetPodUpdatePodToleration`, ...),
   `UnschedulableTimeout` after 5 minutes, or `ForceActivate`. To BACKOFF while the back-off of the last failure lasts;
   to ACTIVE afterwards, by `ForceActivate`, and by an event that a plugin waits for which put the pod aside as pending.
5. `ScheduleAttemptFailure`. To UNSCHEDULABLE, except after an error, and if something that happened during the attempt
   may help: then as in 4.

GATED is the fifth place: on the ways 1, 4 and 5 into ACTIVE or BACKOFF, PreEnqueue is asked, and a pod that a plugin
holds goes to GATED instead (counted as `unschedulable`). It leaves GATED as it leaves UNSCHEDULABLE (4), if PreEnqueue
then lets it go; only events that the gating plugin asked for are looked at.

`delete` leads out of the queue from everywhere. `update` changes the pod where it is; for one that is unschedulable or
gated, or comes back from its attempt, it is a cluster event as well.

Assumptions: one thread; `now` (monotonic seconds) never goes back; the callbacks do not call the queue. Written by
`event_handlers`, by the scheduling loop (`pop`, `done`, `add_unschedulable_if_not_present`, `activate`) and by the two
flush timers. A pod in flight stays known until its attempt, binding included, has ended one way or the other: so a pod
deleted meanwhile is never put back, and one updated meanwhile comes back as it is now.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import count
from types import MappingProxyType

from scheduler.core.framework.events import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    POP_FROM_BACKOFF_QUEUE,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ClusterEvent,
    EventResource,
    HintSignature,
    RegisteredEvent,
)
from scheduler.core.framework.recorder import HintRecorder, SilentRecorder
from scheduler.core.framework.status import Code, PluginError, Status
from scheduler.core.framework.types import PodInfo, QueuedPodInfo
from scheduler.core.queue.backoff import BackoffQueue
from scheduler.core.queue.entry import Entry, Place
from scheduler.core.queue.event_registry import EventRegistry, Occurrence, PluginKey, Requeue
from scheduler.core.queue.in_flight import InFlight
from scheduler.core.queue.lazy_heap import LazyHeap, SortKey
from scheduler.core.queue.parking import Parking
from scheduler.core.queue.pod_changes import pod_update_events
from scheduler.core.queue.rejections import Rejections

_NO_PLUGINS: frozenset[str] = frozenset()
_SILENT = SilentRecorder()


class SchedulingQueue:
    """Pending pods by whose turn it is."""

    def __init__(
        self,
        *,
        registered_events: Mapping[str, Mapping[str, Sequence[RegisteredEvent]]],
        pre_enqueue: Callable[[PodInfo], Status | None],
        sort_key: Callable[[QueuedPodInfo], SortKey],
        record_incoming: Callable[[str, str], None],
        report_fault: Callable[[PluginError], None],
        on_active: Callable[[], None],
        hint_signatures: Mapping[str, Mapping[str, HintSignature]] = MappingProxyType({}),
        hint_recorder: HintRecorder = _SILENT,
        initial_backoff_seconds: float = 1.0,
        max_backoff_seconds: float = 10.0,
        max_in_unschedulable_seconds: float = 300.0,
    ) -> None:
        """Make an empty queue.

        Args:
            registered_events: by schedulerName, then plugin name, the events that may help a pod the plugin rejected. A
                plugin that is not named here is taken to ask for every event; an empty sequence asks for none.
            pre_enqueue: runs the PreEnqueue plugins of the pod's profile; the first status that holds the pod, or None.
                A `PluginError` is reported and holds the pod too.
            sort_key: place in the active queue, smaller first (the QueueSort plugin).
            record_incoming: counts an entry, called with the queue (active, backoff, unschedulable) and the label.
            report_fault: hears of each failure of a PreEnqueue plugin or a queueing hint.
            on_active: called when `pop` would give a pod again after it would have given none. Only wakes the loop up.
            hint_signatures: by schedulerName, then plugin name, what the plugin's hints read of a pod. Pods rejected by
                a plugin that is not named here are asked about one by one.
            hint_recorder: told of each call of a hint.
            initial_backoff_seconds: back-off after the first failure; doubles with each further one.
            max_backoff_seconds: longest back-off; 0 means none.
            max_in_unschedulable_seconds: a pod that waited longer is tried again without an event.
        """
        tickets = count(1)
        self._entries: dict[str, Entry] = {}
        self._active = LazyHeap(tickets)
        self._backoff = BackoffQueue(tickets, initial_backoff_seconds, max_backoff_seconds)
        self._parking = Parking()
        self._in_flight = InFlight()
        self._rejections = Rejections()
        self._registry = EventRegistry(registered_events, hint_signatures, hint_recorder, report_fault)
        self._pre_enqueue = pre_enqueue
        self._sort_key = sort_key
        self._record_incoming = record_incoming
        self._report_fault = report_fault
        self._on_active = on_active
        self._max_in_unschedulable_seconds = max_in_unschedulable_seconds

    # --- what the watch says

    def add(self, pod_info: PodInfo, now: float) -> None:
        """A pending pod appeared. One that is known already is updated."""
        if pod_info.uid in self._entries:
            self.update(pod_info, now)
            return
        entry = self._entries[pod_info.uid] = Entry(QueuedPodInfo(pod_info, now))
        self._requeue(entry, Requeue.IMMEDIATELY, UNSCHEDULED_POD_ADD.label, now)

    def update(self, pod_info: PodInfo, now: float) -> None:
        """A pending pod changed; what it was before, the queue knows. One that is not known is added.

        A change of a pod that waits may be what it waited for. A change of a pod in flight is kept until it comes back.
        """
        entry = self._entries.get(pod_info.uid)
        if entry is None:
            self.add(pod_info, now)
        elif entry.place is Place.IN_FLIGHT:
            old = entry.newest or entry.queued.pod_info
            entry.newest = pod_info
            for occurrence in self._own_events(old, pod_info):
                self._in_flight.record(occurrence)
        elif entry.place in (Place.UNSCHEDULABLE, Place.GATED):
            old, entry.queued.pod_info = entry.queued.pod_info, pod_info
            for occurrence in self._own_events(old, pod_info):
                verdict = self._registry.verdict(entry.queued, occurrence)
                if verdict is not Requeue.SKIP:
                    self._wake(entry, verdict, occurrence, now)
                    return
            self._parking.replace_keys(entry, self._keys(entry))
        else:
            self._replace_in_heap(entry, pod_info)

    def delete(self, uid: str) -> None:
        """A pod is gone, or no business of this queue any more (assigned, finished). Unknown pods are ignored."""
        entry = self._entries.pop(uid, None)
        if entry is not None:
            if entry.place is not Place.IN_FLIGHT:
                self._rejections.remove(entry.queued)
            self._withdraw(entry)

    def move_all_to_active_or_backoff(
        self, event: ClusterEvent, old: object | None, new: object | None, now: float, *, except_uid: str = ""
    ) -> None:
        """Something happened in the cluster: wake the pods that it may help, remember it for the pods in flight.

        Args:
            event: what happened; never a node's heartbeat.
            old: the object before, None for an added one; `PodInfo` for pods.
            new: the object after, None for a deleted one.
            now: monotonic seconds.
            except_uid: a pod in flight that the event does not concern: one that is taken back from its node because a
                plugin rejected it there must not be helped by the room it frees itself.
        """
        occurrence = self._registry.occurrence(event, old, new)
        occurrence.excluded_uid = except_uid
        for entry, verdict in self._helped_by(occurrence).items():
            self._wake(entry, verdict, occurrence, now)
        self._in_flight.record(occurrence)

    def clear(self) -> None:
        """Forget every pod. Attempts under way may still end: they find themselves unknown and change nothing."""
        self._entries.clear()
        self._active.clear()
        self._backoff.clear()
        self._parking.clear()
        self._in_flight.clear()
        self._rejections.clear()

    # --- what the scheduling loop does

    def pop(self) -> QueuedPodInfo | None:
        """Take the next pod for an attempt; None when none may be tried now.

        The caller ends the attempt by `done` or `add_unschedulable_if_not_present`, whatever happens.
        """
        entry = self._active.pop()
        if entry is None:
            entry = self._backoff.rejected.pop()
            if entry is None:
                return None
            self._record_incoming("active", POP_FROM_BACKOFF_QUEUE)
        entry.place = Place.IN_FLIGHT
        queued = entry.queued
        queued.attempts += 1
        self._rejections.remove(queued)
        queued.unschedulable_plugins = queued.pending_plugins = _NO_PLUGINS
        self._in_flight.begin(queued.pod_info.uid)
        return queued

    def done(self, queued: QueuedPodInfo) -> None:
        """The attempt ended for good: the pod is bound, or not to be tried again. Does nothing for a pod not in flight.

        Takes the object that `pop` gave and not a uid: after `clear` the same pod may be in flight once more.
        """
        if self._attempt_of(queued) is not None:
            uid = queued.pod_info.uid
            del self._entries[uid]
            self._in_flight.finish(uid)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo, now: float) -> Place | None:
        """The attempt failed: put the pod where it waits for its next one.

        `unschedulable_plugins` and `pending_plugins` of `queued` say who rejected the pod; both empty mean an error.

        Returns:
            Where the pod went; None if it was deleted during the attempt, or is not in flight.
        """
        entry = self._attempt_of(queued)
        if entry is None:
            return None
        if entry.newest is not None:
            queued.pod_info, entry.newest = entry.newest, None
        if queued.unschedulable_plugins or queued.pending_plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = now
        queued.backoff_until = self._backoff.end_of(queued)
        verdict = self._verdict_on_attempt(queued)
        self._in_flight.finish(queued.uid)
        self._rejections.add(queued)
        self._requeue(entry, verdict, SCHEDULE_ATTEMPT_FAILURE, now)
        return entry.place

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Try these pods again without waiting for an event or the end of a back-off (plugins ask for it).

        A pod in flight whose attempt fails backs off instead of waiting for an event. Unknown pods are skipped.
        """
        for uid in uids:
            entry = self._entries.get(uid)
            if entry is None or entry.place is Place.ACTIVE:
                continue
            if entry.place is Place.IN_FLIGHT:
                self._in_flight.record(self._registry.occurrence(FORCE_ACTIVATE, None, None, uid))
                continue
            from_backoff = entry.place is Place.BACKOFF
            self._withdraw(entry)
            if from_backoff:
                self._to_active(entry, FORCE_ACTIVATE.label, now)
            else:
                self._requeue(entry, Requeue.IMMEDIATELY, FORCE_ACTIVATE.label, now)

    # --- timers

    def flush_backoff_completed(self, now: float) -> None:
        """Make the pods active whose back-off is over. Called every second, best right after a whole one."""
        for entry in self._backoff.pop_completed(now):
            self._to_active(entry, BACKOFF_COMPLETE, now)

    def flush_unschedulable_left_over(self, now: float) -> None:
        """Try again the pods that waited too long for an event: one may have been missed. Called every 30 seconds."""
        for entry in self._parking.parked_before(now - self._max_in_unschedulable_seconds):
            self._parking.remove(entry)
            self._requeue(entry, Requeue.AFTER_BACKOFF, UNSCHEDULABLE_TIMEOUT.label, now)

    def next_backoff_completion(self) -> float | None:
        """When `flush_backoff_completed` next has something to do (monotonic seconds); None when nobody backs off."""
        return self._backoff.next_completion()

    # --- what is seen from outside

    def __contains__(self, uid: str) -> bool:
        """Whether the pod is in some place of the queue, in flight included."""
        return uid in self._entries

    def pending_counts(self) -> dict[str, int]:
        """Pods in each queue, by the `queue` label of `pending_pods`. Constant time."""
        return {
            "active": self._active.live,
            "backoff": self._backoff.live,
            "unschedulable": len(self._parking.unschedulable),
            "gated": len(self._parking.gated),
        }

    def rejection_counts(self) -> dict[tuple[str, str], int]:
        """Waiting pods by the plugin that turned them away and schedulerName, as `unschedulable_pods` has them."""
        return self._rejections.counts()

    def in_flight_counts(self) -> dict[str, int]:
        """What is kept for attempts under way, by the `event` label of `inflight_events`."""
        return self._in_flight.counts()

    def snapshot(self) -> dict[Place, list[QueuedPodInfo]]:
        """Every known pod by its place, those of the active queue in order. Sorts: for dumps only."""
        in_flight = (entry for entry in self._entries.values() if entry.place is Place.IN_FLIGHT)
        places = {
            Place.ACTIVE: self._active.ordered(),
            Place.BACKOFF: self._backoff.ordered(),
            Place.UNSCHEDULABLE: self._parking.unschedulable.values(),
            Place.GATED: self._parking.gated.values(),
            Place.IN_FLIGHT: in_flight,
        }
        return {place: [entry.queued for entry in entries] for place, entries in places.items()}

    # --- transitions

    def _requeue(self, entry: Entry, verdict: Requeue, label: str, now: float) -> None:
        """Place an entry that is in no structure where the verdict says, unless PreEnqueue holds it."""
        queued = entry.queued
        if verdict is Requeue.SKIP:
            self._park(entry, Place.UNSCHEDULABLE, label, now)
        elif status := self._holds(queued.pod_info):
            queued.gating_plugin = status.plugin
            self._rejections.remove(queued)
            queued.unschedulable_plugins |= {status.plugin}
            self._rejections.add(queued)
            self._park(entry, Place.GATED, label, now)
        else:
            queued.gating_plugin = ""
            if verdict is Requeue.AFTER_BACKOFF and now < queued.backoff_until:
                self._to_backoff(entry, label)
            else:
                self._to_active(entry, label, now)

    def _to_active(self, entry: Entry, label: str, now: float) -> None:
        idle = not (self._active.live or self._backoff.rejected.live)
        queued = entry.queued
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = now
        entry.place = Place.ACTIVE
        self._active.push(self._sort_key(queued), entry)
        self._record_incoming("active", label)
        if idle:
            self._on_active()

    def _to_backoff(self, entry: Entry, label: str) -> None:
        idle = not (self._active.live or self._backoff.rejected.live)
        entry.place = Place.BACKOFF
        self._backoff.push(self._sort_key(entry.queued), entry)
        self._record_incoming("backoff", label)
        if idle and self._backoff.rejected.live:
            self._on_active()

    def _park(self, entry: Entry, place: Place, label: str, now: float) -> None:
        if entry.place is not place:
            self._record_incoming("unschedulable", label)
        entry.place = place
        self._parking.add(entry, self._keys(entry), now)

    def _keys(self, entry: Entry) -> Mapping[PluginKey, Hashable | None]:
        """The plugins under which an event finds the entry, parked or about to be."""
        queued = entry.queued
        if entry.place is Place.GATED:
            return self._registry.keys(queued, (queued.gating_plugin,))
        return self._registry.keys(queued, queued.unschedulable_plugins | queued.pending_plugins)

    def _withdraw(self, entry: Entry) -> None:
        if entry.place is Place.ACTIVE:
            self._active.discard(entry)
        elif entry.place is Place.BACKOFF:
            self._backoff.discard(entry)
        elif entry.place is Place.IN_FLIGHT:
            self._in_flight.finish(entry.queued.uid)
        else:
            self._parking.remove(entry)

    def _replace_in_heap(self, entry: Entry, pod_info: PodInfo) -> None:
        """Change the pod of an active or backing off entry; it moves within its heap only if its key changed."""
        queued = entry.queued
        key = self._sort_key(queued)
        queued.pod_info = pod_info
        if (new_key := self._sort_key(queued)) != key:
            heap: LazyHeap | BackoffQueue = self._active if entry.place is Place.ACTIVE else self._backoff
            heap.discard(entry)
            heap.push(new_key, entry)

    # --- decisions

    def _holds(self, pod_info: PodInfo) -> Status | None:
        """The status of the PreEnqueue plugin that holds the pod, None when it may go."""
        try:
            return self._pre_enqueue(pod_info)
        except PluginError as fault:
            self._report_fault(fault)
            return Status.of(Code.ERROR, str(fault), plugin=fault.plugin)

    def _helped_by(self, occurrence: Occurrence) -> dict[Entry, Requeue]:
        """The parked entries that an event may help; of each group of a plugin's pods one is asked about."""
        if occurrence.event.resource is EventResource.WILDCARD:
            return dict.fromkeys(self._parking.all(), Requeue.AFTER_BACKOFF)
        helped: dict[Entry, Requeue] = {}
        for key in (*occurrence.matched, *self._registry.unregistered):
            for group in self._parking.groups_held_by(key):
                if self._registry.helps(key, next(iter(group.values())).queued, occurrence):
                    for entry in group.values():
                        if key[1] in entry.queued.pending_plugins:
                            helped[entry] = Requeue.IMMEDIATELY
                        else:
                            helped.setdefault(entry, Requeue.AFTER_BACKOFF)
        return helped

    def _wake(self, entry: Entry, verdict: Requeue, occurrence: Occurrence, now: float) -> None:
        """Move a parked entry that an event helps."""
        self._parking.remove(entry)
        self._requeue(entry, verdict, occurrence.event.label, now)

    def _attempt_of(self, queued: QueuedPodInfo) -> Entry | None:
        """The entry whose attempt under way `queued` stands for."""
        entry = self._entries.get(queued.pod_info.uid)
        if entry is None or entry.queued is not queued or entry.place is not Place.IN_FLIGHT:
            return None
        return entry

    def _verdict_on_attempt(self, queued: QueuedPodInfo) -> Requeue:
        """Where a failed attempt sends the pod, given what happened meanwhile. An error is retried in any case."""
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        best = Requeue.SKIP
        for occurrence in self._in_flight.events_during(queued.uid):
            verdict = self._registry.verdict(queued, occurrence)
            if verdict is Requeue.IMMEDIATELY or (verdict is Requeue.AFTER_BACKOFF and not queued.pending_plugins):
                return verdict
            if verdict is Requeue.AFTER_BACKOFF:
                best = verdict
        return best

    def _own_events(self, old: PodInfo, new: PodInfo) -> Iterable[Occurrence]:
        for event in pod_update_events(old, new, EventResource.TARGET_POD):
            yield self._registry.occurrence(event, old, new, new.uid)

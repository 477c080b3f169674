"""Events for people, written to events.k8s.io/v1.

An event that repeats becomes a series on the first one's object:

  (none) ──first──► SINGLE ──again──► SERIES ──again within half an hour──► SERIES (only counted)
    ▲                  │                │ └──again after half an hour──────► SERIES (count written)
    │                  │                │
    └── six minutes without a repeat, or another note ── last count written ──┘

An event repeats if type, action, reason, regarding and related are the same, as for Kubernetes' own recorder, except
that the regarded object's resourceVersion does not matter, and that another note begins a new event: what people read
is then the latest reason and not the first.
"""

from __future__ import annotations

import asyncio
import random as random_module
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NoReturn

import msgspec

from scheduler.api.coordination import Event, EventSeries
from scheduler.api.meta import ObjectMeta, ObjectReference
from scheduler.client.api_dispatcher import ApiCall, ApiDispatcher, Priority
from scheduler.client.errors import Conflict, NotFound, RequestError
from scheduler.client.transport import Response, Retry, Transport

_NOTE_LIMIT_BYTES = 1024
_CUT_MARK = b" ..."
_LONGEST_NAME = 253
_SERIES_IDLE_SECONDS = 360.0
_SERIES_HEARTBEAT_SECONDS = 1800.0
_SWEEP_SECONDS = 60.0
_CALL_TYPE = "event"
_CLOSED_PER_TURN = 50

_Key = tuple[str, str, str, str, str]


class EventType(StrEnum):
    """Whether something went as it should."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(slots=True)
class _Series:
    """One event object on the server; `note_hash` stands for its note, which may be long."""

    path: str
    note_hash: int
    count: int
    last_observed_seconds: float
    written_count: int
    written_seconds: float
    exists: bool


class EventRecorder:
    """Records events as one reporting controller, that is for one schedulerName.

    `reporting_instance` tells replicas apart. At most `max_series` events are remembered for repeats (about 1 KiB
    each); the one silent for longest makes room. Events wait in the dispatcher's bounded queue, which counts drops.
    """

    def __init__(
        self,
        transport: Transport,
        dispatcher: ApiDispatcher,
        reporting_controller: str,
        reporting_instance: str,
        *,
        max_series: int = 20_000,
        clock: Callable[[], float] = time.time,
        random_bits: Callable[[int], int] = random_module.getrandbits,
    ) -> None:
        self._transport = transport
        self._dispatcher = dispatcher
        self._reporting_controller = reporting_controller
        self._reporting_instance = reporting_instance
        self._max_series = max_series
        self._clock = clock
        self._names = random_bits(63)  # counted up, so that names are unique in this process and among replicas
        self._series: OrderedDict[_Key, _Series] = OrderedDict()  # the one silent for longest first
        self._second = 0
        self._second_text = ""

    def record(
        self,
        regarding: ObjectReference,
        event_type: EventType,
        reason: str,
        action: str,
        note: str,
        related: ObjectReference | None = None,
        *,
        once: bool = False,
    ) -> None:
        """Writes an event about `regarding` some time soon; returns at once.

        `note` is cut to 1,024 bytes. `once` is for events that cannot repeat, as a pod is bound only once: nothing is
        remembered of them.
        """
        now = self._clock()
        if once:
            self._create(regarding, event_type, reason, action, note, related, now, None)
            return
        key = (event_type, action, reason, _identity(regarding), "" if related is None else _identity(related))
        series = self._series.get(key)
        if series is not None and series.note_hash == hash(note):
            self._repeat(key, series, now)
            return
        if series is not None:
            self._close(key)
        elif len(self._series) >= self._max_series:
            self._close(next(iter(self._series)))
        self._create(regarding, event_type, reason, action, note, related, now, key)

    async def run(self) -> NoReturn:
        """Closes series that have become silent; to be run as a task for as long as events are recorded."""
        while True:
            wait_seconds = 0.0 if self.close_idle_series() else _SWEEP_SECONDS
            await asyncio.sleep(wait_seconds)

    def close_idle_series(self) -> bool:
        """Closes some of the series without a repeat for six minutes; True if there may be more of them."""
        silent_since = self._clock() - _SERIES_IDLE_SECONDS
        for _ in range(_CLOSED_PER_TURN):
            key = next(iter(self._series), None)
            if key is None or self._series[key].last_observed_seconds > silent_since:
                return False
            self._close(key)
        return True

    def _create(
        self,
        regarding: ObjectReference,
        event_type: EventType,
        reason: str,
        action: str,
        note: str,
        related: ObjectReference | None,
        now: float,
        key: _Key | None,
    ) -> None:
        self._names += 1
        unique = f".{self._names:016x}"
        name = (regarding.name or "")[: _LONGEST_NAME - len(unique)].rstrip("-.") + unique
        namespace = regarding.namespace or "default"
        event = Event(
            metadata=ObjectMeta(name=name, namespace=namespace),
            event_time=self._micro_time(now),
            reporting_controller=self._reporting_controller,
            reporting_instance=self._reporting_instance,
            action=action,
            reason=reason,
            regarding=regarding,
            related=related,
            note=cut_note(note),
            type=event_type,
        )
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        if key is None:
            self._dispatcher.submit(ApiCall(_CALL_TYPE, Priority.EVENT, partial(self._post, path, event)))
            return
        series = _Series(f"{path}/{name}", hash(note), 1, now, 1, now, exists=False)
        send = partial(self._post_first, path, event, key, series)
        if self._dispatcher.submit(ApiCall(_CALL_TYPE, Priority.EVENT, send)):
            self._series[key] = series

    def _repeat(self, key: _Key, series: _Series, now: float) -> None:
        series.count += 1
        series.last_observed_seconds = now
        self._series.move_to_end(key)
        is_first_repeat = series.written_count == 1
        if series.exists and (is_first_repeat or now - series.written_seconds >= _SERIES_HEARTBEAT_SECONDS):
            self._write_count(key, series, now)

    def _close(self, key: _Key) -> None:
        series = self._series.pop(key)
        if series.exists and series.count > series.written_count:
            self._write_count(key, series, self._clock())

    def _write_count(self, key: _Key, series: _Series, now: float) -> None:
        series.written_count = series.count
        series.written_seconds = now
        change = EventSeries(series.count, self._micro_time(series.last_observed_seconds))
        self._dispatcher.submit(ApiCall(_CALL_TYPE, Priority.EVENT, partial(self._patch, key, series, change)))

    async def _post(self, path: str, event: Event) -> Response | None:
        try:
            # The name is unique, so a repeated POST cannot make a second event.
            return await self._transport.post(path, msgspec.json.encode(event), retry=Retry.IF_IN_DOUBT)
        except Conflict:
            return None

    async def _post_first(self, path: str, event: Event, key: _Key, series: _Series) -> Response | None:
        try:
            answer = await self._post(path, event)
        except RequestError:
            self._forget(key, series)
            raise
        series.exists = True
        return answer

    async def _patch(self, key: _Key, series: _Series, change: EventSeries) -> Response | None:
        try:
            return await self._transport.patch(
                series.path, msgspec.json.encode({"series": change}), retry=Retry.IF_IN_DOUBT
            )
        except NotFound:
            # The server has let the event expire; the next repeat begins a new one.
            self._forget(key, series)
            return None

    def _forget(self, key: _Key, series: _Series) -> None:
        if self._series.get(key) is series:
            del self._series[key]

    def _micro_time(self, seconds: float) -> str:
        whole = int(seconds)
        if whole != self._second:
            self._second = whole
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        return f"{self._second_text}.{int((seconds - whole) * 1e6):06d}Z"


def cut_note(note: str) -> str:
    """The note in at most 1,024 bytes; of a longer one the end is replaced by ` ...`."""
    if len(note) * 4 <= _NOTE_LIMIT_BYTES:
        return note
    encoded = note.encode()
    if len(encoded) <= _NOTE_LIMIT_BYTES:
        return note
    return (encoded[: _NOTE_LIMIT_BYTES - len(_CUT_MARK)]).decode(errors="ignore") + _CUT_MARK.decode()


def _identity(reference: ObjectReference) -> str:
    return reference.uid or f"{reference.kind}/{reference.namespace}/{reference.name}"

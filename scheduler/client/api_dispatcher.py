"""Calls to the API server that the scheduling cycle does not wait for: how many at once, and which first.

                    ┌── another call of the object is in flight ──► HELD ──┐ that one ended
                    │                                                      ▼
  run / submit ─────┼── all slots taken ─────────────────────────────► QUEUED ──► IN FLIGHT ──► answered or failed
                    │                                                      │          ▲
                    └── a slot is free ────────────────────────────────────│──────────┘
                                                                           ▼
                                replaced by a newer call of the object, dropped, or stopped: NotSent

Order: binds, then status patches, then events; once the queue of events is half full, every other slot goes to it, so
that a long backlog of binds delays events but does not lose them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import Protocol

import structlog

from scheduler.client.errors import NotSent, RequestError
from scheduler.client.transport import Response

log = structlog.get_logger(__name__)

_LOG_INTERVAL_SECONDS = 10.0


class Priority(IntEnum):
    """Which calls go first; of calls for one object the one that goes first also outranks the other."""

    BIND = 0
    """Binds, and what makes room for one: deleting victims."""
    STATUS = 1
    """Patches of a pod's status."""
    EVENT = 2
    """Events for people."""


class ApiCall:
    """One call; used once.

    `send` makes it: it is called when it is this call's turn and may do what a call needs, such as reading the pod
    after a lost answer. `call_type` names it in metrics and logs. Of calls with the same `object_uid` only one is in
    flight and only the latest one waits: a newer one of at least its rank replaces it ("" for calls that stand alone).
    """

    __slots__ = ("call_type", "object_uid", "priority", "replaced", "send", "turn")

    def __init__(
        self, call_type: str, priority: Priority, send: Callable[[], Awaitable[Response | None]], object_uid: str = ""
    ) -> None:
        self.call_type = call_type
        self.priority = priority
        self.send = send
        self.object_uid = object_uid
        self.turn: asyncio.Future[None] | None = None
        self.replaced = False


class CallRecorder(Protocol):
    """Where calls that nobody waits for are counted when they come to nothing."""

    def dropped(self, call_type: str) -> None:
        """The queue was full or the process stopped; the call was not sent."""
        ...

    def failed(self, call_type: str) -> None:
        """The call was sent and did not succeed."""
        ...


class ApiDispatcher:
    """Sends calls with at most `max_in_flight` at once; used on one loop.

    As many connections are opened as calls are in flight, and each costs both sides a TLS handshake of a millisecond:
    64 keep a distant API server busy (at 20 ms a call 3,200 calls a second) and do not crowd a near one.

    `max_queued_events` bounds the only calls that nothing else bounds (about 1 KiB each): of binds and status patches
    there is at most one for each pod.
    """

    def __init__(self, recorder: CallRecorder, *, max_in_flight: int = 64, max_queued_events: int = 50_000) -> None:
        self._recorder = recorder
        self._max_in_flight = max_in_flight
        self._max_queued_events = max_queued_events
        self._in_flight = 0
        self._started = 0
        self._queues: tuple[deque[ApiCall], ...] = tuple(deque() for _ in Priority)
        self._objects_in_flight: set[str] = set()
        self._latest: dict[str, ApiCall] = {}  # the waiting call of each object, held or queued
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: asyncio.Future[None] | None = None
        self._stopped = False
        self._next_log_seconds: dict[str, float] = {}

    async def run(self, call: ApiCall) -> Response | None:
        """Makes the call when its turn comes and returns what `send` returns.

        Raises what `send` raises (a `RequestError`), or NotSent.
        """
        if self._stopped:
            raise NotSent(f"{call.call_type}: the process is stopping")
        if not self._may_start(call):
            call.turn = asyncio.get_running_loop().create_future()
            self._wait(call)
            try:
                await call.turn
            except asyncio.CancelledError:
                if call.turn.cancelled() or call.turn.exception() is not None:
                    self._forget(call)
                else:
                    self._finish(call)
                raise
        try:
            return await call.send()
        finally:
            self._finish(call)

    def submit(self, call: ApiCall) -> bool:
        """Makes the call some time; if it fails that is logged and counted.

        Returns at once, False if the call was dropped: an event when too many wait, any call after `drain`.
        """
        events = self._queues[Priority.EVENT]
        if self._stopped or (call.priority is Priority.EVENT and len(events) >= self._max_queued_events):
            self._recorder.dropped(call.call_type)
            return False
        if self._may_start(call):
            self._start_task(call)
        else:
            self._wait(call)
        return True

    @property
    def queued(self) -> Sequence[int]:
        """How many calls wait, by `Priority`."""
        return [len(queue) for queue in self._queues]

    async def drain(self, deadline_seconds: float) -> int:
        """Lets the calls finish, those that wait too, for the time given; then stops. Returns how many were given up.

        To be called when nothing new is scheduled any more. Submitted calls in flight at the deadline are cancelled
        (whether the server carries them out is then unknown), `run` ones are left to those who wait for them.
        Afterwards every call ends in NotSent.
        """
        loop = asyncio.get_running_loop()
        if self._in_flight:
            self._idle = loop.create_future()
            await asyncio.wait([self._idle], timeout=deadline_seconds)
        self._stopped = True
        given_up = self._in_flight
        waiting = {id(call): call for queue in self._queues for call in queue if not call.replaced}
        waiting |= {id(call): call for call in self._latest.values()}
        for call in waiting.values():
            given_up += 1
            self._give_up(call, "the process is stopping")
        for queue in self._queues:
            queue.clear()
        self._latest.clear()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        return given_up

    def _may_start(self, call: ApiCall) -> bool:
        """Takes a slot if the call can go at once."""
        uid = call.object_uid
        if self._in_flight >= self._max_in_flight or (uid and (uid in self._objects_in_flight or uid in self._latest)):
            return False
        self._take_slot(call)
        return True

    def _take_slot(self, call: ApiCall) -> None:
        self._in_flight += 1
        self._started += 1
        if call.object_uid:
            self._objects_in_flight.add(call.object_uid)

    def _wait(self, call: ApiCall) -> None:
        """Holds or queues the call, in the place of the object's waiting call if there is one."""
        uid = call.object_uid
        if uid:
            older = self._latest.get(uid)
            if older is not None and older.priority < call.priority:
                self._give_up(call, f"a {older.call_type} of the same object is waiting")
                return
            if older is not None:
                self._give_up(older, f"replaced by a newer {call.call_type}")
            self._latest[uid] = call
            if uid in self._objects_in_flight:
                return
        self._queues[call.priority].append(call)

    def _give_up(self, call: ApiCall, why: str) -> None:
        call.replaced = True
        if call.turn is None:
            if self._stopped:
                self._recorder.dropped(call.call_type)
        elif not call.turn.done():
            call.turn.set_exception(NotSent(f"{call.call_type}: {why}"))

    def _forget(self, call: ApiCall) -> None:
        """Whoever waited for the call's turn was cancelled."""
        call.replaced = True
        if self._latest.get(call.object_uid) is call:
            del self._latest[call.object_uid]

    def _finish(self, call: ApiCall, *, works_on: bool = False) -> ApiCall | None:
        """Gives the call's slot to the next ones.

        A task that `works_on` gets one of the submitted calls back to make it itself: cheaper than a task for each.
        """
        self._in_flight -= 1
        if call.object_uid:
            self._objects_in_flight.discard(call.object_uid)
            held = self._latest.get(call.object_uid)
            if held is not None:
                self._queues[held.priority].appendleft(held)
        mine: ApiCall | None = None
        while self._in_flight < self._max_in_flight and (following := self._next()) is not None:
            self._latest.pop(following.object_uid, None)
            self._take_slot(following)
            if following.turn is not None:
                following.turn.set_result(None)
            elif works_on and mine is None:
                mine = following
            else:
                self._start_task(following)
        if not self._in_flight and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        return mine

    def _next(self) -> ApiCall | None:
        events = self._queues[Priority.EVENT]
        events_first = self._started % 2 and len(events) * 2 > self._max_queued_events
        for queue in reversed(self._queues) if events_first else self._queues:
            while queue:
                call = queue.popleft()
                if not call.replaced and (call.turn is None or not call.turn.done()):
                    return call
        return None

    def _start_task(self, call: ApiCall) -> None:
        self._tasks.add(asyncio.create_task(self._work(call)))

    async def _work(self, first: ApiCall) -> None:
        """Makes submitted calls, one after the other, for as long as it is the turn of one."""
        call: ApiCall | None = first
        try:
            while call is not None:
                call = self._finish(await self._send(call), works_on=True)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.discard(task)

    async def _send(self, call: ApiCall) -> ApiCall:
        try:
            await call.send()
        except RequestError as error:
            self._recorder.failed(call.call_type)
            self._log_failure(call.call_type, error)
        except BaseException:
            self._finish(call)
            raise
        return call

    def _log_failure(self, call_type: str, error: RequestError) -> None:
        """One line in ten seconds for each type: a missing right would fail a thousand events a second."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_log_seconds.get(call_type, now):
            self._next_log_seconds[call_type] = now + _LOG_INTERVAL_SECONDS
            log.warning("API call failed", call_type=call_type, error=str(error))

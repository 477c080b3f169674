"""The Scheduler: owns queue, cache and profiles, and keeps pods moving from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager

from scheduler.core.queue.scheduling_queue import SchedulingQueue
from scheduler.schedule_one import ScheduleOne

MAX_BINDING = 256
"""Pods in their binding cycle at a time, but for those that wait for others. Enough to keep the API server busy; more
would only wait, and hold memory.
"""

_TURN_SECONDS = 0.0005
_FLUSH_SECONDS = 1.0
_LEFT_OVER_FLUSH_SECONDS = 30.0


class Scheduler:
    """The scheduling loop and its timers, on one event loop.

    `run` pops pods and hands them to `schedule_one` in turns of at most half a millisecond, so that watches, bindings
    and timers are never kept waiting long. It ends when `stop` was called and the binding cycles under way are over.

    Args:
        clock: monotonic seconds.
        sleep: waits for the next flush of the queue.
    """

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._wake = asyncio.Event()
        self._binding: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._fault: BaseException | None = None
        self._stopping = False

    def wake(self) -> None:
        """The queue has a pod again; called by the queue."""
        self._wake.set()

    def spawn(self, binding_cycle: Coroutine[object, object, None]) -> None:
        """Start a binding cycle; called by ScheduleOne."""
        task = asyncio.get_running_loop().create_task(binding_cycle)
        self._binding.add(task)
        task.add_done_callback(self._bound)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A binding cycle has nothing to do within: it waits, maybe for minutes, for what others do about its pod."""
        self._waiting += 1
        self._wake.set()
        try:
            yield
        finally:
            self._waiting -= 1

    def _bound(self, task: asyncio.Task[None]) -> None:
        self._binding.discard(task)
        if not task.cancelled() and not self._stopping:
            # A binding cycle handles what its plugins raise: whatever leaves it is a fault in the loop, a pod is lost.
            self._fault = self._fault or task.exception()
        self._wake.set()

    async def run(self, queue: SchedulingQueue, schedule_one: ScheduleOne) -> None:
        """Schedule until stopped. An exception that leaves it is a fault in the loop itself: the process must end."""
        async with asyncio.TaskGroup() as timers:
            flushing = timers.create_task(self._flush_periodically(queue))
            try:
                await self._schedule(queue, schedule_one)
            finally:
                flushing.cancel()

    async def _schedule(self, queue: SchedulingQueue, schedule_one: ScheduleOne) -> None:
        turn_ends = self._clock() + _TURN_SECONDS
        while self._fault is None and not self._stopping:
            queued = queue.pop() if len(self._binding) - self._waiting < MAX_BINDING else None
            if queued is None:
                self._wake.clear()
                await self._wake.wait()
            else:
                schedule_one.schedule_one(queued)
                if self._clock() < turn_ends:
                    continue
                await asyncio.sleep(0)
            turn_ends = self._clock() + _TURN_SECONDS
        if self._fault is not None:
            raise self._fault

    async def stop(self, deadline_seconds: float) -> int:
        """Take no more pods and wait for the binding cycles under way; returns how many were not over in time."""
        self._stopping = True
        self._wake.set()
        if not self._binding:
            return 0
        _, pending = await asyncio.wait(self._binding, timeout=deadline_seconds)
        for task in pending:
            task.cancel()
        return len(pending)

    async def _flush_periodically(self, queue: SchedulingQueue) -> None:
        next_left_over = self._clock() + _LEFT_OVER_FLUSH_SECONDS
        while True:
            await self._sleep(_FLUSH_SECONDS - self._clock() % _FLUSH_SECONDS)
            now = self._clock()
            queue.flush_backoff_completed(now)
            if now >= next_left_over:
                queue.flush_unschedulable_left_over(now)
                next_left_over = now + _LEFT_OVER_FLUSH_SECONDS

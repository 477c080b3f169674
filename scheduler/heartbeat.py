"""Whether the scheduling loop turns, and how late it comes to its timers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

from scheduler.telemetry.metrics import Metrics

_INTERVAL_SECONDS: Final = 0.1
_STUCK_SECONDS: Final = 20.0


class LoopHeartbeat:
    """Beats on the scheduling loop; looked at from the HTTP server's thread.

    Args:
        clock: monotonic seconds.
        sleep: waits for the next beat.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        metrics: Metrics,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lag = metrics.loop_lag.labels()
        self._last_beat = clock()

    async def run(self) -> NoReturn:
        """Beat until cancelled; each beat observes how late it was."""
        while True:
            due = self._clock() + _INTERVAL_SECONDS
            await self._sleep(_INTERVAL_SECONDS)
            self._last_beat = self._clock()
            self._lag.observe(max(0.0, self._last_beat - due))

    def problem(self) -> str | None:
        """A health check: None while the loop beats."""
        silent_seconds = self._clock() - self._last_beat
        return None if silent_seconds < _STUCK_SECONDS else f"the scheduling loop is stuck for {silent_seconds:.0f} s"

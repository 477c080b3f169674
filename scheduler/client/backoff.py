"""Waiting times between tries of something that fails."""

from __future__ import annotations

import random as random_module
import time
from collections.abc import Callable


class Backoff:
    """Doubling waits with jitter, which start over after a healthy time.

    The n-th wait in a row is `initial_seconds * 2**(n-1)`, at most `limit_seconds`, times a random factor in [1, 2), so
    that many clients of one failed server do not return at the same moment. A wait asked for more than
    `reset_after_seconds` after the previous one ended counts as the first again.
    """

    def __init__(
        self,
        initial_seconds: float = 0.8,
        limit_seconds: float = 30.0,
        reset_after_seconds: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._initial_seconds = initial_seconds
        self._limit_seconds = limit_seconds
        self._reset_after_seconds = reset_after_seconds
        self._clock = clock
        self._random = random
        self.reset()

    def reset(self) -> None:
        """Makes the next wait the first one."""
        self._next_seconds = self._initial_seconds
        self._healthy_since: float | None = None

    def next_seconds(self) -> float:
        """How long to wait now, in seconds; each call lengthens the next wait."""
        now = self._clock()
        if self._healthy_since is not None and now - self._healthy_since > self._reset_after_seconds:
            self.reset()
        wait_seconds = self._next_seconds * (1.0 + self._random())
        self._next_seconds = min(self._next_seconds * 2.0, self._limit_seconds)
        self._healthy_since = now + wait_seconds
        return wait_seconds

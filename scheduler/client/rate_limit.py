"""The client's own limit on calls per second."""

from __future__ import annotations

import time
from collections.abc import Callable


class TokenBucket:
    """`qps` calls per second in the long run, `burst` at once.

    A call takes a token even if there is none and is told how long to wait for it, so callers are served in the order
    in which they asked.
    """

    def __init__(self, qps: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"client rate limit: qps must be > 0 and burst >= 1, got qps {qps} and burst {burst}")
        self._qps = qps
        self._burst = float(burst)
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at = clock()

    def take(self) -> float:
        """Takes one token; returns the seconds to wait before the call may go, 0.0 for at once."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._qps) - 1.0
        self._filled_at = now
        return max(0.0, -self._tokens / self._qps)

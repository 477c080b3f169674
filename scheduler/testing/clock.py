"""A clock for tests that never sleep."""


class FakeClock:
    """Time moves only when told to; pass `clock.now` wherever a time source is asked for."""

    __slots__ = ("_now_seconds",)

    def __init__(self, now_seconds: float = 0.0) -> None:
        self._now_seconds = now_seconds

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return self._now_seconds

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: when `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} seconds")
        self._now_seconds += seconds

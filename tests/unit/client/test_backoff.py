"""Waits between tries."""

import pytest

from scheduler.client.backoff import Backoff
from scheduler.testing.clock import FakeClock


def test_waits_double_up_to_the_limit() -> None:
    """Each wait in a row is twice the one before, at most the limit."""
    backoff = Backoff(1.0, 4.0, clock=FakeClock().now, random=lambda: 0.0)
    assert [backoff.next_seconds() for _ in range(5)] == [1.0, 2.0, 4.0, 4.0, 4.0]


def test_jitter_lengthens_a_wait_up_to_twofold() -> None:
    """Randomness spreads clients over once to twice the wait."""
    assert Backoff(1.0, clock=FakeClock().now, random=lambda: 0.75).next_seconds() == pytest.approx(1.75)


def test_starts_over_after_a_healthy_time() -> None:
    """A failure long after the last one waits as little as the first."""
    clock = FakeClock()
    backoff = Backoff(1.0, 30.0, reset_after_seconds=100.0, clock=clock.now, random=lambda: 0.0)
    backoff.next_seconds()
    assert backoff.next_seconds() == 2.0
    clock.advance(2.0 + 99.0)
    assert backoff.next_seconds() == 4.0
    clock.advance(4.0 + 101.0)
    assert backoff.next_seconds() == 1.0

"""The client's own rate limit."""

import pytest

from scheduler.client.rate_limit import TokenBucket
from scheduler.testing.clock import FakeClock


def test_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    """After the burst each call waits its turn behind those before it."""
    bucket = TokenBucket(10.0, 2, FakeClock().now)
    assert [bucket.take() for _ in range(4)] == pytest.approx([0.0, 0.0, 0.1, 0.2])


def test_tokens_come_back_with_time_up_to_the_burst() -> None:
    """A long pause buys one burst, not more."""
    clock = FakeClock()
    bucket = TokenBucket(10.0, 2, clock.now)
    bucket.take()
    bucket.take()
    clock.advance(60.0)
    assert [bucket.take() for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (5.0, 0)])
def test_refuses_limits_that_let_nothing_through(qps: float, burst: int) -> None:
    """A limit that would stop every call is an error that names its fields."""
    with pytest.raises(ValueError, match="qps must be > 0 and burst >= 1"):
        TokenBucket(qps, burst)

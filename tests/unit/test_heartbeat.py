"""The heartbeat of the scheduling loop."""

import pytest

from scheduler.heartbeat import LoopHeartbeat
from scheduler.telemetry.metrics import Metrics
from scheduler.testing import FakeClock


def test_silence_is_a_problem_after_a_while() -> None:
    """A loop that has not beaten for twenty seconds is stuck, and the text says for how long."""
    clock = FakeClock(50.0)
    heartbeat = LoopHeartbeat(clock.now, Metrics())
    assert heartbeat.problem() is None
    clock.advance(19.9)
    assert heartbeat.problem() is None
    clock.advance(3.1)
    assert heartbeat.problem() == "the scheduling loop is stuck for 23 s"


async def test_each_beat_tells_how_late_it_is() -> None:
    """A beat ends the silence and observes its lateness."""

    class EnoughError(Exception):
        """Ends the test."""

    clock = FakeClock()
    metrics = Metrics()
    lateness = iter((0.0, 0.5, 30.0))

    async def sleep(seconds: float) -> None:
        late = next(lateness, None)
        if late is None:
            raise EnoughError
        clock.advance(seconds + late)

    heartbeat = LoopHeartbeat(clock.now, metrics, sleep)
    with pytest.raises(EnoughError):
        await heartbeat.run()
    assert heartbeat.problem() is None
    sample = metrics.registry.get_sample_value
    assert sample("podium_loop_lag_seconds_count") == 3
    assert sample("podium_loop_lag_seconds_sum") == pytest.approx(30.5)

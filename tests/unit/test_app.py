"""What the process says of its health. Not covered: putting the process together, which every integration test does."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from scheduler.app import health_checks
from scheduler.heartbeat import LoopHeartbeat
from scheduler.server import Endpoint
from scheduler.telemetry.metrics import Metrics
from scheduler.testing import FakeClock


def informer(kind: str, *, has_synced: bool = True, last_activity_seconds: float = 1_000.0) -> Any:
    """What a health check reads of an informer."""
    return SimpleNamespace(
        resource=SimpleNamespace(kind=kind), has_synced=has_synced, last_activity_seconds=last_activity_seconds
    )


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (informer("Node"), None),
        (informer("Node", has_synced=False), "not synced yet: Node"),
        (informer("Node", last_activity_seconds=699.0), "nothing heard for 300 s of: Node"),
    ],
)
def test_readiness_needs_informers_that_hear_the_cluster(nodes: Any, problem: str | None) -> None:
    """A watch that went deaf makes the process unready, as one that has not listed everything yet; it stays alive."""
    clock = FakeClock(1_000.0)
    checks = health_checks(LoopHeartbeat(clock.now, Metrics()), (informer("Pod"), cast("Any", nodes)), clock.now)
    assert checks.answer(Endpoint.LIVEZ, verbose=False, excluded=()) == (200, "ok")
    status, text = checks.answer(Endpoint.READYZ, verbose=False, excluded=())
    assert (status == 200) is (problem is None)
    assert problem is None or f"[-]informer-sync failed: {problem}" in text

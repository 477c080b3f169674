"""Attempts that found no node, as PostFilter plugins get them."""

from __future__ import annotations

from scheduler.core.algorithm import ScheduleAlgorithm, decide
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.best_rows import Rng
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import FailedAttempt
from scheduler.core.framework.recorder import CycleRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.types import PodInfo
from tests.unit.core.framework.profiles import default_framework
from tests.unit.core.framework.test_contracts import FirstOfEquals


def failed_attempt(
    snapshot: Snapshot,
    pod: PodInfo,
    framework: Framework | None = None,
    rng: Rng | None = None,
    recorder: CycleRecorder | None = None,
) -> FailedAttempt:
    """The pod tried in the default profile unless another is given; it must fit nowhere."""
    used, chance = framework or default_framework({}), rng or FirstOfEquals()
    decision = decide(snapshot, pod, used, chance)
    assert decision.node_name is None
    return ScheduleAlgorithm(snapshot, used, chance, recorder).failed_attempt(CycleState(), decision)

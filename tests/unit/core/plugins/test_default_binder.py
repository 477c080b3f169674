"""DefaultBinder: leaves binding to the binder."""

import pytest

from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import Binder
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.default_binder import DefaultBinder
from scheduler.testing import make_pod
from tests.unit.core.plugins.asking import parsed


class RecordingBinder(Binder):
    def __init__(self, answer: Status | None) -> None:
        self.answer = answer
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bound.append((pod.key, node_name))
        return self.answer


@pytest.mark.parametrize("answer", [None, Status.of(Code.ERROR, "conflict")])
async def test_the_binder_binds(answer: Status | None) -> None:
    """The pod and the node are handed on, and so is the answer."""
    binder = RecordingBinder(answer)
    status = await DefaultBinder(binder).bind(CycleState(), parsed(make_pod("p").namespace("a")), "n1")
    assert status is answer
    assert binder.bound == [("a/p", "n1")]

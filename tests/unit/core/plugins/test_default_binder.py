"""DefaultBinder: leaves binding to the handle."""

import pytest

from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.default_binder import DefaultBinder
from scheduler.testing import make_pod
from tests.unit.core.plugins.asking import parsed


class RecordingHandle(Handle):
    def __init__(self, answer: Status | None) -> None:
        self.answer = answer
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.bound.append((pod.key, node_name))
        return self.answer


@pytest.mark.parametrize("answer", [None, Status.of(Code.ERROR, "conflict")])
async def test_the_handle_binds(answer: Status | None) -> None:
    """The pod and the node are handed on, and so is the answer."""
    handle = RecordingHandle(answer)
    status = await DefaultBinder(handle).bind(CycleState(), parsed(make_pod("p").namespace("a")), "n1")
    assert status is answer
    assert handle.bound == [("a/p", "n1")]

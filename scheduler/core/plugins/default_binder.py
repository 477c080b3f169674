"""Binds pods through the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from scheduler.core.framework.interface import Binder, BindPlugin
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.framework.cycle_state import CycleState


class DefaultBinder(BindPlugin):
    """Bind: a POST to ``pods/<name>/binding`` with the pod's UID as precondition."""

    name: ClassVar[str] = "DefaultBinder"

    def __init__(self, binder: Binder) -> None:
        self._binder = binder

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """None once the pod is known to be bound to the node."""
        return await self._binder.bind(pod, node_name)

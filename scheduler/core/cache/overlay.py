"""Tentative placements: what the columns would say if some pods came or went."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns


class Overlay:
    """Adds and removes pods on the columns for as long as the context lasts; leaving it rolls everything back.

    ::

        with snapshot.overlay() as overlay:
            overlay.remove_pod(row, victim)
            ...  # filters asked about this row see the node without it

    Only filters asked directly see it: verdicts that are kept belong to the snapshot itself, and nothing may be
    refreshed or kept while an overlay is open.
    """

    def __init__(self, nodes: NodeColumns) -> None:
        self._nodes = nodes
        self._done: list[tuple[int, PodInfo, int]] = []

    def __enter__(self) -> Overlay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.rollback()

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Count the pod on the row's node."""
        self._change(row, pod, 1)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """Count the pod, which is on the row's node, no more."""
        self._change(row, pod, -1)

    def rollback(self) -> None:
        """Undo everything, newest first."""
        while self._done:
            row, pod, sign = self._done.pop()
            self._nodes.count_pod(row, pod, -sign)

    def _change(self, row: int, pod: PodInfo, sign: int) -> None:
        self._nodes.count_pod(row, pod, sign)
        self._done.append((row, pod, sign))

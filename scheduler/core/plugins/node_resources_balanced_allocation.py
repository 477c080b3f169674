"""Prefers nodes whose resources the pod makes more evenly used."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from scheduler.config.plugin_args import NodeResourcesBalancedAllocationArgs
from scheduler.core.framework.interface import MAX_NODE_SCORE, Depends, Rows, ScorePlugin
from scheduler.core.framework.resource_allocation import Allocation, allocation, allocation_of_row
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot
    from scheduler.core.framework.cycle_state import CycleState


_HALF: Final = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation(ScorePlugin):
    """Score: 50 + (50 + balance with the pod - balance without it) / 2, in whole numbers.

    balance = int((1 - standard deviation of the used fractions) * 100), over the resources that the node offers.
    """

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    depends: ClassVar[Depends] = Depends.ROW

    def __init__(self, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._resources = tuple(spec.name for spec in args.resources)

    def score_signature(self, pod: PodInfo, snapshot: Snapshot) -> Hashable | None:
        """The requests; None for a pod that asks nothing of the resources: it would draw all such pods to one node."""
        return pod.requests if any(pod.requests.get_for_balance(resource) for resource in self._resources) else None

    def score(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, rows: Rows, feasible: BoolArray) -> IntArray:
        """50..100 a row; 75 leaves the balance as it is."""
        stands = [
            stand
            for resource in self._resources
            if (stand := allocation(snapshot.nodes, resource, pod, rows, non_zero_defaults=False)) is not None
        ]
        gain = _balance(stands, with_pod=True)
        gain -= _balance(stands, with_pod=False)
        return _HALF + (_HALF + gain.astype(np.int64)) // 2

    def score_row(self, state: CycleState, pod: PodInfo, snapshot: Snapshot, row: int) -> int:
        """The same, on plain numbers when there are two resources."""
        stands = [
            stand
            for resource in self._resources
            if (stand := allocation_of_row(snapshot.nodes, resource, pod, row, non_zero_defaults=False)) is not None
        ]
        if len(stands) != 2 or not (stands[0].allocatable and stands[1].allocatable):
            return super().score_row(state, pod, snapshot, row)
        first, second = stands
        with_pod = _balance_of_two(
            (first.requested + first.ask) / first.allocatable, (second.requested + second.ask) / second.allocatable
        )
        without_pod = _balance_of_two(first.requested / first.allocatable, second.requested / second.allocatable)
        return _HALF + (_HALF + with_pod - without_pod) // 2


def _balance_of_two(first: float, second: float) -> int:
    return int((1 - abs((min(first, 1.0) - min(second, 1.0)) / 2)) * MAX_NODE_SCORE)


def _balance(stands: list[Allocation[FloatArray]], *, with_pod: bool) -> FloatArray:
    fractions = [_fraction(stand, with_pod=with_pod) for stand in stands]
    if len(stands) == 2 and stands[0].everywhere and stands[1].everywhere:
        deviation = fractions[0]
        deviation -= fractions[1]
        np.abs(deviation, out=deviation)
        deviation /= 2
    else:
        deviation = _deviation(np.array(fractions), np.array([stand.allocatable > 0 for stand in stands]))
    np.subtract(1, deviation, out=deviation)
    deviation *= MAX_NODE_SCORE
    return np.floor(deviation, out=deviation)


def _fraction(stand: Allocation[FloatArray], *, with_pod: bool) -> FloatArray:
    """The part of what is offered that is in use, at most 1; anything where nothing is offered."""
    fraction = stand.requested + (stand.ask if with_pod else 0)
    fraction /= stand.allocatable if stand.everywhere else np.maximum(stand.allocatable, 1)
    return np.minimum(fraction, 1.0, out=fraction)


def _deviation(fractions: FloatArray, offered: BoolArray) -> FloatArray:
    """Standard deviation a row over the offered resources; of two it is half their distance, of one or none 0."""
    if len(fractions) < 2:
        return np.zeros(fractions.shape[1:] or (1,))
    number = offered.sum(axis=0)
    # Added up in the order of the resources, as the reference implementation does: floats do not commute.
    total = np.zeros(fractions.shape[1])
    for row, there in zip(fractions, offered, strict=True):
        total += np.where(there, row, 0.0)
    mean = total / np.maximum(number, 1)
    squares = np.zeros(fractions.shape[1])
    for row, there in zip(fractions, offered, strict=True):
        squares += np.where(there, (row - mean) * (row - mean), 0.0)
    deviation = np.sqrt(squares / np.maximum(number, 1))
    highest = np.where(offered, fractions, -np.inf).max(axis=0)
    lowest = np.where(offered, fractions, np.inf).min(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(number > 2, deviation, np.where(number == 2, (highest - lowest) / 2, 0.0))

"""Which pods of a node must go so that a pod fits there."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from scheduler.core.framework.evaluation import FEASIBLE, RowCheck
from scheduler.core.framework.types import PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.node_info import NodeInfo

PRIORITY_SHIFT: Final = 2**31
"""Added to every priority before they are summed: a sum of negative ones must not make more victims look better."""

NOTHING_TO_REMOVE: Final = -2
"""Stands for a filter's index where a node has no pod of lower priority."""


class Rejection(NamedTuple):
    """Why even removing all pods of lower priority makes no room.

    The index of the filter that rejects the node then and its verdict, or NOTHING_TO_REMOVE and 0.
    """

    rejected_by: int
    verdict: int


def select_victims_on_node(check: RowCheck, node: NodeInfo) -> tuple[PodInfo, ...] | Rejection:
    """Remove every pod of lower priority, then give back, most important first, each one that still fits.

    The victims come most important first.
    """
    lower = sorted((pod for pod in node.pods.values() if pod.priority < check.pod.priority), key=importance)
    if not lower:
        return Rejection(NOTHING_TO_REMOVE, 0)
    row = node.row
    with check.snapshot.overlay() as overlay:
        for pod in lower:
            overlay.remove_pod(row, pod)
        rejection = check.rejection(row)
        if rejection[0] != FEASIBLE:
            return Rejection(*rejection)
        victims = []
        for pod in lower:
            overlay.add_pod(row, pod)
            if check.rejection(row)[0] != FEASIBLE:
                overlay.remove_pod(row, pod)
                victims.append(pod)
    return tuple(victims)


def importance(pod: PodInfo) -> tuple[int, float]:
    """Sort key, most important first: higher priority, then the pod that started earlier."""
    return (-pod.priority, start_of(pod))


def start_of(pod: PodInfo) -> float:
    """When the pod started (epoch seconds); a pod that has not is taken to start later than any that has."""
    started = pod.pod.status.start_time
    return inf if started is None else started.timestamp()


def priority_sum(victims: Sequence[PodInfo]) -> int:
    """Σ (priority + 2^31)."""
    return sum(pod.priority + PRIORITY_SHIFT for pod in victims)


def earliest_start(victims: Sequence[PodInfo]) -> float:
    """When the first of the most important victims started; infinite when none has."""
    return min((start_of(pod) for pod in victims if pod.priority == victims[0].priority), default=inf)

"""Which pods of a node must go so that a pod fits there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from scheduler.core.framework.outcome import FEASIBLE, Int8Array
from scheduler.core.framework.row_check import RowCheck
from scheduler.core.framework.types import BoolArray, IntArray, PodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.node_info import NodeInfo
    from scheduler.core.preemption.pod_slots import PodSlots

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


@dataclass(frozen=True, slots=True)
class ManyVictims:
    """The victims on many nodes; each array has an entry for each row asked about.

    Attributes:
        rejected_by, verdicts: FEASIBLE and 0 where there are victims, else as in `Rejection`.
        chosen: bool, slots by rows: which pods are victims.
    """

    rejected_by: Int8Array
    verdicts: IntArray
    chosen: BoolArray


def select_victims_on_nodes(check: RowCheck, rows: RowIndex, slots: PodSlots) -> ManyVictims:
    """`select_victims_on_node` for many rows at once, one step a slot instead of one a pod.

    Only for rows on which nothing but sums counts of pods that may be removed or are nominated
    (`RowCheck.rows_to_ask_alone`). Every row has a pod of lower priority.
    """
    removable = slots.priorities[:, rows] < check.pod.priority
    asked = [name for name, _ in check.pod.requests.amounts if name in slots.requested]
    amounts = {name: slots.requested[name][:, rows] for name in asked}
    chosen = np.zeros(removable.shape, np.bool_)
    with check.snapshot.overlay() as overlay:
        # Who fits beside them fits without them: sums only grow.
        check.add_nominated(overlay, rows)
        lower = {name: np.where(removable, each, 0).sum(axis=0) for name, each in amounts.items()}
        overlay.change_many(rows, -removable.sum(axis=0), {name: -total for name, total in lower.items()})
        rejected_by, verdicts = check.rejections(rows)
        fitting = rejected_by == FEASIBLE
        for slot in np.flatnonzero(removable.any(axis=1)).tolist():
            turn = np.flatnonzero(fitting & removable[slot])
            overlay.change_many(rows[turn], 1, {name: each[slot][turn] for name, each in amounts.items()})
            gone = turn[check.rejections(rows[turn])[0] != FEASIBLE]
            overlay.change_many(rows[gone], -1, {name: -each[slot][gone] for name, each in amounts.items()})
            chosen[slot, gone] = True
    return ManyVictims(rejected_by, verdicts, chosen)


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

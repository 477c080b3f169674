"""How well a pod's claims fill the volumes, or the room, that they would get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.core.framework.types import BoolArray, FloatArray, IntArray
from scheduler.core.volumes.available import NONE, Choice, requested_bytes

if TYPE_CHECKING:
    from scheduler.core.volumes.node_volumes import NodeVolumes

_FULL: Final = 100


@dataclass(slots=True)
class _OfClass:
    """What the claims of one StorageClass ask and would get, node by node; bytes."""

    requested: IntArray
    capacity: IntArray
    counts: BoolArray


def capacity_scores(found: NodeVolumes, score_by_percent: FloatArray) -> IntArray:
    """The mean, over StorageClasses, of the score of 100 · requested / capacity (whole percent); int64, 0..100 a row.

    Where some claim gets a volume that is there, those claims alone count: what is known of room for others would not
    compare. Classes are those that the volumes' specs name. A class whose capacity is unknown does not count.
    Source: kube-scheduler with StorageCapacityScoring.
    """
    rows = len(found.faults)
    if not found.choices and all(provision.room_bytes is None for provision in found.provisions):
        return np.zeros(rows, np.int64)
    has_volume = np.zeros(rows, np.bool_)
    for choice in found.choices:
        has_volume |= choice.slots != NONE
    total, classes = np.zeros(rows), np.zeros(rows, np.int64)
    for each in (*_static(found).values(), *_dynamic(found, ~has_volume).values()):
        over = (each.capacity == 0) | (each.requested > each.capacity)
        percent = np.where(over, _FULL, each.requested * _FULL // np.where(over, 1, each.capacity))
        total += np.where(each.counts, score_by_percent[np.where(each.counts, percent, 0)], 0)
        classes += each.counts
    mean = total / np.maximum(classes, 1)
    return np.floor(mean + 0.5).astype(np.int64)


def _static(found: NodeVolumes) -> dict[str, _OfClass]:
    by_class: dict[str, _OfClass] = {}
    for choice in found.choices:
        has = choice.slots != NONE
        for slot, name in choice.otherwise_named.items():
            otherwise = choice.slots == slot
            _add(_class(by_class, name, len(has)), choice, otherwise)
            has &= ~otherwise
        _add(_class(by_class, choice.storage_class, len(has)), choice, has)
    return by_class


def _add(of_class: _OfClass, choice: Choice, where: BoolArray) -> None:
    of_class.requested += where * requested_bytes(choice.claim)
    of_class.capacity += np.where(where, choice.capacity_bytes[choice.slots], 0).astype(np.int64)
    of_class.counts |= where


def _dynamic(found: NodeVolumes, where: BoolArray) -> dict[str, _OfClass]:
    by_class: dict[str, _OfClass] = {}
    for provision in found.provisions:
        if provision.room_bytes is None:
            continue
        of_class = _class(by_class, provision.storage_class, len(found.faults))
        has = where & ~np.isnan(provision.room_bytes)
        of_class.requested += has * requested_bytes(provision.claim)
        # The room is the class's, however many claims share it.
        of_class.capacity[has] = provision.room_bytes[has].astype(np.int64)
        of_class.counts |= has
    return by_class


def _class(by_class: dict[str, _OfClass], name: str, rows: int) -> _OfClass:
    if name not in by_class:
        by_class[name] = _OfClass(np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.bool_))
    return by_class[name]

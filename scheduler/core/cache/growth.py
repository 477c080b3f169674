"""Columns that grow with the cluster."""

from typing import TypeVar, cast

import numpy as np

from scheduler.core.framework.types import BoolArray, FloatArray, IntArray

A = TypeVar("A", BoolArray, FloatArray, IntArray)


def grown(column: A, capacity: int, *, fill: int) -> A:
    """The column with room for rows below `capacity`; new ones hold `fill`."""
    wider = np.full(capacity, fill, column.dtype)
    wider[: len(column)] = column
    return cast("A", wider)

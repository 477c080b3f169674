"""Score functions that a configuration draws as a broken line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from scheduler.config.plugin_args import UtilizationShapePoint
from scheduler.core.framework.types import FloatArray

_SCORE_SCALE: Final = 10
"""A shape point's score is 0..10."""


def scores_by_percent(shape: Sequence[UtilizationShapePoint]) -> FloatArray:
    """The score, 0..100, of each utilisation from 0 to 100 percent: along the shape, flat outside its points."""
    return np.array([_on_broken_line(shape, percent) for percent in range(101)], np.float64)


def _on_broken_line(shape: Sequence[UtilizationShapePoint], percent: int) -> int:
    previous: UtilizationShapePoint | None = None
    for point in shape:
        if percent <= point.utilization:
            if previous is None:
                return point.score * _SCORE_SCALE
            rise = (point.score - previous.score) * _SCORE_SCALE * (percent - previous.utilization)
            run = point.utilization - previous.utilization
            return previous.score * _SCORE_SCALE + (abs(rise) // run if rise >= 0 else -(abs(rise) // run))
        previous = point
    return previous.score * _SCORE_SCALE if previous is not None else 0

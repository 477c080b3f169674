"""Among the nodes where preemption would help, the one where it does the least harm."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.core.framework.types import FloatArray, IntArray, RowIndex


def pick_one_node_for_preemption(rows: RowIndex, criteria: Sequence[IntArray | FloatArray]) -> RowIndex:
    """Those of `rows` (not empty) that are as good as any, lowest first.

    `criteria` hold a value a row, smaller is better; the next one decides between rows that are equal in the ones
    before.
    """
    for criterion in criteria:
        values = criterion[rows]
        rows = rows[values == values.min()]
        if len(rows) == 1:
            break
    return rows

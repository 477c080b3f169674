"""What filtering and scoring said about nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from scheduler.core.framework.best_rows import BestRows, Rng
from scheduler.core.framework.interface import Rows, ScorePlugin
from scheduler.core.framework.types import BoolArray, IntArray

FEASIBLE: Final = 127
"""`rejected_by` of a row that no plugin rejects."""
NO_NODE: Final = -1
"""`rejected_by` of a row without a node."""
INFEASIBLE: Final = -1
"""Total of a row that is not feasible."""

Int8Array = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A score plugin with its weight and its index in the profile's order."""

    plugin: ScorePlugin
    weight: int


@dataclass(slots=True)
class Outcome:
    """What filtering and scoring said about `rows` (all of them, or the few a PreFilter plugin left).

    Attributes:
        rejected_by: int8 a row: FEASIBLE, NO_NODE, or the index of the first filter plugin that rejects the node.
        verdicts: int32 a row: that plugin's verdict.
        scores: int64 a row: weighted scores added up, INFEASIBLE where the node was seen not to be feasible. Scores
            equal for all nodes may be left out: these rank nodes but are not the numbers kube-scheduler would log.
        feasible: number of feasible rows.
        raw_of_nodes: raw scores that are yet to be normalised over the feasible nodes.
        best: the rows with the highest of `scores`, where they are known without looking at all.
        among: which rows are feasible, where `scores` do not tell.
    """

    rows: Rows
    rejected_by: Int8Array
    verdicts: IntArray
    scores: IntArray
    feasible: int
    raw_of_nodes: Sequence[tuple[ScorePart, IntArray]] = ()
    best: BestRows | None = None
    among: BoolArray | None = None

    @property
    def totals(self) -> IntArray:
        """`scores`, INFEASIBLE wherever the node is not feasible."""
        if self.among is not None:
            self.totals = np.where(self.among, self.scores, INFEASIBLE)
        return self.scores

    @totals.setter
    def totals(self, totals: IntArray) -> None:
        self.scores, self.among, self.best = totals, None, None

    def draw(self, rng: Rng) -> int:
        """The position of one of the feasible rows with the highest total, each as likely as the other."""
        if self.among is not None and self.best is not None:
            row = self.best.draw_among(self.scores, self.among, rng)
            if row is not None:
                return row
        totals = self.totals
        return (self.best or BestRows()).draw(totals, rng)

    def correct(self, row: int, rejected_by: int, verdict: int) -> None:
        """Replace the answer about one row by a rejection; what was kept for other pods stays as it is."""
        position = row if isinstance(self.rows, slice) else int(np.flatnonzero(self.rows == row)[0])
        self.feasible -= self.rejected_by.item(position) == FEASIBLE
        self.rejected_by, self.verdicts = self.rejected_by.copy(), self.verdicts.copy()
        self.rejected_by[position], self.verdicts[position] = rejected_by, verdict
        totals = self.totals.copy()
        totals[position] = INFEASIBLE
        self.totals = totals

    def row(self, position: int) -> int:
        """The row that stands at a position of the arrays."""
        return position if isinstance(self.rows, slice) else int(self.rows[position])


@dataclass(slots=True, kw_only=True)
class FullEvaluation(Outcome):
    """An outcome with everything shown.

    Attributes:
        raw: raw scores by plugin, int64 a row, for the plugins that take part.
        weighted: normalised scores times weight, likewise.
    """

    raw: dict[str, IntArray]
    weighted: dict[str, IntArray]

"""BestRows against a look at all totals. Not covered: when it is told of changes (test_evaluation does that)."""

import random

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from scheduler.core.framework.best_rows import BestRows

CHANGES = st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 4)), max_size=30)


@given(st.lists(st.integers(-1, 4), min_size=6, max_size=6), CHANGES, st.integers(0, 2**32))
def test_a_drawn_row_is_always_one_of_the_best(start: list[int], changes: list[tuple[int, int]], seed: int) -> None:
    """Whatever rises and falls between two draws, a draw gives a row with the highest total."""
    totals, best, rng = np.array(start), BestRows(), random.Random(seed)
    for row, new in changes:
        assert totals[best.draw(totals, rng)] == totals.max()
        best.note(row, int(totals[row]), new)
        totals[row] = new
    assert totals[best.draw(totals, rng)] == totals.max()


def test_every_best_row_is_as_likely_as_the_other() -> None:
    """A row that fell out and came back is drawn no more often than the rest."""
    totals, best, rng = np.array([3, 3, 3, 1]), BestRows(), random.Random(7)
    best.draw(totals, rng)
    for new in (2, 3):
        best.note(0, int(totals[0]), new)
        totals[0] = new
    drawn = [best.draw(totals, rng) for _ in range(3_000)]
    assert {row: drawn.count(row) in range(900, 1_100) for row in set(drawn)} == {0: True, 1: True, 2: True}


def test_after_forget_all_totals_are_looked_at() -> None:
    """Totals that changed at large show in the next draw."""
    totals, best, rng = np.array([5, 1]), BestRows(), random.Random(1)
    assert best.draw(totals, rng) == 0
    totals[:] = (1, 5)
    best.forget()
    assert best.draw(totals, rng) == 1

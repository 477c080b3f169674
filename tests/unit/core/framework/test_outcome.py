"""The choice among the rows of an outcome."""

import random
from collections import Counter

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from scheduler.core.framework.best_rows import BestRows
from scheduler.core.framework.outcome import FEASIBLE, INFEASIBLE, Outcome

ROWS = 6


def outcome_of(scores: list[int], among: list[bool] | None, best: BestRows | None) -> Outcome:
    """What a cluster-wide filter leaves of kept scores."""
    rejected_by, verdicts = np.full(len(scores), FEASIBLE, np.int8), np.zeros(len(scores), np.int32)
    outcome = Outcome(slice(0, len(scores)), rejected_by, verdicts, np.array(scores), len(scores), best=best)
    outcome.among = None if among is None else np.array(among)
    return outcome


@given(
    st.lists(st.integers(0, 3), min_size=ROWS, max_size=ROWS),
    st.lists(st.lists(st.booleans(), min_size=ROWS, max_size=ROWS).filter(any), max_size=5),
    st.integers(0, 2**32),
)
def test_the_row_drawn_is_the_best_of_those_left(scores: list[int], left: list[list[bool]], seed: int) -> None:
    """Whatever rows a filter leaves in each cycle, and however few, what is known of the best ones does not mislead."""
    best, rng = BestRows(), random.Random(seed)
    for among in [*left, None]:
        allowed = [score for score, is_left in zip(scores, among or [True] * ROWS, strict=True) if is_left]
        row = outcome_of(scores, among, best).draw(rng)
        assert among is None or among[row]
        assert scores[row] == max(allowed)


def test_each_of_the_best_rows_left_is_as_likely_as_the_other() -> None:
    """Rows that are not left take nobody's share."""
    best, rng = BestRows(), random.Random(7)
    among = [True, False, True, False, True, True]
    drawn = Counter(outcome_of([2, 2, 2, 2, 2, 1], among, best).draw(rng) for _ in range(3_000))
    assert sorted(drawn) == [0, 2, 4]
    assert all(900 < count < 1_100 for count in drawn.values())


def test_totals_show_the_rows_that_are_not_left() -> None:
    """Kept scores are not changed by a cycle that leaves some of their rows out."""
    scores = [5, 4, INFEASIBLE]
    outcome = outcome_of(scores, [False, True, False], BestRows())
    kept = outcome.scores
    assert outcome.totals.tolist() == [INFEASIBLE, 4, INFEASIBLE]
    assert kept.tolist() == scores

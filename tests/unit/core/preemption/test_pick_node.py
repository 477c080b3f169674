"""On which node preemption does the least harm: each criterion, and that it decides only where those before do not."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from scheduler.core.framework.types import PodInfo
from scheduler.core.preemption.evaluator import Candidates, DryRuns
from scheduler.core.preemption.pick_node import pick_one_node_for_preemption
from scheduler.core.preemption.victims import Rejection, importance
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import parsed, snapshot_of

LOWEST, HIGHEST = -(2**31), 2**31 - 1


def victim(priority: int, started: int | None = None) -> PodInfo:
    """A victim; `started` is a minute of an hour."""
    pod = make_pod("v").priority(priority)
    return parsed(pod if started is None else pod.started(datetime(2026, 1, 1, 12, started, tzinfo=UTC)))


def best(*victims: tuple[PodInfo, ...], without: tuple[int, ...] = ()) -> list[int]:
    """The best of nodes with these victims; on those `without` preemption does not help."""
    snapshot = snapshot_of(*(make_node(f"n{number}") for number in range(len(victims))))
    runs = DryRuns.empty(parsed(make_pod("p")), snapshot)
    for row, each in enumerate(victims):
        runs.write(row, tuple(sorted(each, key=importance)) if row not in without else Rejection(0, 1))
    looked_at = np.arange(len(victims))
    rows = np.array([row for row in looked_at.tolist() if row not in without], np.intp)
    return [int(row) for row in Candidates(runs, looked_at, rows).best()]


def test_a_node_that_needs_no_victims_is_best() -> None:
    """Even against one whose only victim has the lowest priority there is."""
    assert best((victim(LOWEST),), ()) == [1]
    assert best((), (victim(LOWEST),), ()) == [0, 2]


def test_the_lowest_highest_priority_wins() -> None:
    """Against a smaller sum, fewer victims, and a later start."""
    assert best((victim(9, 30),), (victim(8, 1), victim(8, 1), victim(8, 1))) == [1]


def test_then_the_smallest_sum() -> None:
    """The shift by 2^31 makes each further victim count, however low its priority."""
    assert best((victim(9), victim(5)), (victim(9), victim(4))) == [1]
    assert best((victim(9), victim(-100)), (victim(9),)) == [1]
    assert best((victim(9, 30), victim(0, 30)), (victim(9, 1), victim(-1, 1))) == [1]


@pytest.mark.parametrize("count", [2, 3, 110])
def test_sums_of_extreme_priorities_do_not_wrap_around(count: int) -> None:
    """They need more than 32 bits from the second victim on."""
    fewer, more = (tuple(victim(HIGHEST) for _ in range(number)) for number in (count - 1, count))
    assert best(more, fewer) == [1]
    assert best(fewer, more) == [0]


def test_then_the_fewest_victims() -> None:
    """A victim of the lowest priority adds nothing to the sum."""
    assert best((victim(9, 30), victim(LOWEST, 30)), (victim(9, 1),)) == [1]


def test_then_the_latest_start_of_the_first_among_the_highest() -> None:
    """Who started first among the most important counts, the others do not; one that has not started is latest."""
    assert best((victim(9, 10), victim(9, 50)), (victim(9, 20), victim(9, 30))) == [1]
    assert best((victim(9, 10), victim(5, 50)), (victim(9, 20), victim(5, 1))) == [1]
    assert best((victim(9, 50),), (victim(9),)) == [1]


def test_then_nothing_tells_them_apart() -> None:
    """All of them are told, the lowest row first."""
    assert best((victim(9, 10),), (victim(9, 20),), (victim(9, 20),)) == [1, 2]


def test_nodes_where_preemption_does_not_help_are_no_choice() -> None:
    """Whatever stands in their place."""
    assert best((), (victim(9),), (victim(8),), without=(0, 2)) == [1]


def test_a_criterion_decides_among_what_is_left() -> None:
    """A row that lost by one criterion does not come back by the next."""
    rows = np.array([0, 2, 4])
    first = np.array([1, 0, 1, 0, 2])
    second = np.array([5, 0, 4, 0, 1])
    assert pick_one_node_for_preemption(rows, [first]).tolist() == [0, 2]
    assert pick_one_node_for_preemption(rows, [first, second]).tolist() == [2]
    assert pick_one_node_for_preemption(rows, [first, second, -second]).tolist() == [2]

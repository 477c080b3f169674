"""Percentiles, ratios and the table."""

import math

import pytest

from tests.bench.comparison import Better, Metric, Ratio, Row, advantage, pair_ratios, percentile, ratios, table

RATE = Metric("rate", "pods/s", Better.HIGHER, 1)
COST = Metric("cost", "CPU ms", Better.LOWER, 2)
ROWS = [
    Row(1, "peer", {"rate": 400.0, "cost": 2.0}),
    Row(1, "ours", {"rate": 1000.0, "cost": 0.5}),
    Row(2, "peer", {"rate": 500.0, "cost": 2.0}),
    Row(2, "ours", {"rate": 1000.0, "cost": 0.4}),
    Row(3, "peer", {"rate": 400.0, "cost": 2.0}),
    Row(3, "ours", {"rate": 1200.0, "cost": 0.25}),
    Row(0, "limit", {"rate": 1190.0, "cost": 0.1}),
]


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (99, 99), (99.5, 100), (100, 100), (0, 1)])
def test_percentile_is_a_value_that_occurred(percent: float, expected: float) -> None:
    """The percentile of 1 … 100 in any order is the nearest rank."""
    assert percentile([*range(100, 50, -1), *range(1, 51)], percent) == expected


def test_percentile_of_one_value() -> None:
    """A single value is every percentile."""
    assert percentile([7.0], 50) == percentile([7.0], 99) == 7.0


def test_advantage_follows_the_direction_of_the_metric() -> None:
    """More is better for a rate, less for a cost."""
    assert advantage(RATE, 400, 1000) == 2.5
    assert advantage(COST, 2.0, 0.5) == 4.0
    assert advantage(COST, 2.0, 0.0) == math.inf


def test_ratios_are_taken_within_each_pair() -> None:
    """A run is compared with the run of its own pair."""
    assert pair_ratios(RATE, ROWS, "peer", "ours") == [2.5, 2.0, 3.0]


def test_median_and_spread_of_the_pairs() -> None:
    """Each metric gets the median of its ratios, with the lowest and the highest."""
    assert ratios([RATE, COST], ROWS, "peer", "ours") == {
        "rate": Ratio(2.5, 2.0, 3.0),
        "cost": Ratio(5.0, 4.0, 8.0),
    }


def test_no_ratio_without_a_complete_pair() -> None:
    """A benchmark of one scheduler alone has no ratios, and its table says nothing of them."""
    assert ratios([RATE], ROWS[:1], "peer", "ours") == {}
    assert "better" not in table([RATE], ROWS[:1], "peer", "ours")


def test_table_shows_every_run_and_the_ratio() -> None:
    """One line a run, the limit without a pair, and the ratio at the end."""
    assert table([RATE, COST], ROWS, "peer", "ours").splitlines() == [
        "pair  scheduler                   pods/s        CPU ms",
        "1     peer                         400.0          2.00",
        "1     ours                       1,000.0          0.50",
        "2     peer                         500.0          2.00",
        "2     ours                       1,000.0          0.40",
        "3     peer                         400.0          2.00",
        "3     ours                       1,200.0          0.25",
        "      limit                      1,190.0          0.10",
        "      times better, median          2.50          5.00",
        "      lowest to highest     2.00 to 3.00  4.00 to 8.00",
    ]

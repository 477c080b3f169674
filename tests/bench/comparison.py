"""Percentiles, ratios between two schedulers, and the table of a benchmark. Pure: no clock, no I/O."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which of two values of a metric is the good one."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Metric:
    """One column of the table."""

    key: str
    """Name in the JSON file, with its unit."""
    heading: str
    better: Better
    decimals: int


@dataclass(frozen=True)
class Row:
    """What one run of one contestant gave, by metric key."""

    pair: int
    contestant: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Ratio:
    """How many times better the second contestant is than the first; above 1 means better, for every metric."""

    median: float
    lowest: float
    highest: float


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of the values that at least `percent` of them do not exceed (nearest rank). Needs one value."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def advantage(metric: Metric, base: float, compared: float) -> float:
    """How many times better `compared` is than `base`; infinite when a cost has fallen to nothing."""
    good, bad = (compared, base) if metric.better is Better.HIGHER else (base, compared)
    return good / bad if bad else math.inf


def pair_ratios(metric: Metric, rows: Sequence[Row], base: str, compared: str) -> list[float]:
    """The advantage of `compared` over `base` in each pair that has both, in order of the pairs."""
    values = {(row.pair, row.contestant): row.values[metric.key] for row in rows}
    return [
        advantage(metric, value, values[pair, compared])
        for (pair, contestant), value in values.items()
        if contestant == base and (pair, compared) in values
    ]


def ratios(metrics: Sequence[Metric], rows: Sequence[Row], base: str, compared: str) -> dict[str, Ratio]:
    """Median and spread over the pairs, by metric key; empty when no pair is complete."""
    found = {metric.key: pair_ratios(metric, rows, base, compared) for metric in metrics}
    return {key: Ratio(statistics.median(values), min(values), max(values)) for key, values in found.items() if values}


def table(metrics: Sequence[Metric], rows: Sequence[Row], base: str, compared: str) -> str:
    """Every run, one a line, then how many times better `compared` is: the median of the pairs, and their spread."""
    lines = [["pair", "scheduler", *(metric.heading for metric in metrics)]]
    lines += [
        [str(row.pair) if row.pair else "", row.contestant, *(_number(row.values[m.key], m.decimals) for m in metrics)]
        for row in rows
    ]
    overall = ratios(metrics, rows, base, compared)
    if overall:
        medians = [_number(overall[metric.key].median, 2) for metric in metrics]
        spreads = [f"{overall[m.key].lowest:.2f} to {overall[m.key].highest:.2f}" for m in metrics]
        lines += [["", "times better, median", *medians], ["", "lowest to highest", *spreads]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_aligned(line, widths) for line in lines)


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()

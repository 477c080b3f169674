"""A simulation's answer for people: tables of what became of the pods and why, and a summary line.

On a terminal the tables are drawn by rich; into a file or pipe, and where there are too many rows to look at, they are
plain columns, one line a pod, to be searched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TextIO

from scheduler.simulator.node_names import compact
from scheduler.simulator.report import summary
from scheduler.simulator.results import Choice, Outcome, PodResult, Simulation
from scheduler.telemetry.standard_output import on_one_line

_MOST_DRAWN_ROWS: Final = 500
_SHOWN_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class Table:
    """A part of the answer; it has at least one row."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def write_text_report(simulation: Simulation, stream: TextIO) -> None:
    """Write tables and summary."""
    tables = [
        replace(table, rows=[tuple(map(on_one_line, row)) for row in table.rows])
        for table in _tables(simulation)
        if table.rows
    ]
    if stream.isatty() and sum(len(table.rows) for table in tables) <= _MOST_DRAWN_ROWS:
        _draw(tables, stream)
    else:
        stream.writelines(line for table in tables for line in _plain(table))
    stream.write(f"{summary_line(simulation)}\n")


def _tables(simulation: Simulation) -> Iterator[Table]:
    pods = simulation.pods
    yield Table(
        "Placed",
        ("POD", "NODE", "WHY", "RUNNER-UP"),
        [
            (pod.key, pod.node_name, _why(pod), _runner_up(pod.choice) if pod.choice else "")
            for pod in pods
            if pod.outcome is Outcome.PLACED
        ],
    )
    yield Table(
        "Evicted",
        ("POD", "NODE", "PRIORITY", "FOR"),
        [(each.pod, each.node_name, str(each.priority), each.preemptor) for each in simulation.evictions],
    )
    yield Table("Not placed", ("POD", "WHY", "NODES"), list(_failures(pods)))
    others = (Outcome.GATED, Outcome.SKIPPED, Outcome.EVICTED)
    yield Table(
        "Not tried",
        ("POD", "WHY"),
        [(pod.key, pod.message) for pod in pods if pod.outcome in others],
    )
    foreign = Counter(each.scheduler_name for each in simulation.foreign_pods)
    yield Table(
        "Of other schedulers",
        ("SCHEDULERNAME", "PENDING PODS"),
        [(name or "(none)", str(count)) for name, count in sorted(foreign.items())],
    )
    warnings = [(str(remark.place), remark.message) for remark in simulation.warnings]
    left_out = len(warnings) - _SHOWN_WARNINGS
    more = [(f"{left_out} more", "-o json lists them all")] if left_out > 0 else []
    yield Table("Warnings", ("WHERE", "WHAT"), [*warnings[:_SHOWN_WARNINGS], *more])


def _why(pod: PodResult) -> str:
    made = f"; evicted {', '.join(pod.evicted)}" if pod.evicted else ""
    if pod.choice is None:
        nominated = pod.nominated_node == pod.node_name
        return ("its nominated node" if nominated else "the only node that fits") + made
    winner = pod.choice.winner
    plugins = sorted(winner.by_plugin.items(), key=lambda each: -each[1])
    scores = " + ".join(f"{name} {score}" for name, score in plugins if score) or "no plugin prefers a node"
    return f"{winner.total} = {scores}; {pod.feasible_nodes} nodes fit{made}"


def _runner_up(choice: Choice) -> str:
    winner, other = choice.winner, choice.runner_up
    if choice.tied > 1:
        return f"{other.node_name}, as good ({choice.tied} nodes tie, chance decided)"
    gaps = {name: other.by_plugin.get(name, 0) - score for name, score in winner.by_plugin.items()}
    told = ", ".join(f"{name} {gap:+d}" for name, gap in sorted(gaps.items(), key=lambda each: each[1]) if gap)
    return f"{other.node_name}, {other.total} ({told})"


def _failures(pods: Sequence[PodResult]) -> Iterator[tuple[str, str, str]]:
    """Pods that failed for the same reasons together: a line for the pods with the message, and one for each reason."""
    alike: dict[tuple[str, int], list[PodResult]] = {}
    for pod in pods:
        if pod.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR):
            alike.setdefault((pod.message, id(pod.rejections)), []).append(pod)
    for members in alike.values():
        first, message = members[0], members[0].message
        yield compact(pod.key for pod in members), message, ""
        for rejection in first.rejections:
            yield "", f"{', '.join(rejection.reasons)} ({rejection.plugin})", compact(rejection.nodes)


def summary_line(simulation: Simulation) -> str:
    """E.g. ``12 pods on 5 nodes: 9 placed, 2 unschedulable, 1 gated; 1 pod evicted; 3 of other schedulers``."""
    numbers = summary(simulation)
    kinds = ("placed", "unschedulable", "gated", "skipped", "failed")
    outcomes = ", ".join(f"{numbers[kind]} {kind}" for kind in kinds if numbers[kind] or kind == "placed")
    line = f"{_count(numbers['pods'], 'pod')}, {_count(numbers['nodes'], 'node')}: {outcomes}"
    if numbers["evicted"]:
        line += f"; {_count(numbers['evicted'], 'pod')} evicted"
    if numbers["notOurs"]:
        line += f"; {_count(numbers['notOurs'], 'pending pod')} of other schedulers"
    if numbers["warnings"]:
        line += f"; {_count(numbers['warnings'], 'warning')}"
    return line


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(table: Table) -> Iterator[str]:
    rows = [table.columns, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns) - 1)]
    yield f"{table.title}\n"
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip() + "\n"
    yield "\n"


def _draw(tables: Sequence[Table], stream: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for table in tables:
        drawing = Drawing(title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for column in table.columns:
            drawing.add_column(column, overflow="fold")
        for row in table.rows:
            drawing.add_row(*map(Text, row))
        console.print(drawing)
        console.print()

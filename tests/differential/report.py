"""What a run prints and leaves behind."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.differential.comparing import Outcome
from tests.differential.shrinking import Minimal

_SAID = ("apiVersion", "kind", "metadata")
_ROW = "{:<12} {:>7} {:>10} {:>10}"


def table(outcomes: Mapping[str, Outcome]) -> str:
    """Cases, decisions and differing cases by profile, and how often each deliberate difference was met."""
    rows = [_ROW.format("profile", "cases", "decisions", "differing")]
    total, deliberate = Outcome(), Counter[str]()
    for profile, outcome in outcomes.items():
        rows.append(_row(profile, outcome))
        total.add(outcome)
        deliberate += outcome.deliberate
    rows.append(_row("together", total))
    rows += [f"deliberate, {number} times: {name}" for name, number in sorted(deliberate.items())]
    return "\n".join(rows)


def _row(name: str, outcome: Outcome) -> str:
    return _ROW.format(name, outcome.cases, outcome.decisions, len(outcome.differing))


class ProgressLine:
    """One line on a terminal, written over and over; nothing where there is none."""

    def __init__(self, cases: int) -> None:
        self._cases = cases
        self._shown = sys.stderr.isatty()

    def __call__(self, done: int, differing: int) -> None:
        if self._shown:
            end = "\n" if done == self._cases else ""
            print(f"\r{done} of {self._cases} cases, {differing} differ", end=end, file=sys.stderr, flush=True)


def write_minimal(directory: Path, minimal: Minimal) -> Path:
    """Leave `NAME.jsonl`, ready to become a test, and `NAME.txt` for people; returns the path of the first."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{minimal.case.name}.jsonl"
    path.write_bytes(msgspec.json.encode(minimal.case) + b"\n")
    path.with_suffix(".txt").write_text(summary(minimal), encoding="utf-8")
    return path


def summary(minimal: Minimal) -> str:
    """The differences, and the objects as they would be written by hand."""
    raw = minimal.raw
    lines = [raw["name"], "", *minimal.lines, ""]
    if "config" in raw:
        lines.append(f"config: {json.dumps(raw['config'])}")
    for one in raw["objects"]:
        metadata = one["metadata"]
        rest = {name: part for name, part in metadata.items() if name not in ("name", "namespace", "uid")}
        lines.append(
            f"{one['kind']} {metadata.get('namespace', '')}/{metadata['name']} {json.dumps(rest) if rest else ''}"
        )
        lines += [f"    {name}: {json.dumps(part)}" for name, part in one.items() if name not in _SAID]
    lines.append(f"pods: {', '.join(raw['pods'])}{', preemption applied' if raw.get('applyPreemption') else ''}")
    return "\n".join(lines) + "\n"

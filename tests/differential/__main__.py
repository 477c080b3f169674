"""`make differential`: fresh random clusters, kube-scheduler's decisions beside Podium's."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.controlplane.build import BuildError, binary
from tests.differential.comparing import Outcome, compare_fresh
from tests.differential.report import ProgressLine, table, write_minimal
from tests.differential.shrinking import Shrinker, kinds
from tests.oracle.generator.profiles import PROFILES

ALL_EQUAL, SOME_DIFFER, NOT_ASKED = 0, 1, 2
_MOST_SHRUNK = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print what came of it, leave minimal cases; returns the exit code."""
    options = _parser().parse_args(arguments)
    profiles = options.profiles.replace(",", " ").split() or list(PROFILES)
    if unknown := sorted(set(profiles) - set(PROFILES)):
        print(f"error: no profile {', '.join(unknown)}; choose from {', '.join(PROFILES)}", file=sys.stderr)
        return NOT_ASKED
    if options.cases < 1:
        print(f"error: CASES must be at least 1, not {options.cases}", file=sys.stderr)
        return NOT_ASKED
    try:
        program = binary("oracle")
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_ASKED
    started = time.monotonic()
    outcomes = compare_fresh(program, options.seed, options.cases, profiles, ProgressLine(options.cases))
    print(table(outcomes))
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s")
    faults = [fault for outcome in outcomes.values() for fault in outcome.faults]
    for fault in faults:
        print(f"error: the oracle has no answer to {fault}", file=sys.stderr)
    if any(outcome.differing for outcome in outcomes.values()):
        shrink_some(program, outcomes, options.out)
        return SOME_DIFFER
    return NOT_ASKED if faults else ALL_EQUAL


def shrink_some(program: Path, outcomes: Mapping[str, Outcome], directory: Path) -> None:
    """Shrink one case of each kind of difference, and name the others."""
    seen: set[str] = set()
    shrunk = 0
    for outcome in outcomes.values():
        for differing in outcome.differing:
            name, found = differing.raw["name"], kinds(differing.lines)
            if shrunk == _MOST_SHRUNK or found <= seen:
                print(f"{name}: {len(differing.lines)} differences, not shrunk; the first: {differing.lines[0]}")
                continue
            seen |= found
            shrunk += 1
            minimal = Shrinker(program, differing).shrink()
            print(f"{name}: {len(differing.lines)} differences; minimal case: {write_minimal(directory, minimal)}")
            print(*(f"  {line}" for line in minimal.lines), sep="\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential",
        description="Compare Podium's decisions with kube-scheduler's on fresh random clusters.",
        epilog="Exit code: 0 when all are equal, 1 when some differ, 2 when they could not be compared.",
    )
    parser.add_argument("--cases", type=int, default=500, help="how many, shared out among the profiles")
    parser.add_argument("--seed", default="1", help="any text; the same gives the same cases")
    parser.add_argument("--profiles", default="", help=f"of {' '.join(PROFILES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path(".bench/differential"), help="where minimal cases are left")
    return parser


if __name__ == "__main__":
    sys.exit(main())

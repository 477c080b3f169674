"""`python -m tests.conformance FILE…`: our answers to any file of cases, compared with those that stand in it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.conformance.case import read_cases
from tests.conformance.compare import case_differences

ALL_EQUAL, SOME_DIFFER, BAD_INPUT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the cases that differ and a summary; returns the exit code."""
    options = _parser().parse_args(arguments)
    cases = differing = 0
    for path in options.files:
        try:
            for case in read_cases(path):
                cases += 1
                differences = case_differences(case, preemption=options.preemption)
                if differences:
                    differing += 1
                    print(f"{case.name}: differences: {len(differences)}")
                    if options.verbose:
                        print(*(f"  {line}" for line in differences), sep="\n")
        except (OSError, msgspec.DecodeError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return BAD_INPUT
    print(f"{cases} cases, {differing} differ")
    return SOME_DIFFER if differing else ALL_EQUAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Compare Podium's decisions with kube-scheduler's.",
        epilog="Exit code: 0 when all cases are equal, 1 when some differ, 2 when a file is not one of cases.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="cases as JSON lines, gzipped or plain")
    parser.add_argument(
        "--preemption",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="compare what preemption found and the message from its 'preemption:' part on (default: leave them out)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print each difference")
    return parser


if __name__ == "__main__":
    sys.exit(main())

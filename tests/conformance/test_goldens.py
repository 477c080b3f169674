"""Every golden: each node's verdict, every score, the choice, the message, and what preemption found."""

from pathlib import Path

import pytest

from tests.conformance.case import Case, read_cases
from tests.conformance.compare import compare
from tests.conformance.extent import preemption_is_comparable

GOLDENS = Path(__file__).parent / "goldens"
FOUND = Path(__file__).parent / "found"
PROFILES = (
    "basic",
    "taints",
    "affinity",
    "spread",
    "volumes",
    "preempt",
    "pdb",
    "nominated",
    "mixed",
    "resources",
    "node-affinity",
)
_WITH_PREEMPTION = 689
"""Of these so many cases are compared in full."""


def goldens(profile: str) -> list[Case]:
    """The cases of a profile."""
    return list(read_cases(GOLDENS / f"{profile}.jsonl.gz"))


@pytest.mark.parametrize("profile", PROFILES)
def test_decisions_equal_kube_schedulers(profile: str) -> None:
    """All 80 cases of the profile are answered as kube-scheduler answers them."""
    cases = goldens(profile)
    assert len(cases) == 80
    assert_equal(cases)


def test_preemption_takes_part() -> None:
    """Candidates, victims in order, rejected nodes, choice and message are left out in few cases."""
    assert sum(preemption_is_comparable(case) for profile in PROFILES for case in goldens(profile)) == _WITH_PREEMPTION


def test_cases_once_found_stay_equal() -> None:
    """Minimal cases of differences that are mended."""
    found = [case for path in sorted(FOUND.glob("*.jsonl")) for case in read_cases(path)]
    assert found
    assert_equal(found)


def assert_equal(cases: list[Case]) -> None:
    """None of the cases differs; the message lists how the others do."""
    differing = {
        case.name: lines
        for case in cases
        if (lines := compare(case, preemption=preemption_is_comparable(case)).differences)
    }
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)

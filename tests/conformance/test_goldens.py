"""Every case of the profiles whose plugins exist: each node's verdict, every score, the choice and the message."""

from pathlib import Path

import pytest

from tests.conformance.case import Case, read_cases
from tests.conformance.compare import case_differences
from tests.conformance.extent import preemption_is_comparable

GOLDENS = Path(__file__).parent / "goldens"
FOUND = Path(__file__).parent / "found"
PROFILES = ("basic", "taints", "resources", "node-affinity", "affinity", "spread", "volumes")
"""Those whose plugins are all there."""


def goldens(profile: str) -> list[Case]:
    """The cases of a profile."""
    return list(read_cases(GOLDENS / f"{profile}.jsonl.gz"))


@pytest.mark.parametrize("profile", PROFILES)
def test_decisions_equal_kube_schedulers(profile: str) -> None:
    """All 80 cases of the profile are answered as kube-scheduler answers them."""
    cases = goldens(profile)
    assert len(cases) == 80
    assert_equal(cases, preemption=False)


def test_preemption_equals_kube_schedulers() -> None:
    """Candidates, victims in order, rejected nodes, choice and message, in the cases that need nothing else yet."""
    cases = [
        case
        for profile in ("preempt", "pdb", "nominated", "basic", "taints", "affinity", "spread")
        for case in goldens(profile)
        if preemption_is_comparable(case)
    ]
    assert len(cases) >= 293
    assert_equal(cases, preemption=True)


def test_cases_once_found_stay_equal() -> None:
    """Minimal cases of differences that are mended."""
    found = [case for path in sorted(FOUND.glob("*.jsonl")) for case in read_cases(path)]
    assert found
    for case in found:
        assert_equal([case], preemption=preemption_is_comparable(case))


def assert_equal(cases: list[Case], *, preemption: bool) -> None:
    """None of the cases differs; the message lists how the others do."""
    differing = {case.name: lines for case in cases if (lines := case_differences(case, preemption=preemption))}
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)

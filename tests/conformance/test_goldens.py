"""Every case of the profiles whose plugins exist: each node's verdict, every score, the choice and the message."""

from pathlib import Path

import pytest

from tests.conformance.case import read_cases
from tests.conformance.compare import case_differences

GOLDENS = Path(__file__).parent / "goldens"


@pytest.mark.parametrize("profile", ["basic", "taints"])
def test_decisions_equal_kube_schedulers(profile: str) -> None:
    """All 80 cases of the profile are answered as kube-scheduler answers them."""
    cases = list(read_cases(GOLDENS / f"{profile}.jsonl.gz"))
    differing = {case.name: lines for case in cases if (lines := case_differences(case, preemption=False))}
    assert len(cases) == 80
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)

"""Clusters under random configurations: several profiles, plugins enabled, disabled and weighted at single points."""

from pathlib import Path

from tests.conformance.case import read_cases
from tests.conformance.compare import case_differences

GOLDENS = Path(__file__).parent / "goldens"


def test_configured_profiles_decide_as_kube_schedulers() -> None:
    """Each pod is decided by the plugins, weights and args of its own profile, as kube-scheduler decides it."""
    cases = list(read_cases(GOLDENS / "configurations.jsonl.gz"))
    differing = {case.name: lines for case in cases if (lines := case_differences(case, preemption=False))}
    assert len(cases) == 120
    assert sum(len((case.config or {})["profiles"]) > 1 for case in cases) > 60
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)

"""Random clusters that nobody has seen: Podium decides as kube-scheduler's framework does."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.differential.comparing import Outcome, compare_fresh
from tests.differential.report import table
from tests.oracle.generator.profiles import PROFILES


def test_500_fresh_cases_are_decided_alike(oracle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every verdict, score, choice and message, over all profiles."""
    assert_alike("make test", 500, oracle, PROFILES, capsys)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", ["soak-1", "soak-2", "soak-3"])
def test_5000_fresh_cases_are_decided_alike(seed: str, oracle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same with ten times the cases, for each of three seeds."""
    assert_alike(seed, 5_000, oracle, PROFILES, capsys)


def assert_alike(
    seed: str, cases: int, oracle: Path, profiles: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """None differs unexplained; the counts are printed in any case."""
    outcomes = compare_fresh(oracle, seed, cases, profiles, progress=lambda done, differing: None)
    with capsys.disabled():
        print(f"\nfresh cases, seed {seed!r}\n{table(outcomes)}")
    assert [fault for outcome in outcomes.values() for fault in outcome.faults] == []
    assert first_lines(outcomes) == {}, f"to shrink them: make differential CASES={cases} SEED='{seed}'"
    assert sum(outcome.cases for outcome in outcomes.values()) == cases


def first_lines(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Of each case that differs the first difference."""
    return {case.raw["name"]: case.lines[0] for outcome in outcomes.values() for case in outcome.differing}

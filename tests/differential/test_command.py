"""The command: its arguments, what it prints, its exit code."""

from collections import Counter
from pathlib import Path

import pytest

from tests.differential import __main__ as command
from tests.differential.__main__ import ALL_EQUAL, NOT_ASKED, SOME_DIFFER, main
from tests.differential.comparing import Differing, Outcome, batches
from tests.differential.report import table


def test_cases_are_shared_out_evenly() -> None:
    """Every index of a profile once, in batches, and the sum is what was asked for."""
    work = list(batches("s", 131, ["basic", "taints"]))
    taken = Counter((batch.profile, batch.first + i) for batch in work for i in range(batch.cases))
    assert set(taken.values()) == {1}
    assert Counter(profile for profile, _ in taken) == {"basic": 66, "taints": 65}


def test_the_table_counts_by_profile_and_together() -> None:
    """Deliberate differences are told by name."""
    outcomes = {
        "basic": Outcome(3, 7, Counter({"A rule": 2}), [Differing({"name": "basic-1-0"}, ("line",))]),
        "taints": Outcome(2, 5, Counter({"A rule": 1})),
    }
    rows = table(outcomes).splitlines()
    assert [row.split() for row in rows[1:4]] == [
        ["basic", "3", "7", "1"],
        ["taints", "2", "5", "0"],
        ["together", "5", "12", "1"],
    ]
    assert rows[4:] == ["deliberate, 3 times: A rule"]


def test_equal_decisions_end_with_0(oracle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run over one profile, on real processes."""
    assert main(["--cases", "4", "--seed", "command", "--profiles", "basic"]) == ALL_EQUAL
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split() == ["basic", "4", printed[1].split()[2], "0"]
    assert printed[-1].startswith("seed command, ")


def test_a_difference_ends_with_1(
    oracle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cases are named; one of each kind is shrunk, and its file named."""
    outcome = Outcome(2, 2)
    outcome.differing += [Differing({"name": name}, (f"step 1, pod a/{name}: best: kube-scheduler",)) for name in "xy"]
    monkeypatch.setattr(command, "compare_fresh", lambda *arguments: {"basic": outcome})
    shrunk: list[str] = []
    monkeypatch.setattr(command, "Shrinker", lambda program, differing: Recording(differing, shrunk))
    monkeypatch.setattr(command, "write_minimal", lambda directory, minimal: directory / "x.jsonl")
    assert main(["--out", str(tmp_path)]) == SOME_DIFFER
    assert shrunk == ["x"]
    printed = capsys.readouterr().out
    assert f"x: 1 differences; minimal case: {tmp_path / 'x.jsonl'}" in printed
    assert "y: 1 differences, not shrunk" in printed


class Recording:
    """A shrinker that notes what it is given."""

    def __init__(self, differing: Differing, shrunk: list[str]) -> None:
        self._differing, self._shrunk = differing, shrunk
        self.lines = ("minimal",)

    def shrink(self) -> "Recording":
        self._shrunk.append(self._differing.raw["name"])
        return self


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--profiles", "basic,nothing"], "no profile nothing; choose from basic"), (["--cases", "0"], "at least 1")],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, and nothing was built."""
    assert main(arguments) == NOT_ASKED
    assert said in capsys.readouterr().err

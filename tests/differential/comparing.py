"""Fresh random cases, answered by kube-scheduler's framework and by Podium, on all cores."""

import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from tests.conformance.case import Case
from tests.conformance.compare import Comparison, compare
from tests.conformance.extent import preemption_is_comparable
from tests.conformance.oracle import Oracle, OracleError, RawCase
from tests.oracle.generator.case import RandomCase

_BATCH_CASES = 25
FEWEST_NODES, MOST_NODES = 2, 12


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases `first` and the following of a seed and profile."""

    profile: str
    seed: str
    first: int
    cases: int

    def generate(self) -> list[RawCase]:
        """The cases."""
        indices = range(self.first, self.first + self.cases)
        return [RandomCase(self.seed, self.profile, index, FEWEST_NODES, MOST_NODES).build() for index in indices]


@dataclass(frozen=True, slots=True)
class Differing:
    """A case that differs, as it was generated, and how."""

    raw: RawCase
    lines: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """What came of many cases of one profile.

    Attributes:
        decisions: pods that were decided about.
        deliberate: steps that differ by a named rule.
        faults: cases that the oracle could not answer, with its words.
    """

    cases: int = 0
    decisions: int = 0
    deliberate: Counter[str] = field(default_factory=Counter)
    differing: list[Differing] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Count the other one in."""
        self.cases += other.cases
        self.decisions += other.decisions
        self.deliberate += other.deliberate
        self.differing += other.differing
        self.faults += other.faults


def compare_fresh(
    program: Path, seed: str, cases: int, profiles: Sequence[str], progress: Callable[[int, int], None]
) -> dict[str, Outcome]:
    """Outcome by profile; the cases are shared out evenly among the profiles.

    Args:
        program: the oracle.
        progress: told the numbers of cases done and differing, as batches end.
    """
    outcomes = {profile: Outcome() for profile in profiles}
    done = differing = 0
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        running = {workers.submit(compare_batch, program, batch): batch for batch in batches(seed, cases, profiles)}
        for ended in as_completed(running):
            outcome = ended.result()
            outcomes[running[ended].profile].add(outcome)
            done, differing = done + outcome.cases, differing + len(outcome.differing)
            progress(done, differing)
    return outcomes


def batches(seed: str, cases: int, profiles: Sequence[str]) -> Iterator[Batch]:
    """The work in parts, all profiles by turns."""
    shares = {
        profile: cases // len(profiles) + (place < cases % len(profiles)) for place, profile in enumerate(profiles)
    }
    for first in range(0, max(shares.values()), _BATCH_CASES):
        for profile, share in shares.items():
            if first < share:
                yield Batch(profile, seed, first, min(_BATCH_CASES, share - first))


def compare_batch(program: Path, batch: Batch) -> Outcome:
    """Generate, ask, compare; runs in a process of its own."""
    outcome = Outcome(batch.cases)
    raw_cases = batch.generate()
    for raw, answer in zip(raw_cases, Oracle(program).answers(raw_cases), strict=True):
        if isinstance(answer, OracleError):
            outcome.faults.append(str(answer))
            continue
        comparison = compare_tolerantly(answer)
        outcome.decisions += len(answer.steps)
        outcome.deliberate += comparison.deliberate
        if comparison.differences:
            outcome.differing.append(Differing(raw, tuple(comparison.differences)))
    return outcome


def compare_tolerantly(case: Case) -> Comparison:
    """Compare as far as the case goes; whatever Podium raises is a difference like others."""
    try:
        return compare(case, preemption=preemption_is_comparable(case))
    except Exception as fault:  # noqa: BLE001 - the fault is what was looked for; the run goes on
        where = traceback.extract_tb(fault.__traceback__)[-1]
        return Comparison([f"Podium raised {fault!r} at {Path(where.filename).name}:{where.lineno}"])

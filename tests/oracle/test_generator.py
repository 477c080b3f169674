"""The generator and the oracle make the goldens: neither has changed its mind."""

from pathlib import Path

import pytest

from tests.conformance.case import Case
from tests.conformance.oracle import Oracle
from tests.conformance.test_goldens import goldens
from tests.oracle.generator.case import RandomCase

_GOLDEN_SEED = "11"
_PROFILES = ("basic", "affinity", "spread", "taints", "preempt", "pdb", "nominated", "volumes", "mixed")


@pytest.mark.parametrize("profile", _PROFILES)
def test_the_goldens_come_out_again(profile: str, oracle: Path) -> None:
    """Seed 11 gives the clusters of the goldens, and the oracle answers what stands there."""
    raw = [RandomCase(_GOLDEN_SEED, profile, index, 2, 12).build() for index in range(80)]
    cases = goldens(profile)
    answers = [answer for answer in Oracle(oracle).answers(raw) if isinstance(answer, Case)]
    assert [answer.name for answer in answers] == [case.name for case in cases]
    for answer, case in zip(answers, cases, strict=True):
        assert list(map(bytes, answer.objects)) == list(map(bytes, case.objects)), case.name
        assert answer.pods == case.pods
        assert answer.steps == case.steps, case.name

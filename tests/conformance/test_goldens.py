"""Every case of the profiles whose plugins exist: each node's verdict, every score, the choice and the message."""

from pathlib import Path

import msgspec
import pytest

from scheduler.api.decoding import decode_pod
from scheduler.core.plugins.unsupported_features import unsupported
from tests.conformance.case import read_cases
from tests.conformance.cluster import Kind
from tests.conformance.compare import case_differences

GOLDENS = Path(__file__).parent / "goldens"


@pytest.mark.parametrize("profile", ["basic", "taints"])
def test_decisions_equal_kube_schedulers(profile: str) -> None:
    """All 80 cases of the profile are answered as kube-scheduler answers them."""
    cases = list(read_cases(GOLDENS / f"{profile}.jsonl.gz"))
    differing = {case.name: lines for case in cases if (lines := case_differences(case, preemption=False))}
    assert len(cases) == 80
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)


def test_preemption_equals_kube_schedulers() -> None:
    """Candidates, victims in order, rejected nodes, choice and message, in the cases that need nothing else yet."""
    cases = [
        case
        for profile in ("preempt", "pdb", "basic", "taints")
        for case in read_cases(GOLDENS / f"{profile}.jsonl.gz")
        if all(map(_is_understood, case.objects))
    ]
    differing = {case.name: lines for case in cases if (lines := case_differences(case, preemption=True))}
    assert len(cases) == 183
    assert not differing, "\n".join(f"{name}: {line}" for name, lines in differing.items() for line in lines)


def _is_understood(raw: msgspec.Raw) -> bool:
    kind = msgspec.json.decode(raw, type=Kind).kind
    return kind != "PodDisruptionBudget" and not (kind == "Pod" and any(unsupported(decode_pod(bytes(raw)))))

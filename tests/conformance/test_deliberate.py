"""The rules by which a difference is wanted: each is in the documentation, and none explains more than it should."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conformance.case import Case, Preemption, Step, Verdict, read_cases
from tests.conformance.compare import compare
from tests.conformance.deliberate import NAMES
from tests.conformance.test_goldens import FOUND, goldens

_DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"
_NOT_RUN = Preemption(
    not_run=Verdict(code="Error", plugin="DynamicResources", reasons=("not found",)),
    eligible=False,
    ineligible_reason="",
    candidates={},
    chosen="",
    victims=(),
    message="not found",
)


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_is_a_heading_of_the_documentation(name: str) -> None:
    """Whoever sees the name in a comparison finds the reason in docs/differences.md."""
    assert f"\n**{name}" in _DIFFERENCES.read_text(encoding="utf-8")


def test_the_suffix_of_dynamic_resources_is_left_out_and_counted() -> None:
    """Only the suffix: another word in the same message is a difference."""
    case = next(case for case in goldens("basic") if not case.steps[-1].feasible)
    step = case.steps[-1]
    start = step.message.partition(" preemption:")[0]
    suffixed = with_last(case, replace(step, message=f"{start} not found", preemption=_NOT_RUN))
    comparison = compare(suffixed, preemption=True)
    assert comparison.differences == []
    assert dict(comparison.deliberate) == {"A message ends with its reason": 1}
    other = with_last(case, replace(step, message=f"{start}? not found", preemption=_NOT_RUN))
    assert len(compare(other, preemption=True).differences) == 1


def test_a_host_port_that_several_pods_share_is_counted_under_its_name() -> None:
    """Two pods were put on a node by force, a third of middle priority wants their port and finds one victim."""
    (case,) = read_cases(FOUND / "shared-host-port.jsonl")
    comparison = compare(case, preemption=True)
    assert comparison.differences == []
    assert dict(comparison.deliberate) == {"A host port stays taken while one of several pods uses it": 1}


def with_last(case: Case, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:-1], step))

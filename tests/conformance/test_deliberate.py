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


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("claim-of-two-profiles", "Profiles know of each other's volumes"),
        ("shared-host-port", "A host port stays taken while one of several pods uses it"),
        ("leaving-pods-in-dry-runs-of-spread", "A pod that is being deleted is left out of the spread throughout"),
        (
            "empty-selector-and-nominated-pods",
            "An empty selector spreads among nobody, nominated pods and victims included",
        ),
        ("more-than-twelve-equal-victims", "Victims that are equal stand in the order they came"),
    ],
)
def test_a_difference_is_counted_under_the_name_of_its_rule(file: str, name: str) -> None:
    """A minimal case of each rule: nothing is unexplained, and without the rule something would be."""
    (case,) = read_cases(FOUND / f"{file}.jsonl")
    comparison = compare(case, preemption=True)
    assert comparison.differences == []
    assert dict(comparison.deliberate) == {name: 1}


def test_a_rule_about_preemption_explains_nothing_else() -> None:
    """A wrong node in the same step is a difference as ever."""
    (case,) = read_cases(FOUND / "leaving-pods-in-dry-runs-of-spread.jsonl")
    (step,) = case.steps
    wrong = replace(case, steps=(replace(step, feasible=("b-node",)),))
    assert any("feasible" in line for line in compare(wrong, preemption=True).differences)


def with_last(case: Case, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:-1], step))

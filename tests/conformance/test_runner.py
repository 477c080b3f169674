"""The runner itself: it sees a difference in every field, and says what it saw as its users expect."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.conformance.__main__ import ALL_EQUAL, BAD_INPUT, SOME_DIFFER, main
from tests.conformance.case import Case, NodeAnswer, Step, Verdict, read_cases
from tests.conformance.compare import case_differences, decision_differences
from tests.conformance.evaluate import Decided
from tests.conformance.test_goldens import GOLDENS

REJECTED = Verdict(code="Unschedulable", plugin="NodePorts", reasons=("taken",))


@pytest.fixture(scope="module")
def case() -> Case:
    """A case with a pod that fits somewhere, as its first step, and one that fits nowhere."""
    cases = read_cases(GOLDENS / "basic.jsonl.gz")
    return next(case for case in cases if case.steps[0].feasible and any(not step.feasible for step in case.steps))


def with_step(case: Case, number: int, step: Step) -> Case:
    return replace(case, steps=(*case.steps[:number], step, *case.steps[number + 1 :]))


def with_node(step: Step, change: Callable[[NodeAnswer], NodeAnswer]) -> Step:
    name = step.best[0]
    return replace(step, nodes={**step.nodes, name: change(step.nodes[name])})


STEP_CHANGES: dict[str, Callable[[Step], Step]] = {
    "skipped": lambda step: replace(step, skipped="the pod is gated"),
    "pre_enqueue": lambda step: replace(step, pre_enqueue=REJECTED),
    "pre_filter": lambda step: replace(step, pre_filter=REJECTED),
    "pre_filter_nodes": lambda step: replace(step, pre_filter_nodes=("n1",)),
    "nominated_fast_path": lambda step: replace(step, nominated_fast_path=True),
    "feasible": lambda step: replace(step, feasible=()),
    "best": lambda step: replace(step, best=(*step.best, "n1")),
    "assumed": lambda step: replace(step, assumed="n1"),
    "reserve": lambda step: replace(step, reserve=REJECTED),
    "error": lambda step: replace(step, error="plugin failed"),
    "message": lambda step: replace(step, message="no nodes available to schedule pods"),
    "code": lambda step: with_node(step, lambda node: replace(node, code="Unschedulable")),
    "plugin": lambda step: with_node(step, lambda node: replace(node, plugin="NodePorts")),
    "reasons": lambda step: with_node(step, lambda node: replace(node, reasons=("taken",))),
    "raw of": lambda step: with_node(step, lambda node: replace(node, raw={**node.raw, "NodeResourcesFit": 101})),
    "scores of": lambda step: with_node(step, lambda node: replace(node, scores={"TaintToleration": 1})),
    "total": lambda step: with_node(step, lambda node: replace(node, total=-1)),
    "verdict": lambda step: replace(step, nodes={**step.nodes, "no-such-node": next(iter(step.nodes.values()))}),
}


@pytest.mark.parametrize("field", STEP_CHANGES)
def test_a_difference_in_any_field_is_found(case: Case, field: str) -> None:
    """A golden that says something else about one field differs, and the line names the field."""
    placed = next(step for step in case.steps if step.feasible)
    number = case.steps.index(placed)
    lines = case_differences(with_step(case, number, STEP_CHANGES[field](placed)), preemption=False)
    assert any(field in line and line.startswith(f"step {number + 1}, pod {placed.pod}: ") for line in lines)


def test_a_plugin_missing_on_one_side_counts_as_zero(case: Case) -> None:
    """A zero score of a plugin that the other side does not mention is no difference, any other score is."""
    zero = with_step(case, 0, with_node(case.steps[0], lambda n: replace(n, raw={**n.raw, "NodeDeclaredFeatures": 0})))
    one = with_step(case, 0, with_node(case.steps[0], lambda n: replace(n, raw={**n.raw, "NodeDeclaredFeatures": 1})))
    assert case_differences(zero, preemption=False) == []
    assert len(case_differences(one, preemption=False)) == 1


def test_preemption_is_compared_on_request(case: Case) -> None:
    """Without preemption its field and its part of the message are left out; with it they are differences."""
    assert case_differences(case, preemption=False) == []
    number = next(number for number, step in enumerate(case.steps) if step.preemption is not None)
    step = case.steps[number]
    assert step.preemption is not None
    other = replace(step, message=step.message + "?", preemption=replace(step.preemption, ineligible_reason="tired"))
    wrong = with_step(case, number, other)
    assert case_differences(case, preemption=True) == []
    assert case_differences(wrong, preemption=False) == []
    lines = case_differences(wrong, preemption=True)
    assert any(": message: " in line for line in lines)
    assert any(": preemption.ineligible_reason: " in line for line in lines)


def test_the_decision_is_compared_too() -> None:
    """A decision differs in its node, the number of equally good nodes, the feasible ones, and each verdict."""
    success = NodeAnswer(code="Success", plugin="", reasons=())
    golden = Step(pod="a/p", nodes={"n1": success, "n2": success}, feasible=("n1", "n2"), best=("n1", "n2"))
    right = Decided("n2", 2, 2, {"n1": success, "n2": success})
    assert list(decision_differences(golden, right, preemption=True)) == []
    for wrong in (
        Decided("n3", 2, 2, right.nodes),
        Decided("", 2, 2, right.nodes),
        Decided("n2", 1, 2, right.nodes),
        Decided("n2", 2, 1, right.nodes),
        Decided("n2", 2, 2, {"n1": success, "n2": REJECTED}),
        Decided("n2", 2, 2, {"n1": success}),
    ):
        assert len(list(decision_differences(golden, wrong, preemption=True))) >= 1


def write(path: Path, *cases: Case) -> Path:
    lines = b"\n".join(msgspec.json.encode(case) for case in cases)
    path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


def test_the_command_counts_and_names_what_differs(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plain and gzipped files are read, differing cases named, the summary printed last, the exit code 1."""
    wrong = replace(with_step(case, 0, replace(case.steps[0], message="else")), name="wrong-one")
    files = [str(write(tmp_path / "plain.jsonl", case)), str(write(tmp_path / "packed.jsonl.gz", wrong, case))]
    assert main(files) == SOME_DIFFER
    assert capsys.readouterr().out.splitlines() == ["wrong-one: differences: 1", "3 cases, 1 differ"]
    assert main(["-v", *files]) == SOME_DIFFER
    assert "message: kube-scheduler 'else', Podium ''" in capsys.readouterr().out
    assert main(files[:1]) == ALL_EQUAL
    assert capsys.readouterr().out == "1 cases, 0 differ\n"


@pytest.mark.parametrize("content", [b"{}", b"not json", b'{"name": "x", "surprise": 1}', None])
def test_what_is_no_file_of_cases_is_named(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file or another content gives one line with the file's name, and exit code 2."""
    path = tmp_path / "cases.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert main([str(path)]) == BAD_INPUT
    assert capsys.readouterr().err.startswith(f"{path}: ")

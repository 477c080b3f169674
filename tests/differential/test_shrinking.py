"""Shrinking: what is left still differs, and nothing of it can be taken away."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.conformance.case import Case, read_cases
from tests.conformance.compare import Comparison
from tests.differential import shrinking
from tests.differential.comparing import Batch, Differing
from tests.differential.report import summary, write_minimal
from tests.differential.shrinking import Minimal, Shrinker, kinds, parts_at, without

RAW = {
    "name": "case",
    "config": {"profiles": []},
    "objects": [
        {"kind": "Node", "metadata": {"name": "n", "labels": {"a": "1", "b": "2"}}},
        {"kind": "Pod", "metadata": {"name": "p", "namespace": "x"}, "spec": {"ports": [1, 2, 3]}},
    ],
    "pods": ["x/p", "x/p"],
}


def test_parts_come_level_by_level() -> None:
    """Objects, pods and the configuration first, then their fields; what names an object is no part."""
    assert list(parts_at(RAW, 1)) == [("objects", 0), ("objects", 1), ("pods", 0), ("pods", 1), ("config",)]
    assert list(parts_at(RAW, 2)) == [("objects", 1, "spec"), ("config", "profiles")]
    assert list(parts_at(RAW, 3)) == [("objects", 0, "metadata", "labels"), ("objects", 1, "spec", "ports")]
    assert ("objects", 1, "spec", "ports", 2) in list(parts_at(RAW, 4))


def test_several_parts_go_at_once() -> None:
    """Indices are those of the whole; a pod without its object is not scheduled, and the original stays as it is."""
    smaller = without(RAW, [("objects", 1, "spec", "ports", 0), ("objects", 1, "spec", "ports", 2), ("pods", 0)])
    assert smaller["objects"][1]["spec"] == {"ports": [2]}
    assert smaller["pods"] == ["x/p"]
    assert without(RAW, [("objects", 1)])["pods"] == []
    assert len(RAW["pods"]) == 2


def test_differences_of_one_kind_are_alike_whatever_the_names() -> None:
    """Step, pod, node and values do not matter."""
    one = ["step 1, pod a/p: node n1: raw of X: kube-scheduler 1, Podium 2"]
    other = ["step 4, pod b/q: node n2: raw of X: kube-scheduler 7, Podium 0", "Podium raised KeyError()"]
    assert kinds(one) == {"node: raw of X"}
    assert kinds(other) == {"node: raw of X", "Podium raised KeyError()"}


def test_only_what_makes_the_difference_is_left(oracle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a comparison that takes offence at nodes labelled disk=ssd, one node with that label alone remains."""

    def offended(case: Case) -> Comparison:
        nodes = [json.loads(bytes(raw)) for raw in case.objects if b'"kind":"Node"' in bytes(raw)]
        named = [node["metadata"]["name"] for node in nodes if node["metadata"].get("labels", {}).get("disk") == "ssd"]
        return Comparison([f"node {name}: label: kube-scheduler 1, Podium 2" for name in named])

    monkeypatch.setattr(shrinking, "compare_tolerantly", offended)
    raw = next(case for case in Batch("basic", "shrink", 0, 10).generate() if '"ssd"' in json.dumps(case))
    minimal = Shrinker(oracle, Differing(raw, ("node x: label: kube-scheduler 1, Podium 2",))).shrink()
    (node,) = minimal.raw["objects"]
    assert node["metadata"]["labels"] == {"disk": "ssd"}
    assert "spec" not in node
    assert minimal.raw["pods"] == []
    assert len(minimal.lines) == 1


def test_a_minimal_case_is_ready_to_become_a_test(tmp_path: Path) -> None:
    """The file is one of cases, as the runner reads them; the text beside it shows differences and objects."""
    case = Case(name="case", profile="basic", objects=(msgspec.Raw(b"{}"),), pods=("x/p",), steps=())
    path = write_minimal(tmp_path / "found", Minimal(RAW, case, ("it differs",)))
    assert [read.name for read in read_cases(path)] == ["case"]
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert text == summary(Minimal(RAW, case, ("it differs",)))
    assert "it differs" in text
    assert 'Node /n {"labels": {"a": "1", "b": "2"}}' in text

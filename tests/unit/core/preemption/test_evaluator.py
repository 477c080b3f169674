"""Dry runs of nodes: kept for preemptors that are alike, limited where the args say so, and told in a message."""

from __future__ import annotations

from typing import Final, TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from scheduler.config.plugin_args import DefaultPreemptionArgs
from scheduler.core.algorithm import ScheduleAlgorithm, decide
from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import FailedAttempt
from scheduler.core.framework.outcome import FEASIBLE
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.types import PodInfo
from scheduler.core.preemption.evaluator import Candidates, Evaluator, nothing_found_message
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.cluster_life import (
    PODS_WITH_AFFINITY,
    PODS_WITH_AFFINITY_TOO,
    SOME_NODES,
    SOME_PRIORITIES,
    ClusterLife,
    Event,
    events,
    named_pod,
    node_names,
    nominations,
    starts,
)
from tests.unit.core.framework.profiles import default_framework
from tests.unit.core.framework.test_contracts import FirstOfEquals
from tests.unit.core.plugins.asking import parsed, snapshot_of
from tests.unit.core.preemption.attempts import failed_attempt

ALL: Final = DefaultPreemptionArgs()
_NODES: Final = 6


def found(candidates: Candidates, attempt: FailedAttempt) -> dict[str, list[str]]:
    """Names of the victims by node."""
    names, runs = attempt.snapshot.nodes.names, candidates.runs
    rows = candidates.rows.tolist()
    return {names[row]: [each.name for each in runs.victims_on(row, attempt.check)] for row in rows}


def full_nodes(count: int, *without_victims: int) -> Snapshot:
    """Nodes n0 and so on of one cpu, each full with one pod, whose priority is 9 on those without victims."""
    pods = [
        make_pod(f"on-{number}").req(cpu="1").priority(9 if number in without_victims else 0).node(f"n{number}")
        for number in range(count)
    ]
    return snapshot_of(*(make_node(f"n{number}").capacity(cpu="1") for number in range(count)), *pods)


# --- kept dry runs

Turn: TypeAlias = "tuple[list[Event], list[tuple[PodBuilder, int]]]"
"""What happens, and the preemptors then tried: shape and priority."""

_TURNS = st.lists(
    st.tuples(
        st.lists(
            st.one_of(
                events(_NODES, 12, PODS_WITH_AFFINITY_TOO), nominations(_NODES, 4, PODS_WITH_AFFINITY_TOO), starts(12)
            ),
            min_size=1,
            max_size=6,
        ),
        st.lists(st.tuples(PODS_WITH_AFFINITY_TOO, SOME_PRIORITIES), min_size=2, max_size=4),
    ),
    min_size=4,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(SOME_NODES, min_size=_NODES, max_size=_NODES), _TURNS)
def test_kept_dry_runs_equal_fresh_ones(shapes: list[NodeBuilder], turns: list[Turn]) -> None:
    """Whatever happened since: nodes, pods, their starts, nominations, and after the log was cut.

    So do those of many nodes at once, whose order of preference must follow from the same victims.
    """
    life = ClusterLife()
    for name, node in zip(node_names(_NODES), shapes, strict=True):
        life.write_node(node, name)
    snapshot = Snapshot(ClusterState(life.cache, life.nominator))
    snapshot.row_changes = ChangeLog(limit=12)
    framework, keeping, at_once = default_framework({}), Evaluator(ALL), Evaluator(ALL, few_nodes=0)
    for happening, asked in turns:
        for event in happening:
            life.happen(event)
        for shape, priority in asked:
            pod = parse_pod(named_pod(shape, "asked", priority))
            attempt = attempt_or_none(snapshot, pod, framework)
            if attempt is not None:
                anew = attempt_or_none(snapshot, pod, default_framework({}))
                assert anew is not None
                expected = answers(Evaluator(ALL, few_nodes=_NODES), anew)
                assert answers(keeping, attempt) == expected
                assert answers(at_once, attempt) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(PODS_WITH_AFFINITY, SOME_PRIORITIES, st.integers(0, _NODES - 1)), min_size=2, max_size=8),
    PODS_WITH_AFFINITY,
    SOME_PRIORITIES,
)
def test_pods_with_affinity_are_tried_alike_at_once_and_one_by_one(
    placed: list[tuple[PodBuilder, int, int]], asked: PodBuilder, priority: int
) -> None:
    """Whoever of lower priority has to do with a term of the pod or has a term about it."""
    life = ClusterLife()
    names = node_names(_NODES)
    for number, name in enumerate(names):
        life.write_node(make_node("").capacity(cpu="2").label(disk=("ssd", "hdd")[number % 2], size="1"), name)
    for number, (shape, of_placed, node) in enumerate(placed):
        life.show(shape.priority(of_placed), f"p{number}", names[node])
    snapshot = Snapshot(ClusterState(life.cache))
    attempt = attempt_or_none(snapshot, parse_pod(named_pod(asked, "asked", priority)), default_framework({}))
    if attempt is not None:
        assert answers(Evaluator(ALL, few_nodes=0), attempt) == answers(Evaluator(ALL, few_nodes=_NODES), attempt)


def attempt_or_none(snapshot: Snapshot, pod: PodInfo, framework: Framework) -> FailedAttempt | None:
    """None where the pod fits, or no node is looked at."""
    decision = decide(snapshot, pod, framework, FirstOfEquals())
    if decision.verdicts is None or decision.node_name is not None:
        return None
    return ScheduleAlgorithm(snapshot, framework, FirstOfEquals()).failed_attempt(CycleState(), decision)


def answers(evaluator: Evaluator, attempt: FailedAttempt) -> tuple[object, ...]:
    """Everything that comes of the dry runs."""
    candidates = evaluator.candidates(attempt)
    best = candidates.best().tolist() if len(candidates.rows) else []
    looked_at, runs = candidates.looked_at, candidates.runs
    rejected_by = runs.rejected_by[looked_at].tolist()
    criteria = [runs.highest_priority, runs.priority_sums, runs.victim_counts, runs.latest_start]
    preference = [criterion[candidates.rows].tolist() for criterion in criteria]
    told = nothing_found_message(attempt, candidates)
    return best, preference, found(candidates, attempt), looked_at.tolist(), rejected_by, told


def test_equal_preemptors_share_dry_runs() -> None:
    """Only rows that changed are run again; a pod of another priority or other requests has its own."""
    snapshot, framework, evaluator = full_nodes(3), default_framework({}), Evaluator(ALL)

    def run(name: str, priority: int = 5, cpu: str = "1") -> Candidates:
        pod = parsed(make_pod(name).req(cpu=cpu).priority(priority))
        return evaluator.candidates(failed_attempt(snapshot, pod, framework))

    first = run("a")
    victims = dict(first.runs.victims)
    again = run("b")
    assert again.runs is first.runs
    assert all(again.runs.victims[row] is victims[row] for row in range(3))
    assert run("c", priority=6).runs is not first.runs
    assert run("d", cpu="900m").runs is not first.runs
    snapshot.nominator.add(parsed(make_pod("held").req(cpu="1").priority(4)), "n1")
    changed = run("e")
    assert changed.runs is first.runs
    assert [changed.runs.victims[row] is victims[row] for row in range(3)] == [True, False, True]


def test_a_pod_that_starts_changes_who_is_least_important() -> None:
    """The status of a placed pod changes nothing for filters, but its start counts among equals."""
    life = ClusterLife()
    life.write_node(make_node("").capacity(cpu="2"), "n1")
    for name in ("a", "b"):
        life.show(make_pod("").req(cpu="1"), name, "n1")
    snapshot, framework, evaluator = Snapshot(ClusterState(life.cache)), default_framework({}), Evaluator(ALL)

    def victims() -> list[str]:
        pod = parsed(make_pod("p").req(cpu="1").priority(5))
        attempt = failed_attempt(snapshot, pod, framework)
        return found(evaluator.candidates(attempt), attempt)["n1"]

    assert victims() == ["b"]
    life.start("b", 1)
    assert victims() == ["a"]
    life.start("a", 0)
    assert victims() == ["b"]


def test_only_so_many_kinds_of_preemptors_are_kept() -> None:
    """A backlog of pods that are all different must not fill the memory."""
    snapshot, framework, evaluator = full_nodes(1), default_framework({}), Evaluator(ALL)

    def runs(priority: int) -> object:
        pod = parsed(make_pod("p").req(cpu="1").priority(priority))
        return evaluator.candidates(failed_attempt(snapshot, pod, framework)).runs

    first, second = runs(1), runs(2)
    for priority in range(3, 33):
        runs(priority)
    assert runs(1) is first
    runs(33)
    assert runs(1) is first
    assert runs(2) is not second


# --- a limited search


class Beginning:
    """Begins the search at a row."""

    def __init__(self, row: int) -> None:
        self._row = row

    def randrange(self, stop: int) -> int:
        return self._row % stop


@pytest.mark.parametrize(
    ("percentage", "absolute", "begin", "expected"),
    [
        (10, 2, 0, ["n0", "n2"]),
        (10, 2, 1, ["n2", "n3"]),
        (10, 2, 9, ["n9", "n0"]),
        (30, 2, 4, ["n4", "n5", "n6"]),
        (29, 1, 4, ["n4", "n5"]),
        (100, 1, 3, ["n0", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]),
        (1, 99, 3, ["n0", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]),
        (5, 0, 1, ["n2"]),
    ],
)
def test_the_args_limit_the_search(percentage: int, absolute: int, begin: int, expected: list[str]) -> None:
    """The larger of a share of the nodes and a number, and one at least; from a random node on and around."""
    snapshot = full_nodes(10, 1)
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)
    pod = parsed(make_pod("p").req(cpu="1").priority(5))
    attempt = failed_attempt(snapshot, pod, rng=Beginning(begin))
    assert sorted(found(Evaluator(args).candidates(attempt), attempt)) == sorted(expected)


def test_without_limits_all_nodes_are_run() -> None:
    """And nothing is left to chance."""
    snapshot = full_nodes(10, 1)
    pod = parsed(make_pod("p").req(cpu="1").priority(5))
    candidates = Evaluator(ALL).candidates(failed_attempt(snapshot, pod, rng=Beginning(4)))
    assert candidates.looked_at.tolist() == list(range(10))
    assert candidates.rows.tolist() == [0, *range(2, 10)]


def test_a_limited_search_that_finds_nothing_looks_everywhere() -> None:
    """The nodes it begins with may be those without victims."""
    snapshot = full_nodes(4, 0, 1, 2, 3)
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=1, min_candidate_nodes_absolute=1)
    attempt = failed_attempt(snapshot, parsed(make_pod("p").req(cpu="1").priority(5)), rng=Beginning(2))
    candidates = Evaluator(args).candidates(attempt)
    assert candidates.looked_at.tolist() == [2, 3, 0, 1]
    expected = "0/4 nodes are available: 4 No preemption victims found for incoming pod."
    assert nothing_found_message(attempt, candidates) == expected


# --- messages


def test_the_message_counts_nodes_by_what_stands_against_them() -> None:
    """Nodes that no eviction can help, nodes without victims, and what is short even without them."""
    snapshot = snapshot_of(
        make_node("n0").capacity(cpu="1").taint("a"),
        make_node("n1").capacity(cpu="1"),
        *(make_node(f"n{number}").capacity(cpu="4") for number in (2, 3, 4)),
        make_pod("high").req(cpu="3").priority(9).node("n2"),
        *(make_pod(f"high-{number}").req(cpu="3").priority(9).node(f"n{number}") for number in (3, 4)),
        *(make_pod(f"low-{number}").req(cpu="1").node(f"n{number}") for number in (3, 4)),
    )
    attempt = failed_attempt(snapshot, parsed(make_pod("p").req(cpu="2").priority(5)))
    candidates = Evaluator(ALL).candidates(attempt)
    assert candidates.rows.tolist() == []
    assert nothing_found_message(attempt, candidates) == (
        "0/5 nodes are available: 1 No preemption victims found for incoming pod, 2 Insufficient cpu, "
        "2 Preemption is not helpful for scheduling."
    )


def test_nodes_that_are_gone_are_not_counted() -> None:
    """A row without a node is no node."""
    life = ClusterLife()
    for name in ("n1", "n2", "n3"):
        life.write_node(make_node("").capacity(cpu="1"), name)
    for name in ("n1", "n2", "n3"):
        life.show(make_pod("").req(cpu="1"), f"on-{name}", name)
    life.delete_node("n2")
    snapshot = Snapshot(ClusterState(life.cache))
    attempt = failed_attempt(snapshot, parsed(make_pod("p").req(cpu="1")))
    candidates = Evaluator(ALL).candidates(attempt)
    expected = "0/2 nodes are available: 2 No preemption victims found for incoming pod."
    assert nothing_found_message(attempt, candidates) == expected
    assert not (candidates.runs.rejected_by[candidates.looked_at] == FEASIBLE).any()

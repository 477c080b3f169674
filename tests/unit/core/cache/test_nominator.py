"""Nominations: one a pod, found by node and by pod, with the priorities that are nominated and what changed."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from scheduler.core.cache.nominator import Nominator
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_pod


def pod(name: str, priority: int = 0) -> PodInfo:
    return parse_pod(make_pod(name).priority(priority).obj())


def names(nominator: Nominator, node_name: str) -> list[str]:
    return [each.name for each in nominator.on_node(node_name)]


@pytest.fixture
def nominator() -> Nominator:
    """Two pods on n1, one on n2; nobody has asked for changes yet."""
    made = Nominator()
    made.add(pod("a", 5), "n1")
    made.add(pod("b", 9), "n1")
    made.add(pod("c", 5), "n2")
    return made


def test_a_pod_has_one_nomination(nominator: Nominator) -> None:
    """A new one takes the place of the old one, and both nodes are known to have changed."""
    nominator.take_changes()
    nominator.add(pod("a", 5), "n2")
    assert (names(nominator, "n1"), names(nominator, "n2")) == (["b"], ["c", "a"])
    assert nominator.node_of(pod("a").uid) == "n2"
    assert set(nominator.take_changes()) == {"n1", "n2"}


def test_the_newest_object_of_a_pod_counts(nominator: Nominator) -> None:
    """A pod that is nominated again to the same node is there once, as it is now."""
    newer = pod("a", 5)
    nominator.add(newer, "n1")
    assert [each for each in nominator.on_node("n1") if each.uid == newer.uid] == [newer]


def test_the_end_of_a_nomination(nominator: Nominator) -> None:
    """It tells the node, None for a pod without one, and a node without nominated pods is not among the nodes."""
    assert nominator.remove(pod("c").uid) == "n2"
    assert nominator.remove(pod("c").uid) is None
    assert nominator.node_of(pod("c").uid) is None
    assert list(nominator.nodes()) == ["n1"]
    assert names(nominator, "n2") == []


def test_the_level_is_the_lowest_nominated_priority_that_counts(nominator: Nominator) -> None:
    """Equal priority counts; with all nominated pods below there is none; a priority counts while any pod has it."""
    assert [nominator.level(priority) for priority in (-1, 5, 6, 9, 10)] == [5, 5, 9, 9, None]
    nominator.remove(pod("a").uid)
    assert nominator.level(0) == 5
    nominator.remove(pod("c").uid)
    assert nominator.level(0) == 9


def test_changes_are_told_once(nominator: Nominator) -> None:
    """Each node once, in the order in which they changed first; then nothing until the next change."""
    assert list(nominator.take_changes()) == ["n1", "n2"]
    assert list(nominator.take_changes()) == []
    nominator.remove(pod("nobody").uid)
    assert list(nominator.take_changes()) == []
    nominator.remove(pod("b").uid)
    assert list(nominator.take_changes()) == ["n1"]


def test_all_can_be_forgotten(nominator: Nominator) -> None:
    """Nothing is left, and every node that had one is known to have changed."""
    nominator.take_changes()
    nominator.clear()
    assert list(nominator.nodes()) == []
    assert nominator.level(-1) is None
    assert set(nominator.take_changes()) == {"n1", "n2"}


_SOME_STEPS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from([None, "n1", "n2", "n3"]), st.integers(-1, 1)), max_size=30
)


@given(_SOME_STEPS)
def test_it_agrees_with_a_plain_account(steps: list[tuple[str, str | None, int]]) -> None:
    """Whatever is nominated, nominated anew and withdrawn in whatever order."""
    nominator, account = Nominator(), dict[str, tuple[str, int]]()
    for name, node_name, priority in steps:
        before = {where for where, _ in account.values()}
        if node_name is None:
            nominator.remove(pod(name).uid)
            touched = {account.pop(name)[0]} if name in account else set()
        else:
            nominator.add(pod(name, priority), node_name)
            touched = {node_name, account[name][0] if name in account else node_name}
            account[name] = (node_name, priority)
        after = {where for where, _ in account.values()}
        assert set(nominator.nodes()) == after
        for where in before | after:
            assert set(names(nominator, where)) == {each for each, (on, _) in account.items() if on == where}
        for asked in (-2, -1, 0, 1, 2):
            counting = [held for _, held in account.values() if held >= asked]
            assert nominator.level(asked) == min(counting, default=None)
        assert set(nominator.take_changes()) == touched

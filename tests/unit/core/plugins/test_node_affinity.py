"""NodeAffinity: selectors, required terms, terms that name nodes, wishes, and what the args enforce."""

from collections.abc import Sequence

import pytest

from scheduler.api.types import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from scheduler.config.plugin_args import NodeAffinityArgs
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import PreFilterResult
from scheduler.core.framework.status import Status
from scheduler.core.plugins.node_affinity import NodeAffinity as NodeAffinityPlugin
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, normalized_scores, parsed, raw_scores, rejections, snapshot_of

PLUGIN = NodeAffinityPlugin(NodeAffinityArgs())
MISMATCH = (UU, ["node(s) didn't match Pod's node affinity/selector"])
ENFORCED = (UU, ["node(s) didn't match scheduler-enforced node affinity"])

NODES = snapshot_of(
    make_node("a").label(disk="ssd", size="5"),
    make_node("b").label(disk="hdd", size="010"),
    make_node("c").label(size="many"),
    make_node("d"),
)


def where(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, operator, values or None)


def term(*labels: NodeSelectorRequirement, fields: Sequence[NodeSelectorRequirement] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(labels or None, tuple(fields) or None)


def named(*names: str, operator: str = "In") -> NodeSelectorTerm:
    return term(fields=[where("metadata.name", operator, *names)])


def required(*terms: NodeSelectorTerm) -> NodeAffinity:
    return NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector(terms))


def preferred(*wishes: tuple[int, NodeSelectorTerm]) -> NodeAffinity:
    return NodeAffinity(
        preferred_during_scheduling_ignored_during_execution=tuple(PreferredSchedulingTerm(*wish) for wish in wishes)
    )


def pod_with(affinity: NodeAffinity) -> PodBuilder:
    return make_pod("p").affinity(Affinity(node_affinity=affinity))


def fitting(pod: PodBuilder, plugin: NodeAffinityPlugin = PLUGIN) -> str:
    """Names of the nodes that pass, joined."""
    rejected = rejections(plugin, pod, NODES)
    assert set(map(str, rejected.values())) <= {str(MISMATCH)}
    return "".join(name for name in NODES.nodes.names if name not in rejected)


@pytest.mark.parametrize(
    ("requirement", "names"),
    [
        (where("disk", "In", "ssd", "nvme"), "a"),
        (where("disk", "In", "nvme"), ""),
        (where("disk", "NotIn", "ssd"), "bcd"),
        (where("disk", "Exists"), "ab"),
        (where("disk", "DoesNotExist"), "cd"),
        (where("size", "Gt", "5"), "b"),
        (where("size", "Gt", "4"), "ab"),
        (where("size", "Lt", "10"), "a"),
        (where("size", "Lt", "011"), "ab"),
        (where("nowhere", "NotIn", "x"), "abcd"),
        (where("nowhere", "Gt", "0"), ""),
    ],
)
def test_operators(requirement: NodeSelectorRequirement, names: str) -> None:
    """In, NotIn, Exists, DoesNotExist, Gt, Lt; numbers may have leading zeros, what is no number is neither."""
    assert fitting(pod_with(required(term(requirement)))) == names


def test_terms_are_alternatives_and_their_conditions_are_not() -> None:
    """One term is enough, within it all must hold."""
    both = term(where("disk", "Exists"), where("size", "Gt", "6"))
    assert fitting(pod_with(required(both))) == "b"
    assert fitting(pod_with(required(both, term(where("size", "DoesNotExist"))))) == "bd"


def test_empty_terms_and_no_terms_match_nothing() -> None:
    """An empty term is no condition that all nodes meet."""
    assert fitting(pod_with(required(term()))) == ""
    assert fitting(pod_with(required())) == ""
    assert fitting(pod_with(required(term(), term(where("disk", "Exists"))))) == "ab"


def test_a_faulty_term_matches_nothing() -> None:
    """An operator that does not exist spoils its term, not the others."""
    faulty = term(where("disk", "Like", "s"))
    assert fitting(pod_with(required(faulty))) == ""
    assert fitting(pod_with(required(faulty, term(where("disk", "In", "ssd"))))) == "a"


def test_the_selector_must_match_as_well() -> None:
    """Node selector and required terms both count."""
    assert fitting(make_pod("p").node_selector(disk="ssd")) == "a"
    assert fitting(make_pod("p").node_selector(disk="ssd", size="6")) == ""
    affinity = Affinity(node_affinity=required(term(where("size", "Exists"))))
    assert fitting(make_pod("p").node_selector(disk="hdd").affinity(affinity)) == "b"
    assert fitting(make_pod("p")) == "abcd"


def test_fields_name_nodes() -> None:
    """metadata.name goes with In and NotIn."""
    assert fitting(pod_with(required(named("b")))) == "b"
    assert fitting(pod_with(required(named("b", operator="NotIn")))) == "acd"
    assert fitting(pod_with(required(named("elsewhere")))) == ""
    assert fitting(pod_with(required(term(where("disk", "Exists"), fields=[where("metadata.name", "In", "c")])))) == ""


def pre_filter(affinity: NodeAffinity) -> PreFilterResult | Status | None:
    return PLUGIN.pre_filter(CycleState(), parsed(pod_with(affinity)), NODES)


def test_terms_that_all_name_nodes_narrow_the_search() -> None:
    """The union over the terms of what each term's names have in common."""
    assert pre_filter(required(named("a"), named("b"))) == PreFilterResult(frozenset({"a", "b"}))
    narrowed = term(where("disk", "Exists"), fields=[where("metadata.name", "In", "z")])
    assert pre_filter(required(narrowed)) == PreFilterResult(frozenset({"z"}))
    assert pre_filter(required(named("a"), term(where("disk", "Exists")))) is None
    assert pre_filter(required(named("a", operator="NotIn"))) is None
    assert pre_filter(required()) is None
    assert pre_filter(preferred((1, named("a")))) is None


def test_terms_that_contradict_themselves_reject_the_pod() -> None:
    """Two names that nothing can have at once, in every term."""
    clash = term(fields=[where("metadata.name", "In", "a"), where("metadata.name", "In", "b")])
    assert pre_filter(required(clash)) == Status.of(UU, "pod affinity terms conflict")
    assert pre_filter(required(clash, named("a"))) == PreFilterResult(frozenset({"a"}))


def test_wishes_add_up() -> None:
    """A node's raw score is the sum of the weights of the wishes that it grants; empty terms grant nothing."""
    pod = pod_with(
        preferred((30, term(where("disk", "Exists"))), (5, term(where("disk", "In", "ssd"))), (0, term()), (9, term()))
    )
    assert raw_scores(PLUGIN, pod, NODES) == {"a": 35, "b": 30, "c": 0, "d": 0}
    assert normalized_scores(PLUGIN, pod, NODES) == {"a": 100, "b": 85, "c": 0, "d": 0}
    assert raw_scores(PLUGIN, make_pod("p").node_selector(disk="ssd"), NODES) is None


@pytest.mark.parametrize("value", ["x", "1.5", ""])
def test_a_wish_that_makes_no_sense_is_granted_nowhere(value: str) -> None:
    """The API server lets it pass, kube-scheduler then never places the pod; the other wishes count as ever."""
    pod = pod_with(preferred((30, term(where("disk", "Gt", value))), (5, term(where("disk", "In", "ssd")))))
    assert raw_scores(PLUGIN, pod, NODES) == {"a": 5, "b": 0, "c": 0, "d": 0}


def test_what_the_args_enforce_is_asked_first() -> None:
    """A node outside addedAffinity is refused for that, whatever the pod says; its wishes count for every pod."""
    added = NodeAffinity(
        NodeSelector((term(where("disk", "Exists")),)), (PreferredSchedulingTerm(7, term(where("disk", "In", "ssd"))),)
    )
    plugin = NodeAffinityPlugin(NodeAffinityArgs(added_affinity=added))
    assert rejections(plugin, make_pod("p").node_selector(disk="ssd"), NODES) == {
        "b": MISMATCH,
        "c": ENFORCED,
        "d": ENFORCED,
    }
    assert rejections(plugin, make_pod("p"), NODES) == {"c": ENFORCED, "d": ENFORCED}
    pod = pod_with(preferred((3, term(where("disk", "Exists")))))
    assert raw_scores(plugin, pod, NODES) == {"a": 10, "b": 3, "c": 0, "d": 0}
    assert raw_scores(plugin, make_pod("p"), NODES) == {"a": 7, "b": 0, "c": 0, "d": 0}


def test_pods_with_equal_constraints_read_alike() -> None:
    """Wishes are no part of the filter's signature, nor demands of the score's."""
    selecting = [make_pod(name).node_selector(disk="ssd").label(app=name) for name in "ab"]
    one, same = (PLUGIN.filter_signature(parsed(pod), NODES) for pod in selecting)
    other = PLUGIN.filter_signature(parsed(make_pod("c").node_selector(disk="hdd")), NODES)
    assert one == same != other
    assert PLUGIN.filter_signature(parsed(pod_with(preferred((1, named("a"))))), NODES) is None
    assert PLUGIN.score_signature(parsed(selecting[0]), NODES) is None
    wishing = [parsed(pod_with(preferred((weight, named("a"))))) for weight in (1, 1, 2)]
    signatures = [PLUGIN.score_signature(pod, NODES) for pod in wishing]
    assert signatures[0] == signatures[1] != signatures[2]

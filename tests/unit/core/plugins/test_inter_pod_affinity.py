"""InterPodAffinity: near and apart, required and wished, by whatever label of the nodes."""

from __future__ import annotations

import pytest

from scheduler.api.types import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    WeightedPodAffinityTerm,
)
from scheduler.config.plugin_args import InterPodAffinityArgs
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.status import Code, Status
from scheduler.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, U, normalized_scores, parsed, raw_scores, rejections, snapshot_of

PLUGIN = InterPodAffinity(InterPodAffinityArgs(), ClusterState())
NOT_NEAR = (UU, ["node(s) didn't match pod affinity rules"])
NOT_APART = (U, ["node(s) didn't match pod anti-affinity rules"])
REPELLED = (U, ["node(s) didn't satisfy existing pods anti-affinity rules"])
NODES = (
    make_node("a1").label(zone="a", host="a1"),
    make_node("a2").label(zone="a", host="a2"),
    make_node("b1").label(zone="b", host="b1"),
    make_node("none"),
)


def term(key: str = "zone", namespaces: tuple[str, ...] | None = None, **labels: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, LabelSelector(labels), namespaces)


def near(*terms: PodAffinityTerm, **wishes: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(terms, _wishes(wishes)))


def apart(*terms: PodAffinityTerm, **wishes: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAntiAffinity(terms, _wishes(wishes)))


def _wishes(wishes: dict[str, PodAffinityTerm]) -> tuple[WeightedPodAffinityTerm, ...]:
    """Weight by name: `w5` is 5."""
    return tuple(WeightedPodAffinityTerm(int(name[1:]), wish) for name, wish in wishes.items())


def on(node: str, name: str = "", **labels: str) -> PodBuilder:
    return make_pod(name or f"on-{node}").label(**labels).node(node)


def rejected(pod: PodBuilder, *placed: PodBuilder, nodes: tuple[NodeBuilder, ...] = NODES) -> dict[str, object]:
    return dict(rejections(PLUGIN, pod, snapshot_of(*nodes, *placed)))


def test_a_pod_goes_where_the_pods_are_that_it_wants_near() -> None:
    """Into their zone; a node without the label is in no zone, whoever runs there."""
    pod = make_pod("p").affinity(near(term(app="web")))
    away = rejected(pod, on("a1", app="web"), on("none", app="web"))
    assert away == {"b1": NOT_NEAR, "none": NOT_NEAR}


def test_one_pod_must_match_all_terms_of_affinity() -> None:
    """Two pods that match one term each are not enough."""
    pod = make_pod("p").affinity(near(term(app="web"), term("host", tier="front")))
    assert rejected(pod, on("a1", "x", app="web"), on("a1", "y", tier="front")).keys() == {"a1", "a2", "b1", "none"}
    assert rejected(pod, on("a1", app="web", tier="front")).keys() == {"a2", "b1", "none"}


def test_the_first_of_its_kind_may_start_anywhere_with_the_labels() -> None:
    """As long as no pod of its kind counts anywhere, and it is one itself."""
    pod = make_pod("p").label(app="web").affinity(near(term(app="web")))
    assert rejected(pod) == {"none": NOT_NEAR}
    assert rejected(pod, on("none", app="web")) == {"none": NOT_NEAR}
    assert rejected(pod, on("b1", app="web").namespace("other")) == {"none": NOT_NEAR}
    assert rejected(pod, on("b1", app="web")).keys() == {"a1", "a2", "none"}
    other = make_pod("p").label(app="db").affinity(near(term(app="web")))
    assert rejected(other).keys() == {"a1", "a2", "b1", "none"}


def test_a_pod_keeps_away_from_those_it_wants_apart() -> None:
    """Each term by itself; a node without the label is far from everybody."""
    pod = make_pod("p").affinity(apart(term(app="web"), term("host", tier="front")))
    placed = (on("a1", app="web"), on("b1", tier="front"), on("none", app="web"))
    assert rejected(pod, *placed) == {"a1": NOT_APART, "a2": NOT_APART, "b1": NOT_APART}


def test_a_placed_pod_keeps_others_away() -> None:
    """Those that its required anti-affinity selects, in its own namespace where it names none."""
    placed = on("a1").affinity(apart(term(app="web")))
    assert rejected(make_pod("p").label(app="web"), placed) == {"a1": REPELLED, "a2": REPELLED}
    assert not rejected(make_pod("p").label(app="db"), placed)
    assert not rejected(make_pod("p").label(app="web").namespace("other"), placed)


def test_of_several_reasons_one_is_told() -> None:
    """Affinity before anti-affinity, its own before that of others."""
    affinity = Affinity(
        pod_affinity=PodAffinity((term("host", app="db"),)), pod_anti_affinity=PodAntiAffinity((term(app="web"),))
    )
    pod = make_pod("p").label(app="batch").affinity(affinity)
    repelling = [on(node, f"r-{node}", app="db").affinity(apart(term("host", app="batch"))) for node in ("a1", "b1")]
    assert rejected(pod, *repelling, on("a1", "w", app="web")) == {
        "a1": NOT_APART, "a2": NOT_NEAR, "b1": REPELLED, "none": NOT_NEAR,
    }  # fmt: skip


def test_plain_pods_are_left_out() -> None:
    """Without terms of its own, and with nobody placed whose anti-affinity reaches it on any node."""
    pod = make_pod("p").label(app="web")
    for placed in ([], [on("a1").affinity(apart(term(app="db")))], [on("none").affinity(apart(term(app="web")))]):
        assert pre_filter(pod, snapshot_of(*NODES, *placed)) == Status.of(Code.SKIP)
    assert pre_filter(pod, snapshot_of(*NODES, on("a1").affinity(apart(term(app="web"))))) is None
    assert pre_filter(pod.affinity(apart(w1=term(app="web"))), snapshot_of(*NODES)) == Status.of(Code.SKIP)
    assert pre_filter(pod.affinity(apart(term(app="db"))), snapshot_of(*NODES)) is None


def pre_filter(pod: PodBuilder, snapshot: Snapshot) -> object:
    return PLUGIN.pre_filter(CycleState(), parsed(pod), snapshot)


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


@pytest.mark.parametrize(
    ("selector", "taken"),
    [
        (LabelSelector({"team": "blue"}), {"a"}),
        (LabelSelector(), {"a", "b"}),
        (LabelSelector(match_expressions=(LabelSelectorRequirement("team", "DoesNotExist"),)), {"b"}),
        (None, set()),
    ],
)
def test_namespaces_are_chosen_by_their_labels(selector: LabelSelector | None, taken: set[str]) -> None:
    """Of the terms of either side; an empty selector means all, and what a namespace says now counts."""
    state = ClusterState()
    snapshot = Snapshot(state)
    for node in NODES:
        state.cache.add_node(node.obj())
    state.objects.set(namespace("default"))
    state.objects.set(namespace("blue", team="red"))
    state.objects.set(namespace("plain"))
    wanted = PodAffinityTerm("zone", LabelSelector({"app": "web"}), None, selector)
    pods = [on("a1", "x", app="web").namespace("blue"), on("b1", "y", app="web").namespace("plain")]
    for pod in pods:
        state.cache.add_pod(parsed(pod), str(pod.obj().spec.node_name))
    snapshot.refresh()
    pod = make_pod("p").affinity(apart(wanted))
    rejections(PLUGIN, pod, snapshot)  # whatever is remembered of this must not outlive the change
    state.objects.set(namespace("blue", team="blue"))
    rows = rejections(PLUGIN, pod, snapshot)
    assert {name[0] for name in rows} == taken


def test_wishes_of_both_sides_add_up() -> None:
    """Weight by pod: of the pod's wishes, of those of placed pods that select it, and 1 for their affinity."""
    affinity = Affinity(
        pod_affinity=PodAffinity(None, _wishes({"w5": term(app="web")})),
        pod_anti_affinity=PodAntiAffinity(None, _wishes({"w2": term("host", tier="front")})),
    )
    pod = make_pod("p").label(app="batch").affinity(affinity)
    placed = (
        on("a1", "web", app="web", tier="front"),
        on("a2", "web-2", app="web"),
        on("b1", "near").affinity(near(term(app="batch"))),
        on("b1", "far").affinity(apart(w7=term("host", app="batch"))),
        on("none", "nowhere", app="web").affinity(near(w9=term(app="batch"))),
    )
    snapshot = snapshot_of(*NODES, *placed)
    assert raw_scores(PLUGIN, pod, snapshot) == {"a1": 8, "a2": 10, "b1": -6, "none": 0}
    assert normalized_scores(PLUGIN, pod, snapshot) == {"a1": 87, "a2": 100, "b1": 0, "none": 37}
    heavy = InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=10), ClusterState())
    assert raw_scores(heavy, make_pod("q").label(app="batch"), snapshot) == {"a1": 0, "a2": 0, "b1": 3, "none": 0}


def test_without_wishes_nothing_is_scored() -> None:
    """Where nobody is that a wish is about, and where wishes of placed pods are to be ignored."""
    wishing = on("a1", app="web").affinity(near(w3=term(app="db")))
    assert raw_scores(PLUGIN, make_pod("p"), snapshot_of(*NODES)) is None
    assert raw_scores(PLUGIN, make_pod("p").affinity(near(w3=term(app="web"))), snapshot_of(*NODES)) is None
    assert raw_scores(PLUGIN, make_pod("p").label(app="web"), snapshot_of(*NODES, wishing)) is None
    db, snapshot = make_pod("p").label(app="db"), snapshot_of(*NODES, wishing)
    assert raw_scores(PLUGIN, db, snapshot) == {"a1": 3, "a2": 3, "b1": 0, "none": 0}
    ignoring = InterPodAffinity(InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True), ClusterState())
    assert raw_scores(ignoring, db, snapshot) is None
    wishes = db.affinity(near(w1=term("host", app="web")))
    assert raw_scores(ignoring, wishes, snapshot) == {"a1": 4, "a2": 3, "b1": 0, "none": 0}


def test_equal_scores_rank_nothing() -> None:
    """All nodes get 0 where all are equal."""
    pod = make_pod("p").affinity(near(w3=term(app="web")))
    assert set(normalized_scores(PLUGIN, pod, snapshot_of(*NODES[:2], on("a1", app="web"))).values()) == {0}


def test_a_selector_that_nobody_understands_is_refused() -> None:
    """The API server takes no such pod any more; one that is placed has no say."""
    bad = near(term(app="no label value!"))
    status = pre_filter(make_pod("p").affinity(bad), snapshot_of(*NODES))
    assert isinstance(status, Status)
    assert status.code is UU
    assert status.message.startswith('parsing pod: requiredAffinityTerms: values[0][app]: Invalid value: "no label va')
    placed = on("a1", app="web").affinity(bad)
    assert rejected(make_pod("q").affinity(apart(term(app="web"))), placed).keys() == {"a1", "a2"}


def test_tentative_pods_count() -> None:
    """Also a pod that is the only one with its terms, or its kind, coming and going again."""
    snapshot = snapshot_of(*NODES, on("a1", app="web").affinity(apart(term(app="db"))))
    there = next(iter(snapshot.node_info(0).pods.values()))  # type: ignore[union-attr]
    new = parsed(make_pod("new").label(app="web").affinity(apart(term("host", app="db"))))
    pod = parsed(make_pod("p").label(app="db").affinity(apart(term(app="web"))))
    state = CycleState()

    def verdicts() -> list[int]:
        return [PLUGIN.filter_row(state, pod, snapshot, row) for row in range(4)]

    assert verdicts() == [2, 2, 0, 0]
    with snapshot.overlay() as overlay:
        overlay.remove_pod(0, there)
        assert verdicts() == [0, 0, 0, 0]
        overlay.add_pod(2, new)
        assert verdicts() == [0, 0, 2, 0]
        overlay.remove_pod(2, new)
        overlay.add_pod(0, there)
        assert verdicts() == [2, 2, 0, 0]
    assert verdicts() == [2, 2, 0, 0]

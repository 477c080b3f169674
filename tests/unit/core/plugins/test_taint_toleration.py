"""TaintToleration: which taints keep a pod away, and how those that only discourage are counted."""

import pytest

from scheduler.core.plugins.taint_toleration import TaintToleration
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, normalized_scores, parsed, raw_scores, rejections, snapshot_of

PLUGIN = TaintToleration()
REASON = "node(s) had untolerated taint(s)"


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        (make_pod("p"), False),
        (make_pod("p").toleration("gpu", "Exists"), True),
        (make_pod("p").toleration("gpu", "Equal", "yes"), True),
        (make_pod("p").toleration("gpu", None, "yes"), True),
        (make_pod("p").toleration("gpu", "Equal", "no"), False),
        (make_pod("p").toleration("gpu", "Equal"), False),
        (make_pod("p").toleration("disk", "Exists"), False),
        (make_pod("p").toleration(None, "Exists"), True),
        (make_pod("p").toleration("gpu", "Exists", None, "NoSchedule"), True),
        (make_pod("p").toleration("gpu", "Exists", None, "NoExecute"), False),
        (make_pod("p").toleration("disk", "Exists").toleration("gpu", "Exists"), True),
    ],
)
def test_a_taint_is_borne_by_key_value_and_effect(pod: PodBuilder, fits: bool) -> None:
    """One toleration must match the taint in all that it names."""
    snapshot = snapshot_of(make_node("n1").taint("gpu", "yes", "NoSchedule"))
    assert rejections(PLUGIN, pod, snapshot) == ({} if fits else {"n1": (UU, [REASON])})


@pytest.mark.parametrize(("effect", "fits"), [("NoSchedule", False), ("NoExecute", False), ("PreferNoSchedule", True)])
def test_only_two_effects_keep_a_pod_away(effect: str, fits: bool) -> None:
    """PreferNoSchedule discourages only."""
    snapshot = snapshot_of(make_node("n1").taint("a", None, effect), make_node("n2"))
    assert rejections(PLUGIN, make_pod("p"), snapshot) == ({} if fits else {"n1": (UU, [REASON])})


def test_every_repelling_taint_must_be_borne() -> None:
    """Tolerating one of two taints is not enough."""
    snapshot = snapshot_of(make_node("n1").taint("a").taint("b", effect="NoExecute"))
    assert rejections(PLUGIN, make_pod("p").toleration("a", "Exists"), snapshot) == {"n1": (UU, [REASON])}
    assert rejections(PLUGIN, make_pod("p").toleration("a", "Exists").toleration("b", "Exists"), snapshot) == {}


def test_discouraging_taints_are_counted() -> None:
    """Only untolerated PreferNoSchedule taints count, and only tolerations that reach that effect help."""
    snapshot = snapshot_of(
        make_node("none"),
        make_node("one").taint("a", effect="PreferNoSchedule").taint("c", effect="NoSchedule"),
        make_node("two").taint("a", effect="PreferNoSchedule").taint("b", effect="PreferNoSchedule"),
    )
    assert raw_scores(PLUGIN, make_pod("p"), snapshot) == {"none": 0, "one": 1, "two": 2}
    assert raw_scores(PLUGIN, make_pod("p").toleration("a", "Exists"), snapshot) == {"none": 0, "one": 0, "two": 1}
    elsewhere = make_pod("p").toleration("a", "Exists", None, "NoSchedule")
    assert raw_scores(PLUGIN, elsewhere, snapshot) == {"none": 0, "one": 1, "two": 2}


def test_fewer_taints_are_better() -> None:
    """Scores are reversed: none is 100, the most is 0; without any all nodes have 100."""
    tainted = snapshot_of(
        make_node("none"),
        make_node("one").taint("a", effect="PreferNoSchedule"),
        *[make_node("three").taint("a", "1", "PreferNoSchedule").taint("b", effect="PreferNoSchedule")],
    )
    assert normalized_scores(PLUGIN, make_pod("p"), tainted) == {"none": 100, "one": 50, "three": 0}
    assert normalized_scores(PLUGIN, make_pod("p"), snapshot_of(make_node("n1"))) == {"n1": 100}


def test_pods_with_equal_tolerations_read_alike() -> None:
    """Signatures go by the tolerations alone."""
    snapshot = snapshot_of(make_node("n1"))
    signatures = [
        PLUGIN.filter_signature(parsed(pod), snapshot)
        for pod in (
            make_pod("a").toleration("gpu", "Exists").req(cpu="1"),
            make_pod("b").toleration("gpu", "Exists").label(app="b"),
            make_pod("c").toleration("disk", "Exists"),
            make_pod("d"),
            make_pod("e"),
        )
    ]
    assert signatures[0] == signatures[1]
    assert len(set(signatures)) == 3

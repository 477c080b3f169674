"""Pods per selector: counters equal a plain recount, whatever comes, goes and changes."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from scheduler.api.selectors import compile_labels
from scheduler.api.types import Affinity, LabelSelector, Node, PodAffinityTerm, PodAntiAffinity
from scheduler.core.cache import columns, pod_counts
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.columns import MISSING
from scheduler.core.cache.pod_counts import SelectedPods, TermKind
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.cache.topology import NodeMask, TopologySums
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_node, make_pod

ZONES = (None, "a", "b")
APPS = ("web", "db")
SELECTORS = [
    SelectedPods(((frozenset({"default"}), compile_labels({"app": "web"})),), live_only=True),
    SelectedPods(((None, compile_labels({"app": "web"})),)),
    SelectedPods(((None, compile_labels({})),)),
    SelectedPods(((frozenset({"other"}), compile_labels({})), (None, compile_labels({"app": "db"})))),
]


def _node(number: int, zone: str | None) -> Node:
    node = make_node(f"n{number}")
    return (node.label(zone=zone) if zone is not None else node).obj()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pod", "pod", "remove", "node", "ask"]),
            st.integers(0, 3),
            st.sampled_from(ZONES),
            st.sampled_from(APPS),
            st.sampled_from(["default", "other"]),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_counters_equal_a_recount(events: list[tuple[str, int, str | None, str, str, bool]]) -> None:
    """Sums by zone, over all nodes and over a mask, are those of the pods that are there."""
    state = ClusterState()
    snapshot = Snapshot(state)
    zones: dict[str, str | None] = {}
    placed: dict[str, tuple[PodInfo, str]] = {}
    mask = NodeMask(lambda nodes, rows: (nodes.label("zone")[0] != -1)[rows])

    def check() -> None:
        snapshot.refresh()
        mask.refresh(snapshot.nodes, snapshot.node_changes)
        values = snapshot.nodes.label_column("zone").values
        for selected in SELECTORS:
            counter = snapshot.pod_counts.counter(selected)
            for counting in (None, mask):
                sums = counter.sums(snapshot.nodes, "zone", counting)
                for zone in ("a", "b"):
                    expected = sum(
                        zones.get(node) == zone and _selected(selected, pod) for pod, node in placed.values()
                    )
                    number = values.find(zone)
                    assert (0 if number is None else sums.by_value[number]) == expected
                assert sums.taken[:MISSING].tolist() == (sums.by_value[:MISSING] != 0).tolist()
                assert not sums.taken[MISSING]
                assert sums.values_taken == sums.taken.sum()

    for step, (kind, number, zone, app, namespace, terminating) in enumerate(events):
        name = f"n{number}"
        if kind == "node":
            state.cache.add_node(_node(number, zone))
            zones[name] = zone
        elif kind == "pod":
            builder = make_pod(f"p{step}").namespace(namespace).label(app=app).node(name)
            pod = parse_pod((builder.terminating() if terminating else builder).obj())
            state.cache.add_pod(pod, name)
            placed[pod.uid] = pod, name
        elif kind == "remove" and placed:
            uid = next(iter(placed))
            state.cache.remove_pod(uid)
            del placed[uid]
        else:
            check()
    check()


def _selected(selected: SelectedPods, pod: PodInfo) -> bool:
    labels = pod.pod.metadata.labels or {}
    if selected.live_only and pod.pod.metadata.deletion_timestamp is not None:
        return False
    return all(
        (namespaces is None or pod.namespace in namespaces) and selector.matches(labels)
        for namespaces, selector in selected.terms
    )


def test_an_overlay_is_counted_and_taken_back() -> None:
    """Tentative pods count while the overlay is open, and not afterwards."""
    state = ClusterState()
    state.cache.add_node(_node(0, "a"))
    snapshot = Snapshot(state)
    snapshot.refresh()
    counter = snapshot.pod_counts.counter(SELECTORS[1])
    zone = snapshot.nodes.label_column("zone").values.find("a")
    assert zone is not None
    with snapshot.overlay() as overlay:
        overlay.add_pod(0, parse_pod(make_pod("p").label(app="web").obj()))
        assert counter.sums(snapshot.nodes, "zone").by_value[zone] == 1
    assert counter.sums(snapshot.nodes, "zone").by_value[zone] == 0


def test_sums_of_owned_terms_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the terms not asked about for longest are dropped, and counted anew when asked for again."""
    monkeypatch.setattr(pod_counts, "_FEWEST_COUNTERS", 2)
    monkeypatch.setattr(pod_counts, "_COUNTER_BYTES", 0)
    state = ClusterState()
    state.cache.add_node(_node(0, "a"))
    apps = [f"app-{number}" for number in range(3)]
    for app in apps:
        term = PodAffinityTerm("zone", LabelSelector({"app": app}))
        shape = make_pod(app).affinity(Affinity(pod_anti_affinity=PodAntiAffinity((term,)))).node("n0")
        state.cache.add_pod(parse_pod(shape.obj()), "n0")
    snapshot = Snapshot(state)
    snapshot.refresh()

    def sums(app: str) -> TopologySums:
        pod = parse_pod(make_pod("p").label(app=app).obj())
        (term,) = snapshot.pod_counts.owned_terms_selecting(pod)[TermKind.REQUIRED_ANTI]
        return term.sums(snapshot.nodes, "zone")

    first, second, third = map(sums, apps)
    assert sums(apps[1]) is second
    assert sums(apps[2]) is third
    assert sums(apps[0]) is not first
    assert sums(apps[0]).values_taken == 1


def test_a_label_that_is_forgotten_takes_its_sums_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster may grow meanwhile; asked for again, the sums are those of the nodes and pods as they are then."""
    monkeypatch.setattr(columns, "_MOST_LABELS", 1)
    state = ClusterState()
    snapshot = Snapshot(state)
    for number, zone in ((0, "a"), (1, "b")):
        state.cache.add_node(_node(number, zone))
    snapshot.refresh()
    counter = snapshot.pod_counts.counter(SELECTORS[1])
    counter.sums(snapshot.nodes, "zone")
    snapshot.nodes.label_column("rack")
    for number in range(2, 70):
        state.cache.add_node(_node(number, "b"))
    state.cache.add_node(_node(0, "b"))
    for number in (0, 69):
        state.cache.add_pod(parse_pod(make_pod(f"p{number}").label(app="web").obj()), f"n{number}")
    snapshot.refresh()
    sums = counter.sums(snapshot.nodes, "zone")
    zone_b = snapshot.nodes.label_column("zone").values.find("b")
    assert zone_b is not None
    assert sums.by_value[zone_b] == 2
    assert sums.values_taken == 1

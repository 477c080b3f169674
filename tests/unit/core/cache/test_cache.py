"""The cache's state machine, one transition a test. What the columns then hold is checked in `test_recount.py`."""

import pytest
from msgspec.structs import replace

from scheduler.api.quantity import QuantityError
from scheduler.api.types import Affinity, LabelSelector, PodAffinityTerm, PodAntiAffinity
from scheduler.core.cache.cache import Cache, CacheError
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import PodBuilder, make_node, make_pod

POD = make_pod("p").req(cpu="1")


def pending(pod: PodBuilder = POD) -> PodInfo:
    return parse_pod(pod.obj())


def on(node_name: str, pod: PodBuilder = POD) -> PodInfo:
    return parse_pod(pod.node(node_name).obj())


def pods_by_node(cache: Cache) -> dict[str, list[str]]:
    return {info.name: [pod.name for pod in info.pods.values()] for info in cache.node_infos() if info.pods}


def cpu_by_node(snapshot: Snapshot) -> dict[str, int]:
    """Requested cpu in milli of the nodes that exist."""
    snapshot.refresh()
    nodes = snapshot.nodes
    return {nodes.names[row]: int(nodes.requested("cpu")[row]) for row in range(nodes.count) if nodes.exists[row]}


def test_assumed_pods_count_at_once() -> None:
    """An assumption is as good as a fact until the watch says otherwise."""
    cache, pod = Cache(), pending()
    cache.add_node(make_node("n1").obj())
    cache.assume_pod(pod, "n1")
    assert cache.is_assumed(pod.uid)
    assert cpu_by_node(Snapshot(ClusterState(cache))) == {"n1": 1000}


def test_a_pod_is_assumed_once() -> None:
    """A second assumption, or one of a pod that the watch has shown, is a fault of the caller."""
    cache, pod = Cache(), pending()
    cache.assume_pod(pod, "n1")
    with pytest.raises(CacheError, match="default/p"):
        cache.assume_pod(pod, "n2")
    cache.add_pod(on("n1"), "n1")
    with pytest.raises(CacheError):
        cache.assume_pod(pod, "n1")
    assert pods_by_node(cache) == {"n1": ["p"]}


def test_the_watch_confirms() -> None:
    """The same node ends the assumption; forgetting it afterwards does nothing."""
    cache, pod = Cache(), pending()
    cache.assume_pod(pod, "n1")
    confirmed = on("n1")
    cache.add_pod(confirmed, "n1")
    assert not cache.is_assumed(pod.uid)
    cache.forget_pod(pod.uid)
    assert pods_by_node(cache) == {"n1": ["p"]}
    state = cache.pod_state(pod.uid)
    assert state is not None
    assert state.pod is confirmed


def test_the_watch_corrects() -> None:
    """A pod that was bound elsewhere counts there."""
    cache, pod = Cache(), pending()
    cache.assume_pod(pod, "n1")
    cache.add_pod(on("n2"), "n2")
    assert pods_by_node(cache) == {"n2": ["p"]}
    assert cache.sizes() == {"nodes": 1, "pods": 1, "assumed_pods": 0}


def test_forgotten_pods_leave_no_trace() -> None:
    """What was assumed and forgotten is as if it had never been; forgetting an unknown pod does nothing."""
    cache, pod = Cache(), pending()
    cache.assume_pod(pod, "n1")
    cache.forget_pod(pod.uid)
    cache.forget_pod(pod.uid)
    assert cache.sizes() == {"nodes": 0, "pods": 0, "assumed_pods": 0}
    assert cache.pod_state(pod.uid) is None
    cache.assume_pod(pod, "n2")


def test_deleted_pods_leave_whether_assumed_or_not() -> None:
    """A delete ends both states; a second one, or one of an unknown pod, does nothing."""
    cache, pod = Cache(), pending()
    cache.assume_pod(pod, "n1")
    cache.remove_pod(pod.uid)
    cache.add_pod(on("n1"), "n1")
    cache.remove_pod(pod.uid)
    cache.remove_pod(pod.uid)
    assert cache.sizes() == {"nodes": 0, "pods": 0, "assumed_pods": 0}


def test_a_pod_created_anew_is_another_pod() -> None:
    """Pods are told apart by uid, so the old one's delete does not touch the new one of the same name."""
    cache = Cache()
    cache.add_pod(on("n1", POD.uid("old")), "n1")
    cache.assume_pod(pending(POD.uid("new")), "n1")
    cache.remove_pod("old")
    assert cache.is_assumed("new")
    assert pods_by_node(cache) == {"n1": ["p"]}


def test_changed_requests_are_counted_anew() -> None:
    """An update moves the sums; one of the status alone marks nothing as changed."""
    cache = Cache()
    cache.add_node(make_node("n1").obj())
    cache.add_pod(on("n1"), "n1")
    snapshot = Snapshot(ClusterState(cache))
    assert cpu_by_node(snapshot) == {"n1": 1000}
    cache.add_pod(on("n1", POD.phase("Running")), "n1")
    assert not cache.take_changes().usage
    cache.add_pod(on("n1", make_pod("p").req(cpu="3")), "n1")
    assert cpu_by_node(snapshot) == {"n1": 3000}


def test_a_pod_with_a_selector_that_nobody_understands_counts() -> None:
    """The API server refuses such pods now, but keeps old ones; they repel nobody."""
    term = PodAffinityTerm("kubernetes.io/hostname", LabelSelector({"app": "no label value!"}))
    shape = make_pod("p").req(cpu="1").affinity(Affinity(pod_anti_affinity=PodAntiAffinity((term,))))
    cache = Cache()
    cache.add_node(make_node("n1").obj())
    snapshot = Snapshot(ClusterState(cache))
    cache.add_pod(on("n1", shape), "n1")
    assert cpu_by_node(snapshot) == {"n1": 1000}
    assert not snapshot.pod_counts.owned_terms_selecting(pending())
    cache.remove_pod(on("n1", shape).uid)
    assert cpu_by_node(snapshot) == {"n1": 0}


def test_pods_may_come_before_their_node_and_outlive_it() -> None:
    """They count all the while, but a node that is not there has no row to be chosen."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    cache.add_pod(on("n1"), "n1")
    assert cpu_by_node(snapshot) == {}
    assert snapshot.nodes.row_of("n1") is None
    cache.add_node(make_node("n1").obj())
    assert cpu_by_node(snapshot) == {"n1": 1000}
    cache.remove_node("n1")
    assert cpu_by_node(snapshot) == {}
    assert snapshot.nodes.existing == 0
    cache.add_node(make_node("n1").obj())
    assert cpu_by_node(snapshot) == {"n1": 1000}


def test_a_row_is_given_away_only_when_node_and_pods_are_gone() -> None:
    """A new node takes the row of one that left nothing behind."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    for name in ("n1", "n2"):
        cache.add_node(make_node(name).obj())
    cache.add_pod(on("n1"), "n1")
    cache.remove_node("n1")
    cache.remove_node("n2")
    cache.add_node(make_node("n3").obj())
    snapshot.refresh()
    assert snapshot.nodes.row_of("n3") == 1
    cache.remove_pod(on("n1").uid)
    cache.add_node(make_node("n4").obj())
    assert cpu_by_node(snapshot) == {"n3": 0, "n4": 0}
    assert snapshot.nodes.row_of("n4") == 0


def test_a_node_that_can_not_be_read_changes_nothing() -> None:
    """An amount that is no quantity is told to the caller; a known node stays as it was, an unknown one stays away."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    good = make_node("n1").capacity(cpu="2").obj()
    cache.add_node(good)
    for name in ("n1", "n2"):
        bad = make_node(name).allocatable(cpu="two").obj()
        with pytest.raises(QuantityError):
            cache.add_node(bad)
    snapshot.refresh()
    assert snapshot.nodes.allocatable("cpu").tolist() == [2000]
    assert cache.sizes()["nodes"] == 1


def test_a_refresh_without_changes_costs_nothing() -> None:
    """No generation passes and no row is marked."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    cache.add_node(make_node("n1").obj())
    snapshot.refresh()
    seen = (snapshot.row_changes.end, snapshot.node_changes.end)
    snapshot.refresh()
    assert (snapshot.row_changes.end, snapshot.node_changes.end) == seen


def test_a_placement_marks_its_row_alone() -> None:
    """Only what depends on the pods of that one row is out of date afterwards."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    for name in ("n1", "n2", "n3"):
        cache.add_node(make_node(name).obj())
    snapshot.refresh()
    rows, nodes = snapshot.row_changes.end, snapshot.node_changes.end
    cache.assume_pod(pending(), "n2")
    snapshot.refresh()
    assert snapshot.row_changes.since(rows) == [snapshot.nodes.row_of("n2")]
    assert snapshot.node_changes.since(nodes) == []


def test_a_node_that_changes_keeps_its_row() -> None:
    """Its labels and allocatable follow, its pods stay counted."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    node = make_node("n1").obj()
    cache.add_node(node)
    cache.add_pod(on("n1"), "n1")
    cache.add_node(replace(node, metadata=replace(node.metadata, labels={"disk": "ssd"})))
    assert cpu_by_node(snapshot) == {"n1": 1000}
    ids, values = snapshot.nodes.label("disk")
    assert [values.values[number] for number in ids] == ["ssd"]

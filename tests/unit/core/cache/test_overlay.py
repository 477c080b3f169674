"""Tentative placements: what the columns say meanwhile, and that nothing is left of them."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from scheduler.api.requests import HostPort
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.columns import NodeColumns
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.cluster_life import GPU, SOME_PODS, named_pod, node_names
from tests.unit.core.plugins.asking import snapshot_of

RESOURCES = ("cpu", "memory", GPU, "example.com/new")
WEB = make_pod("web").req({GPU: 1}, cpu="1", memory="1Gi").host_port(80)


def placed(shape: PodBuilder, name: str) -> PodInfo:
    return parse_pod(named_pod(shape, name))


def usage(nodes: NodeColumns) -> dict[str, object]:
    """Everything that depends on the pods of the nodes."""
    return {
        **{resource: nodes.requested(resource).tolist() for resource in RESOURCES},
        "pods": nodes.pod_count.tolist(),
        "non-zero": (nodes.non_zero_cpu_milli.tolist(), nodes.non_zero_memory_bytes.tolist()),
        "ports": {key: {ip: dict(rows) for ip, rows in by_ip.items()} for key, by_ip in nodes.ports.rows.items()},
    }


def recount(on_row: list[list[PodInfo]]) -> dict[str, object]:
    """The same from the pods of each row."""
    ports: dict[tuple[str, int], dict[str, dict[int, int]]] = {}
    for row, pods in enumerate(on_row):
        for port, number in Counter(port for pod in pods for port in pod.host_ports).items():
            ports.setdefault((port.protocol, port.port), {}).setdefault(port.ip, {})[row] = number
    requests = [[pod.requests for pod in pods] for pods in on_row]
    return {
        **{name: [float(sum(each.get(name) for each in row)) for row in requests] for name in RESOURCES},
        "pods": [len(pods) for pods in on_row],
        "non-zero": (
            [float(sum(each.non_zero_cpu_milli for each in row)) for row in requests],
            [float(sum(each.non_zero_memory_bytes for each in row)) for row in requests],
        ),
        "ports": ports,
    }


def test_pods_come_and_go_for_as_long_as_it_is_open() -> None:
    """One is counted in, one out; afterwards all is as before, also for a resource nobody knew."""
    present, new = placed(WEB, "present"), placed(make_pod("").req({"example.com/new": 3}, cpu="500m"), "new")
    snapshot = snapshot_of(make_node("n1"), WEB.node("n1"))
    before = usage(snapshot.nodes)
    with snapshot.overlay() as overlay:
        overlay.add_pod(0, new)
        assert usage(snapshot.nodes) == recount([[present, new]])
        overlay.remove_pod(0, present)
        assert usage(snapshot.nodes) == recount([[new]])
    assert usage(snapshot.nodes) == before


def test_an_exception_leaves_nothing_behind() -> None:
    """A plugin that raises while pods are away must not leave them away; the exception goes on."""
    snapshot = snapshot_of(make_node("n1"), WEB.node("n1"))
    before = usage(snapshot.nodes)
    with pytest.raises(RuntimeError, match="plugin bug"):
        fail_within(snapshot)
    assert usage(snapshot.nodes) == before


def fail_within(snapshot: Snapshot) -> None:
    with snapshot.overlay() as overlay:
        overlay.remove_pod(0, placed(WEB, "web"))
        overlay.add_pod(0, placed(WEB, "other"))
        raise RuntimeError("plugin bug")


def test_one_within_another_takes_back_its_own_only() -> None:
    """Filters count nominated pods while preemption has victims away."""
    snapshot = snapshot_of(make_node("n1"), WEB.node("n1"))
    with snapshot.overlay() as outer:
        outer.remove_pod(0, placed(WEB, "web"))
        with snapshot.overlay() as inner:
            inner.add_pod(0, placed(WEB, "nominated"))
        assert usage(snapshot.nodes) == recount([[]])


def test_amounts_that_no_node_has_are_taken_back_exactly() -> None:
    """Sums of absurd requests are rounded, but what stood there before comes back to the byte."""
    snapshot = snapshot_of(make_node("n1"), make_pod("small").req(memory="1001").node("n1"))
    before = usage(snapshot.nodes)
    with snapshot.overlay() as overlay:
        overlay.add_pod(0, placed(make_pod("").req(memory="8Ei"), "absurd"))
    assert usage(snapshot.nodes) == before


def test_a_refresh_afterwards_counts_from_the_truth() -> None:
    """The pods that were away may have changed since, ports included."""
    cache = Cache()
    cache.add_node(make_node("n1").obj())
    cache.add_pod(placed(WEB, "a"), "n1")
    cache.add_pod(placed(WEB, "b"), "n1")
    snapshot = Snapshot(ClusterState(cache))
    snapshot.refresh()
    with snapshot.overlay() as overlay:
        overlay.remove_pod(0, placed(WEB, "a"))
        overlay.remove_pod(0, placed(WEB, "b"))
    cache.remove_pod(placed(WEB, "a").uid)
    snapshot.refresh()
    assert usage(snapshot.nodes) == recount([[placed(WEB, "b")]])


def test_a_port_is_taken_as_long_as_one_pod_takes_it() -> None:
    """Two pods (of which only one runs) share it: it is free when both are gone."""
    snapshot = snapshot_of(make_node("n1"), WEB.node("n1"), make_pod("twin").host_port(80).node("n1"))
    ports = snapshot.nodes.ports
    assert ports.rows == {("TCP", 80): {"0.0.0.0": {0: 2}}}
    ports.count(0, HostPort("0.0.0.0", "TCP", 80), -1)
    assert 0 in ports.rows["TCP", 80]["0.0.0.0"]
    ports.count(0, HostPort("0.0.0.0", "TCP", 80), -1)
    assert ports.rows == {}


Steps: TypeAlias = "list[tuple[int, PodBuilder, bool]]"
"""Row, and whether a pod that is there goes, or else one of this shape comes."""

_ROWS = 3


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, _ROWS - 1), SOME_PODS), max_size=8),
    st.lists(st.tuples(st.integers(0, _ROWS - 1), SOME_PODS, st.booleans()), max_size=12),
)
def test_the_columns_equal_a_recount_at_every_step(present: list[tuple[int, PodBuilder]], steps: Steps) -> None:
    """Whoever comes and goes; and in the end they are as before."""
    cache = Cache()
    for name in node_names(_ROWS):
        cache.add_node(make_node(name).obj())
    on_row: list[list[PodInfo]] = [[] for _ in range(_ROWS)]
    for number, (row, shape) in enumerate(present):
        on_row[row].append(placed(shape, f"present-{number}"))
        cache.add_pod(on_row[row][-1], node_names(_ROWS)[row])
    snapshot = Snapshot(ClusterState(cache))
    snapshot.refresh()
    before = recount(on_row)
    with snapshot.overlay() as overlay:
        for number, (row, shape, goes) in enumerate(steps):
            if goes and on_row[row]:
                overlay.remove_pod(row, on_row[row].pop(0))
            else:
                on_row[row].append(placed(shape, f"added-{number}"))
                overlay.add_pod(row, on_row[row][-1])
            assert usage(snapshot.nodes) == recount(on_row)
    assert usage(snapshot.nodes) == before

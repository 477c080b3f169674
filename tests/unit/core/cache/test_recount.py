"""After any sequence of events and assumptions the columns hold what a recount from scratch gives.

The recount is as naive as can be, so this also says what each column means. Not covered here: the order of refreshes
against changes of kept results (`framework/test_evaluation.py`).
"""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

from scheduler.api.quantity import milli_value, value
from scheduler.api.types import Node
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.columns import MISSING, NO_PODS, NodeColumns
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_pod
from tests.unit.core.cluster_life import GPU, REPELLING, ClusterLife, Event, events

RESOURCES = ("cpu", "memory", GPU)
LABELS = ("disk", "size", "nowhere")
REPELLED = parse_pod(make_pod("probe").namespace("other").label(app="web").obj())


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(events(nodes=6, pods=10), min_size=1, max_size=5), st.booleans()), min_size=8, max_size=12
    )
)
def test_columns_equal_a_recount(turns: list[tuple[list[Event], bool]]) -> None:
    """Whatever happened between two refreshes, and whenever a column is first asked for."""
    life = ClusterLife()
    snapshot = Snapshot(ClusterState(life.cache))
    rows: dict[str, int] = {}
    for happening, read_early in turns:
        for event in happening:
            life.happen(event)
            check_states(life)
            rows = stable_rows(life, rows)
        if read_early:
            read_columns(snapshot.nodes)
        snapshot.refresh()
        check_columns(life, snapshot, rows)


def check_states(life: ClusterLife) -> None:
    """The cache knows who counts where, and who by our own decision only."""
    known = life.nodes.keys() | {placed.node_name for placed in life.placed.values()}
    assumed = [placed for placed in life.placed.values() if placed.assumed]
    assert life.cache.sizes() == {"nodes": len(known), "pods": len(life.placed), "assumed_pods": len(assumed)}
    for uid, placed in life.placed.items():
        state = life.cache.pod_state(uid)
        assert state is not None
        assert (state.pod, state.node_name, state.assumed) == (placed.pod, placed.node_name, placed.assumed)
        assert life.cache.is_assumed(uid) == placed.assumed


def stable_rows(life: ClusterLife, before: dict[str, int]) -> dict[str, int]:
    """A node has one row from its first sight until it and its pods are gone, and no two have the same."""
    now = {info.name: info.row for info in life.cache.node_infos()}
    assert all(now.get(name, row) == row for name, row in before.items())
    assert len(set(now.values())) == len(now)
    return now


def read_columns(nodes: NodeColumns) -> None:
    for resource in RESOURCES:
        nodes.allocatable(resource)
        nodes.requested(resource)
    for key in LABELS:
        nodes.label(key)


def check_columns(life: ClusterLife, snapshot: Snapshot, rows: dict[str, int]) -> None:
    nodes = snapshot.nodes
    assert {nodes.names[row] for row in range(nodes.count) if nodes.exists[row]} == life.nodes.keys()
    assert nodes.existing == len(life.nodes)
    for name, node in life.nodes.items():
        row = nodes.row_of(name)
        assert row == rows[name]
        check_node(nodes, row, node)
    for name, row in rows.items():
        assert (nodes.row_of(name) is None) == (name not in life.nodes)
        check_usage(nodes, row, [each.pod for each in life.placed.values() if each.node_name == name])
    for row in set(range(nodes.count)) - set(rows.values()):
        check_usage(nodes, row, [])
    check_images(life, nodes, rows)
    repelling = any(placed.pod.pod.spec.affinity is REPELLING for placed in life.placed.values())
    assert bool(snapshot.pod_counts.owned_terms_selecting(REPELLED)) == repelling


def check_images(life: ClusterLife, nodes: NodeColumns, rows: dict[str, int]) -> None:
    having: dict[str, set[int]] = {}
    for name, node in life.nodes.items():
        for image_name in (each for image in node.status.images or () for each in image.names or ()):
            having.setdefault(image_name, set()).add(rows[name])
    assert nodes.images.rows == having
    assert nodes.images.size_bytes.keys() == having.keys()


def check_node(nodes: NodeColumns, row: int, node: Node) -> None:
    """Everything that comes from the Node object."""
    allocatable = node.status.allocatable or {}
    assert nodes.allowed_pods[row] == value(allocatable.get("pods", 0))
    assert nodes.allocatable("cpu")[row] == milli_value(allocatable.get("cpu", 0))
    for resource in ("memory", GPU):
        assert nodes.allocatable(resource)[row] == value(allocatable.get(resource, 0))
    assert nodes.unschedulable[row] == bool(node.spec.unschedulable)
    assert nodes.taint_sets.values[nodes.taint_set_ids[row]] == (node.spec.taints or ())
    for key in LABELS:
        ids, values = nodes.label(key)
        label = values.values[ids[row]] if ids[row] != MISSING else None
        assert label == (node.metadata.labels or {}).get(key)


def check_usage(nodes: NodeColumns, row: int, pods: list[PodInfo]) -> None:
    """Everything that comes from the pods on a node, whether or not there is a Node object."""
    assert nodes.pod_count[row] == len(pods)
    assert nodes.lowest_priority[row] == min((pod.priority for pod in pods), default=NO_PODS)
    for resource in RESOURCES:
        assert nodes.requested(resource)[row] == sum(pod.requests.get(resource) for pod in pods)
    assert nodes.non_zero_cpu_milli[row] == sum(pod.requests.non_zero_cpu_milli for pod in pods)
    assert nodes.non_zero_memory_bytes[row] == sum(pod.requests.non_zero_memory_bytes for pod in pods)
    taken = Counter((port.protocol, port.port, port.ip) for pod in pods for port in pod.host_ports)
    found = {
        (protocol, port, ip): rows[row]
        for (protocol, port), by_ip in nodes.ports.rows.items()
        for ip, rows in by_ip.items()
        if row in rows
    }
    assert found == taken

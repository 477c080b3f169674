"""After any sequence of events and assumptions the columns hold what a recount from scratch gives.

The recount is as naive as can be, so this also says what each column means. Not covered here: the order of refreshes
against changes of kept results (`framework/test_evaluation.py`).
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scheduler.api.quantity import milli_value, value
from scheduler.api.types import Node
from scheduler.core.cache.columns import MISSING, NodeColumns
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import NodeBuilder, PodBuilder, make_pod
from tests.unit.core.cluster_life import GPU, NODE_NAMES, POD_NAMES, SOME_NODES, SOME_PODS, ClusterLife

RESOURCES = ("cpu", "memory", GPU)
WEB_POD = parse_pod(make_pod("probe").namespace("other").label(app="web").obj())


class CacheMachine(RuleBasedStateMachine):
    """Life in the cluster, with refreshes at random moments; each is followed by a recount."""

    def __init__(self) -> None:
        super().__init__()
        self.life = ClusterLife()
        self.snapshot = Snapshot(self.life.cache)
        self.rows: dict[str, int] = {}

    @rule(shape=SOME_NODES, name=NODE_NAMES)
    def write_node(self, shape: NodeBuilder, name: str) -> None:
        self.life.write_node(shape, name)

    @rule(name=NODE_NAMES)
    def delete_node(self, name: str) -> None:
        self.life.delete_node(name)

    @rule(shape=SOME_PODS, name=POD_NAMES, node_name=NODE_NAMES)
    def assume(self, shape: PodBuilder, name: str, node_name: str) -> None:
        self.life.assume(shape, name, node_name)

    @rule(name=POD_NAMES)
    def forget(self, name: str) -> None:
        self.life.forget(name)

    @rule(name=POD_NAMES)
    def confirm(self, name: str) -> None:
        self.life.confirm(name)

    @rule(shape=SOME_PODS, name=POD_NAMES, node_name=NODE_NAMES)
    def show(self, shape: PodBuilder, name: str, node_name: str) -> None:
        self.life.show(shape, name, node_name)

    @rule(name=POD_NAMES)
    def remove(self, name: str) -> None:
        self.life.remove(name)

    @rule(read_early=st.booleans())
    def refresh(self, read_early: bool) -> None:
        """Columns of labels and resources are made when first asked for, at whatever moment that is."""
        if read_early:
            self._touch_columns()
        self.snapshot.refresh()
        self._recount()

    @invariant()
    def states_are_as_written_down(self) -> None:
        cache = self.life.cache
        assumed = {uid for uid, placed in self.life.placed.items() if placed.assumed}
        known = self.life.nodes.keys() | {placed.node_name for placed in self.life.placed.values()}
        assert cache.sizes() == {
            "nodes": len(known),
            "pods": len(self.life.placed),
            "assumed_pods": len(assumed),
        }
        for uid, placed in self.life.placed.items():
            state = cache.pod_state(uid)
            assert state is not None
            assert (state.pod, state.node_name, state.assumed) == (placed.pod, placed.node_name, placed.assumed)
            assert cache.is_assumed(uid) == placed.assumed

    @invariant()
    def rows_are_stable(self) -> None:
        """A node has one row from its first sight until it and its pods are gone, and no two have the same."""
        now = {info.name: info.row for info in self.life.cache.node_infos()}
        for name, row in self.rows.items():
            assert now.get(name, row) == row
        assert len(set(now.values())) == len(now)
        self.rows = now

    def _touch_columns(self) -> None:
        for resource in RESOURCES:
            self.snapshot.nodes.allocatable(resource)
            self.snapshot.nodes.requested(resource)
        for key in ("disk", "size"):
            self.snapshot.nodes.label(key)

    def _recount(self) -> None:
        nodes = self.snapshot.nodes
        existing = {nodes.names[row] for row in range(nodes.count) if nodes.exists[row]}
        assert existing == self.life.nodes.keys()
        assert nodes.existing == len(existing)
        for name, node in self.life.nodes.items():
            row = nodes.row_of(name)
            assert row == self.rows[name]
            assert nodes.node(row) is node
            check_node(nodes, row, node)
        for name, row in self.rows.items():
            check_usage(nodes, row, [each.pod for each in self.life.placed.values() if each.node_name == name])
        for row in set(range(nodes.count)) - set(self.rows.values()):
            check_usage(nodes, row, [])
        self._check_images(nodes)
        self._check_anti_affinity()

    def _check_images(self, nodes: NodeColumns) -> None:
        having: dict[str, set[int]] = {}
        for name, node in self.life.nodes.items():
            for image in node.status.images or ():
                for image_name in image.names or ():
                    having.setdefault(image_name, set()).add(self.rows[name])
        assert nodes.images.rows == having
        assert nodes.images.size_bytes.keys() == having.keys()

    def _check_anti_affinity(self) -> None:
        """One shape repels pods of its own namespace with the label app=web."""
        repelling = any(
            placed.pod.pod.spec.affinity is not None and placed.pod.pod.spec.affinity.pod_anti_affinity is not None
            for placed in self.life.placed.values()
        )
        assert self.snapshot.existing_anti_affinity.may_repel(WEB_POD) == repelling


def check_node(nodes: NodeColumns, row: int, node: Node) -> None:
    """Everything that comes from the Node object."""
    allocatable = node.status.allocatable or {}
    assert nodes.allowed_pods[row] == value(allocatable.get("pods", 0))
    assert nodes.allocatable("cpu")[row] == milli_value(allocatable.get("cpu", 0))
    for resource in ("memory", GPU):
        assert nodes.allocatable(resource)[row] == value(allocatable.get(resource, 0))
    assert nodes.unschedulable[row] == bool(node.spec.unschedulable)
    assert nodes.taint_sets.values[nodes.taint_set_ids[row]] == (node.spec.taints or ())
    for key in ("disk", "size", "nowhere"):
        ids, values = nodes.label(key)
        label = values.values[ids[row]] if ids[row] != MISSING else None
        assert label == (node.metadata.labels or {}).get(key)


def check_usage(nodes: NodeColumns, row: int, pods: list[PodInfo]) -> None:
    """Everything that comes from the pods on a node, whether or not there is a Node object."""
    assert nodes.pod_count[row] == len(pods)
    for resource in RESOURCES:
        assert nodes.requested(resource)[row] == sum(pod.requests.get(resource) for pod in pods)
    assert nodes.non_zero_cpu_milli[row] == sum(pod.requests.non_zero_cpu_milli for pod in pods)
    assert nodes.non_zero_memory_bytes[row] == sum(pod.requests.non_zero_memory_bytes for pod in pods)
    taken = {(port.protocol, port.port, port.ip) for pod in pods for port in pod.host_ports}
    found = {
        (protocol, port, ip)
        for (protocol, port), by_ip in nodes.ports.rows.items()
        for ip, rows in by_ip.items()
        if row in rows
    }
    assert found == taken


CacheMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestRecount = CacheMachine.TestCase

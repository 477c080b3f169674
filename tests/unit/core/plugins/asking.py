"""Asks one plugin about one pod on a small cluster, in all the ways the framework asks, which must agree."""

import msgspec
import numpy as np

from scheduler.api.decoding import decode_pod
from scheduler.api.types import Node, Pod
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import FilterPlugin, ScorePlugin
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.scoring import normalized
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo
from scheduler.testing import NodeBuilder, PodBuilder

U = Code.UNSCHEDULABLE
UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def snapshot_of(*objects: NodeBuilder | PodBuilder) -> Snapshot:
    """A cluster of these nodes, with the pods on the nodes that they name."""
    cache = Cache()
    for built in (each.obj() for each in objects):
        if isinstance(built, Node):
            cache.add_node(built)
        else:
            assert built.spec.node_name
            cache.add_pod(parse_pod(built), built.spec.node_name)
    snapshot = Snapshot(ClusterState(cache))
    snapshot.refresh()
    return snapshot


def parsed(pod: PodBuilder | Pod) -> PodInfo:
    """The pod as it comes from the API server: equal parts of two pods are one object."""
    built = pod.obj() if isinstance(pod, PodBuilder) else pod
    return parse_pod(decode_pod(msgspec.json.encode(built)))


def statuses(plugin: FilterPlugin, pod: PodBuilder | Pod, snapshot: Snapshot) -> dict[str, Status | None]:
    """Status by node; None where the node passes."""
    info = parsed(pod)
    nodes = snapshot.nodes
    if plugin.filter_signature(info, snapshot) is None:
        return dict.fromkeys(nodes.names)
    state = CycleState()
    verdicts = plugin.filter(state, info, snapshot, slice(0, nodes.count)).tolist()
    backwards = np.arange(nodes.count)[::-1]
    assert plugin.filter(state, info, snapshot, backwards).tolist() == verdicts[::-1]
    assert [plugin.filter_row(state, info, snapshot, row) for row in range(nodes.count)] == verdicts
    return {
        nodes.names[row]: plugin.status(info, verdict) if verdict else None
        for row, verdict in enumerate(verdicts)
        if nodes.exists[row]  # the name of a node that is gone may be another row's by now
    }


def rejections(plugin: FilterPlugin, pod: PodBuilder, snapshot: Snapshot) -> dict[str, tuple[Code, list[str]]]:
    """Code and reasons of the nodes that are rejected."""
    return {
        name: (status.code, [reason.text for reason in status.reasons])
        for name, status in statuses(plugin, pod, snapshot).items()
        if status is not None
    }


def raw_scores(plugin: ScorePlugin, pod: PodBuilder | Pod, snapshot: Snapshot) -> dict[str, int] | None:
    """Raw score by node; None where the plugin takes no part."""
    info = parsed(pod)
    nodes = snapshot.nodes
    if plugin.score_signature(info, snapshot) is None:
        return None
    state, everywhere = CycleState(), np.ones(nodes.count, np.bool_)
    scores = plugin.score(state, info, snapshot, slice(0, nodes.count), everywhere).tolist()
    backwards = np.arange(nodes.count)[::-1]
    assert plugin.score(state, info, snapshot, backwards, everywhere).tolist() == scores[::-1]
    assert [plugin.score_row(state, info, snapshot, row) for row in range(nodes.count)] == scores
    return {nodes.names[row]: score for row, score in enumerate(scores) if nodes.exists[row]}


def normalized_scores(plugin: ScorePlugin, pod: PodBuilder, snapshot: Snapshot) -> dict[str, int]:
    """Scores 0 to 100 by node, all nodes being feasible."""
    raw = raw_scores(plugin, pod, snapshot)
    assert raw is not None
    everywhere = np.ones(len(raw), np.bool_)
    scores = normalized(plugin, CycleState(), np.array(list(raw.values())), everywhere)
    return dict(zip(raw, scores.tolist(), strict=True))

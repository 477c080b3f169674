"""InterPodAffinity on its counters says what a plain look at all pods on all nodes says, whatever happened before.

The plain look is written from the rules alone: one pod, one node, one term after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import hypothesis.strategies as st
from hypothesis import given, settings

from scheduler.api.selectors import compile_label_selector
from scheduler.api.types import Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity
from scheduler.config.plugin_args import InterPodAffinityArgs
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.inter_pod_affinity import InterPodAffinity
from tests.unit.core.affinity_world import EVENTS, PODS, AffinityWorld, Event, pending
from tests.unit.core.plugins.asking import raw_scores, statuses

WEIGHT = 7
NOT_NEAR, REPELLED, NOT_APART = -1, 1, 2


def _near(pod: PodInfo) -> PodAffinity:
    affinity = pod.pod.spec.affinity
    return (affinity and affinity.pod_affinity) or PodAffinity()


def _apart(pod: PodInfo) -> PodAntiAffinity:
    affinity = pod.pod.spec.affinity
    return (affinity and affinity.pod_anti_affinity) or PodAntiAffinity()


class PlainLook:
    """The rules, without any shortcut."""

    def __init__(self, world: AffinityWorld) -> None:
        self.world = world

    def verdict(self, pod: PodInfo, node_name: str) -> int:
        """What is wrong with the node."""
        if not self.is_near(pod, node_name):
            return NOT_NEAR
        for term in _apart(pod).required_during_scheduling_ignored_during_execution or ():
            if any(self.meets(pod, term, other, node, node_name) for other, node in self.placed()):
                return NOT_APART
        for other, node in self.placed():
            for term in _apart(other).required_during_scheduling_ignored_during_execution or ():
                if self.meets(other, term, pod, node, node_name):
                    return REPELLED
        return 0

    def is_near(self, pod: PodInfo, node_name: str) -> bool:
        """Whether all terms of affinity are met, by one pod in each topology or because it is the first of its kind."""
        terms = _near(pod).required_during_scheduling_ignored_during_execution or ()
        labels = self.labels(node_name)
        if any(term.topology_key not in labels for term in terms):
            return False
        kin = [node for other, node in self.placed() if terms and all(self.selects(pod, term, other) for term in terms)]
        keys = [term.topology_key for term in terms]
        if all(any(self.labels(node).get(key) == labels[key] for node in kin) for key in keys):
            return True
        nobody = not any(key in self.labels(node) for node in kin for key in keys)
        return nobody and all(self.selects(pod, term, pod) for term in terms)

    def score(self, pod: PodInfo, node_name: str) -> int:
        """Σ weight over all pods and wishes of both sides."""
        total = 0
        for other, node in self.placed():
            for weight, term in _wishes(pod):
                total += weight * self.meets(pod, term, other, node, node_name)
            for weight, term in _wishes(other):
                total += weight * self.meets(other, term, pod, node, node_name)
            for term in _near(other).required_during_scheduling_ignored_during_execution or ():
                total += WEIGHT * self.meets(other, term, pod, node, node_name)
        return total

    def placed(self) -> Iterator[tuple[PodInfo, str]]:
        """Pods on nodes that exist."""
        return ((pod, node) for pod, node in self.world.placed.values() if node in self.world.nodes)

    def labels(self, node_name: str) -> Mapping[str, str]:
        """The node's labels."""
        return self.world.nodes[node_name].metadata.labels or {}

    def meets(self, owner: PodInfo, term: PodAffinityTerm, other: PodInfo, node: str, other_node: str) -> bool:
        """Whether the owner's term selects the other pod, and both nodes are in one topology."""
        value = self.labels(node).get(term.topology_key)
        return value is not None and value == self.labels(other_node).get(term.topology_key) and self.selects(
            owner, term, other
        )  # fmt: skip

    def selects(self, owner: PodInfo, term: PodAffinityTerm, other: PodInfo) -> bool:
        """Whether the term is about the other pod."""
        if not compile_label_selector(term.label_selector).matches(other.pod.metadata.labels or {}):
            return False
        if not term.namespaces and term.namespace_selector is None:
            return other.namespace == owner.namespace
        by_labels = compile_label_selector(term.namespace_selector)
        return other.namespace in (term.namespaces or ()) or by_labels.matches(self.world.namespaces[other.namespace])


def _wishes(pod: PodInfo) -> Iterator[tuple[int, PodAffinityTerm]]:
    for wish in _near(pod).preferred_during_scheduling_ignored_during_execution or ():
        yield wish.weight, wish.pod_affinity_term
    for wish in _apart(pod).preferred_during_scheduling_ignored_during_execution or ():
        yield -wish.weight, wish.pod_affinity_term


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.booleans()), max_size=25), st.lists(PODS, min_size=1, max_size=3))
def test_the_plugin_equals_a_plain_look(events: list[tuple[Event, bool]], pods: list[Pod]) -> None:
    """Verdict and raw score of every node, whenever the plugin is asked meanwhile; it skips where nothing is wrong."""
    world = AffinityWorld()
    for name in ("default", "other"):
        world.write_namespace(name, "red")
    for number, zone in enumerate(("a", "a", "b")):
        world.write_node(f"n{number}", zone, has_host=True)
    plugin = InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=WEIGHT), world.state)
    snapshot = Snapshot(world.state)
    for event, asks in events:
        if event[:2] not in (("delete_namespace", "default"), ("delete_namespace", "other")):
            world.happen(event)
        if asks:
            check(world, plugin, snapshot, pods)
    check(world, plugin, snapshot, pods)


def check(world: AffinityWorld, plugin: InterPodAffinity, snapshot: Snapshot, pods: list[Pod]) -> None:
    """Ask about every pod and compare."""
    snapshot.refresh()
    plain = PlainLook(world)
    for pod in pods:
        info = pending(pod)
        verdicts = {name: plain.verdict(info, name) for name in world.nodes}
        scores = {name: plain.score(info, name) for name in world.nodes}
        if isinstance(plugin.pre_filter(CycleState(), info, snapshot), Status):
            assert not any(verdicts.values())
        expected = {name: plugin.status(info, verdict) if verdict else None for name, verdict in verdicts.items()}
        assert statuses(plugin, info.pod, snapshot) == expected
        assert (raw_scores(plugin, info.pod, snapshot) or dict.fromkeys(scores, 0)) == scores

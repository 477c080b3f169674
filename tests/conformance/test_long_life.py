"""A process that saw a cluster change for long gives the answers of one that starts now, and keeps nothing of the past.

The cases of the oracle each begin with a new process; this is what they can't reach. Bounds of what is kept are so low
here that it is dropped and made again all the time.
"""

from __future__ import annotations

from typing import Final

import pytest

from scheduler.core.algorithm import ScheduleAlgorithm
from scheduler.core.cache import columns, pod_counts
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.outcome import FEASIBLE, NO_NODE
from scheduler.core.framework.status import PluginError
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins import inter_pod_affinity, pod_topology_spread
from tests.conformance.long_life import LongLife, Profile, attempt
from tests.oracle.generator.profiles import PROFILES

STEPS: Final = 120
LONG: Final = range(100, 106)


@pytest.fixture(autouse=True)
def low_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two counters, two sums each, ten labels, and so on; more than any one cycle needs of labels."""
    monkeypatch.setattr(pod_counts, "_FEWEST_COUNTERS", 2)
    monkeypatch.setattr(pod_counts, "_COUNTER_BYTES", 0)
    monkeypatch.setattr(pod_counts, "_MOST_SUMS", 2)
    monkeypatch.setattr(columns, "_MOST_LABELS", 10)
    for module in (pod_counts, pod_topology_spread, inter_pod_affinity):
        monkeypatch.setattr(module, "_REMEMBERED", 2)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_long_life_leaves_no_trace(profile: str) -> None:
    """Verdicts, scores, decisions and preemptions, at any moment; and when everything is gone no count is left."""
    live(LongLife(1, profile), STEPS)


@pytest.mark.soak
@pytest.mark.parametrize("profile", PROFILES)
def test_many_long_lives_leave_no_trace(profile: str) -> None:
    """The same for longer."""
    for seed in LONG:
        live(LongLife(seed, profile, cases=8), 4 * STEPS)


def live(life: LongLife, steps: int) -> None:
    """Let things happen, compare now and then, and let everything go."""
    compared = 0
    for _ in range(steps):
        life.step()
        if life.rng.random() < 0.15:
            compared += compare(life)
    assert compared
    life.end()
    assert_nothing_is_left(life)


def compare(life: LongLife) -> int:
    """Ask about some pods, both the process that is there and one that starts now; how many were asked about."""
    life.snapshot.refresh()
    pods = life.rng.sample(list(life.pending.values()), min(3, len(life.pending)))
    for pod in pods:
        index = life.rng.randrange(len(life.profiles))
        state = life.anew()
        fresh = Snapshot(state)
        old, new = life.profiles[index], life.profiles_on(state, fresh)[index]
        nominations = life.nominations()
        expected = everything(new, pod, fresh)
        assert everything(old, pod, life.snapshot) == expected
        assert decided(old.algorithm, pod, expected) == decided(new.algorithm, pod, expected)
        life.restore_nominations(nominations)
        assert everything(old, pod, life.snapshot) == expected
    return len(pods)


def everything(profile: Profile, pod: PodInfo, snapshot: Snapshot) -> dict[str, object]:
    """Status, or total and scores, by node; by nothing what stands for all nodes."""
    try:
        narrowed, full = profile.algorithm.evaluate(CycleState(), pod)
    except PluginError as error:
        return {"": str(error)}
    if full is None:
        return {"": narrowed.status}
    answers: dict[str, object] = {}
    for position, rejected_by in enumerate(full.rejected_by.tolist()):
        name = snapshot.nodes.names[full.row(position)]
        if rejected_by == FEASIBLE:
            scores = {plugin: int(raw[position]) for plugin, raw in full.raw.items() if raw.any()}
            answers[name] = (int(full.totals[position]), scores)
        elif rejected_by != NO_NODE:
            plugin = profile.framework.filters[rejected_by]
            answers[name] = (plugin.name, plugin.status(pod, int(full.verdicts[position])))
    return answers


def decided(algorithm: ScheduleAlgorithm, pod: PodInfo, answers: dict[str, object]) -> tuple[object, ...]:
    """What a decision and the preemption after it came to; which of the best nodes it was is left to chance."""
    state = CycleState()
    try:
        decision = attempt(algorithm, state, pod)
        plan = None if decision.diagnosis is None else next(algorithm.preempt(state, decision), None)
    except PluginError as error:
        return (str(error),)
    totals = {name: answer[0] for name, answer in answers.items() if isinstance(answer, tuple)}
    best = max((total for total in totals.values() if isinstance(total, int)), default=None)
    if decision.node_name is not None and decision.feasible > 1:
        assert totals[decision.node_name] == best
    return (
        decision.node_name is not None,
        decision.feasible,
        decision.clears_nomination,
        None if decision.diagnosis is None else decision.diagnosis.message(),
        None if plan is None else (plan.node_name, [victim.uid for victim in plan.victims]),
    )


def assert_nothing_is_left(life: LongLife) -> None:
    """No pod counts anywhere, and nothing is known of nodes and volumes."""
    nodes, counts = life.snapshot.nodes, life.snapshot.pod_counts
    assert not life.state.cache.node_infos()
    assert nodes.existing == 0
    assert not nodes.pod_count.any()
    assert not any(nodes.requested(resource).any() for resource in ("cpu", "memory", "ephemeral-storage"))
    assert not any((nodes.ports.rows, nodes.images.rows))
    assert not any(len(nodes.label(key)[1]) for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone"))
    for selected, counter in counts._counters.items():
        assert not counter.classes, selected
        assert not counter.by_row(nodes).any(), selected
    assert not any((counts._classes, counts._by_pair, counts._by_namespace, counts._owned, counts._owned_index))
    attached = nodes.volumes.attached
    assert not any(column.any() for column in attached._counts.values())
    assert not any((attached._volume_of, attached._claims_of, attached._attachments_on, attached._attached_on))
    assert not nodes.volumes.uses._rows

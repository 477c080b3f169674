"""Preemption chooses as kube-scheduler's does: the same random clusters for both, on one control plane at once.

Each scenario exists twice, once for either; a node selector keeps its preemptor to its own copy. Nobody plays the
kubelet, so that victims stay for as long as it takes to look at them.
"""

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.resources import Manifest, Manifests
from tests.integration.observations import PATIENCE_SECONDS
from tests.integration.podium import Podiums
from tests.integration.preemption_scenarios import PRIORITIES, Scenario, priority_class

_PODIUM, _PEER = "podium", "peer"
_SCENARIOS = {seed: Scenario.random(seed) for seed in range(20)}


@dataclass(frozen=True)
class Outcome:
    """What became of one copy of a scenario, by the names that its pods and nodes have in all copies.

    Attributes:
        node: to which the preemptor is nominated; empty while it is not.
        victims: who is being evicted.
    """

    node: str
    victims: frozenset[str]


def test_same_node_and_same_victims_as_kube_scheduler(cluster: Cluster, podium: Podiums) -> None:
    """In all scenarios, and neither evicts anybody else."""
    set_up(cluster)
    process = podium.start(cluster.control_plane)
    peer = cluster.control_plane.start_peer(_PEER)
    cluster.client.create_many(
        scenario.preemptor(f"{side}-{seed}", cluster.namespace, side)
        for seed, scenario in _SCENARIOS.items()
        for side in (_PODIUM, _PEER)
    )

    def selected() -> dict[str, tuple[float, float]]:
        """How often each has preempted, and how many victims it has selected."""
        return {_PODIUM: preemptions(process.get("/metrics")[1]), _PEER: preemptions(peer.read_metrics())}

    def done() -> dict[str, dict[int, Outcome]] | None:
        """The outcomes, when all victims selected so far are being evicted."""
        if any(count < len(_SCENARIOS) for count, _ in selected().values()):
            return None
        victims = {side: number for side, (_, number) in selected().items()}
        seen = outcomes(cluster)
        evicted = {side: sum(len(outcome.victims) for outcome in seen[side].values()) for side in seen}
        return seen if evicted == victims and all(o.node for side in seen.values() for o in side.values()) else None

    seen = wait_until(done, PATIENCE_SECONDS, what=lambda: f"preemptions: {selected()}, {outcomes(cluster)}")
    assert seen[_PODIUM] == seen[_PEER]
    assert [count for count, _ in selected().values()] == [len(_SCENARIOS)] * 2
    assert_varied(seen[_PEER])


def set_up(cluster: Cluster) -> None:
    """Two copies of each scenario with all pods running, and nobody who wants room yet."""
    client, namespace = cluster.client, cluster.namespace
    client.create_many(map(priority_class, PRIORITIES))
    for side in (_PODIUM, _PEER):
        for seed, scenario in _SCENARIOS.items():
            copy = f"{side}-{seed}"
            client.create_many(scenario.manifests(copy, namespace, side))
            for name, status in scenario.statuses(copy):
                client.patch_status("pods", name, status, namespace)


def preemptions(metrics: str) -> tuple[float, float]:
    """How many preemptions selected victims, and how many in all."""
    samples = {s.name: s.value for family in text_string_to_metric_families(metrics) for s in family.samples}
    count, total = (samples.get(f"scheduler_preemption_victims_{part}", 0.0) for part in ("count", "sum"))
    return count, total


def outcomes(cluster: Cluster) -> dict[str, dict[int, Outcome]]:
    """What the API server has, by side and seed."""
    pods = cluster.client.list("pods", cluster.namespace)
    return {side: {seed: outcome(f"{side}-{seed}-", pods) for seed in _SCENARIOS} for side in (_PODIUM, _PEER)}


def outcome(prefix: str, pods: Manifests) -> Outcome:
    """What became of the pods whose names have the prefix."""
    of_copy = {name.removeprefix(prefix): pod for pod in pods if (name := pod["metadata"]["name"]).startswith(prefix)}
    node = of_copy["preemptor"]["status"].get("nominatedNodeName", "")
    return Outcome(node.removeprefix(prefix), frozenset(name for name, pod in of_copy.items() if is_evicted(pod)))


def is_evicted(pod: Manifest) -> bool:
    """Whether the pod is being deleted and says that a preemption is the cause."""
    conditions = {(c["type"], c.get("reason")) for c in pod["status"].get("conditions", ())}
    return "deletionTimestamp" in pod["metadata"] and ("DisruptionTarget", "PreemptionByScheduler") in conditions


def assert_varied(seen: dict[int, Outcome]) -> None:
    """The scenarios would show a difference: several victims, some reprieved, and not always the first node."""
    reprieved = 0
    for seed, scenario in _SCENARIOS.items():
        chosen = next(node for node in scenario.nodes if node.name == seen[seed].node)
        lower = {pod.name for pod in chosen.pods if pod.priority < scenario.priority}
        assert seen[seed].victims <= lower
        reprieved += bool(lower - seen[seed].victims)
    assert sum(len(o.victims) > 1 for o in seen.values()) >= len(_SCENARIOS) // 4
    assert reprieved >= len(_SCENARIOS) // 4
    assert len({o.node for o in seen.values()}) > 2

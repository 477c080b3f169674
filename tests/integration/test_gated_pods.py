"""A pod with scheduling gates is not attempted, and lands when the last gate is gone."""

from tests.conftest import Cluster
from tests.controlplane.client import PatchType, wait_until
from tests.controlplane.resources import pod_manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    events_of,
    scheduled_condition,
    wait_until_bound,
)
from tests.integration.podium import Podiums


def test_gated_pod_is_never_attempted_until_its_gates_are_gone(cluster: Cluster, podium: Podiums) -> None:
    """No attempt, no event, no word of ours in its condition while a gate is left; then it is bound at once."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    process = podium.start(cluster.control_plane)
    gates = [{"name": "example.com/quota"}, {"name": "example.com/review"}]
    gated = client.create(pod_manifest("gated", namespace, schedulingGates=gates))
    condition = scheduled_condition(gated)
    assert condition is not None
    assert condition["reason"] == "SchedulingGated"

    def gated_count() -> float:
        return process.sample("scheduler_pending_pods", queue="gated")

    wait_until(lambda: gated_count() == 1, PATIENCE_SECONDS, what="the gated pod in the queue")
    # A pod behind it lands, so it was its turn as well; and so do events that wake waiting pods.
    client.create(pod_manifest("free", namespace))
    wait_until_bound(client, namespace, ["free"])
    client.create_nodes(2, lambda index: {**client.get("nodes", "node-0"), "metadata": {"name": f"more-{index}"}})
    _remove_first_gate(cluster)
    client.create(pod_manifest("free-again", namespace))
    wait_until_bound(client, namespace, ["free-again"])
    assert gated_count() == 1
    assert process.sample("scheduler_schedule_attempts_total", result="unschedulable") == 0
    still_gated = client.get("pods", "gated", namespace)
    assert scheduled_condition(still_gated) == condition
    assert events_of(client, still_gated, "FailedScheduling") == []

    _remove_first_gate(cluster)
    wait_until_bound(client, namespace, ["gated"])
    assert gated_count() == 0
    assert process.sample("scheduler_pod_scheduling_attempts_sum") == 3


def _remove_first_gate(cluster: Cluster) -> None:
    patch = [{"op": "remove", "path": "/spec/schedulingGates/0"}]
    cluster.client.patch("pods", "gated", patch, cluster.namespace, patch_type=PatchType.JSON)

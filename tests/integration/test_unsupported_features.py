"""What Podium cannot do yet it says: such pods are refused by name, and tried again when that may help."""

from typing import Any

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.resources import pod_manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    wait_for_event,
    wait_until_bound,
    wait_until_refused,
)
from tests.integration.podium import Podiums

_FEATURES: dict[str, tuple[dict[str, Any], str]] = {
    "device": ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}, "resourceClaims"),
}


def test_pods_with_unsupported_features_are_refused_by_name(cluster: Cluster, podium: Podiums) -> None:
    """Condition and event name the feature; a pod with supported volumes lands beside them."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(2)
    process = podium.start(cluster.control_plane)
    pods = {name: client.create(pod_manifest(name, namespace, **spec)) for name, (spec, _) in _FEATURES.items()}
    for name, (_, feature) in _FEATURES.items():
        text = f"pod uses {feature}, which is not supported yet"
        condition = wait_until_refused(client, name, namespace, text)
        assert condition["reason"] == "Unschedulable"
        assert condition["message"].startswith(f"0/2 nodes are available: {text}.")
        wait_for_event(client, pods[name], "FailedScheduling", text)
    volumes = [
        {"name": "config", "configMap": {"name": "config"}},
        {"name": "secret", "secret": {"secretName": "secret"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/var/lib"}},
        {"name": "about", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "config"}}]}},
    ]
    client.create(pod_manifest("plain", namespace, volumes=volumes))
    wait_until_bound(client, namespace, ["plain"])
    assert process.sample("scheduler_schedule_attempts_total", result="error") == 0


def test_pod_is_tried_again_when_it_changes(cluster: Cluster, podium: Podiums) -> None:
    """A change of what the pod asks leads to another attempt, with the same answer while the feature is there."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    process = podium.start(cluster.control_plane)
    client.create(pod_manifest("pod", namespace, **_FEATURES["device"][0]))
    wait_until_refused(client, "pod", namespace, "resourceClaims")

    def attempts() -> float:
        return process.sample("scheduler_schedule_attempts_total", result="unschedulable")

    before = attempts()
    tolerations = client.get("pods", "pod", namespace)["spec"].get("tolerations", [])
    client.patch("pods", "pod", {"spec": {"tolerations": [*tolerations, {"operator": "Exists"}]}}, namespace)
    wait_until(lambda: attempts() > before, PATIENCE_SECONDS, what="another attempt")

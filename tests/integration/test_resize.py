"""Pods that are resized in place: what they may be using counts, and what becomes free wakes others."""

from typing import Any

from tests.conftest import Cluster
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.integration.observations import wait_until_bound, wait_until_refused
from tests.integration.podium import Podiums


def test_a_resize_counts_at_its_most_until_the_node_refuses_it(cluster: Cluster, podium: Podiums) -> None:
    """Asked for, it counts though it is not given yet; once it is infeasible, what the node allocated counts alone."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("a", cpu="2"))
    podium.start(cluster.control_plane)
    client.create(pod_manifest("resized", namespace, requests={"cpu": "500m"}))
    wait_until_bound(client, namespace, ["resized"])
    client.patch_status("pods", "resized", _reported("500m"), namespace)
    more = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1500m"}}}]}
    client.patch("pods", "resized", {"spec": more}, namespace, subresource="resize")

    client.create(pod_manifest("waiting", namespace, requests={"cpu": "1"}))
    wait_until_refused(client, "waiting", namespace, "1 Insufficient cpu")

    infeasible = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    client.patch_status("pods", "resized", {"conditions": [infeasible]}, namespace)
    wait_until_bound(client, namespace, ["waiting"])


def test_a_pod_that_shrinks_makes_room(cluster: Cluster, podium: Podiums) -> None:
    """Not when less is asked for, but when the node has given less."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("a", cpu="2"))
    podium.start(cluster.control_plane)
    client.create(pod_manifest("resized", namespace, requests={"cpu": "1500m"}))
    wait_until_bound(client, namespace, ["resized"])
    client.patch_status("pods", "resized", _reported("1500m"), namespace)
    less = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]}
    client.patch("pods", "resized", {"spec": less}, namespace, subresource="resize")

    client.create(pod_manifest("waiting", namespace, requests={"cpu": "1"}))
    wait_until_refused(client, "waiting", namespace, "1 Insufficient cpu")
    client.patch_status("pods", "resized", _reported("500m"), namespace)
    wait_until_bound(client, namespace, ["waiting"])


def _reported(cpu: str) -> dict[str, Any]:
    """The status of a pod that runs with so much."""
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "allocatedResources": {"cpu": cpu},
        "resources": {"requests": {"cpu": cpu}},
    }
    return {"phase": "Running", "containerStatuses": [container]}

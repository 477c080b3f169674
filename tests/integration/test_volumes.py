"""Volumes on a real API server: claims get their volumes before pods get their nodes, whatever fails in between."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import pytest

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import CutAfterCommit, Refuse, Rule
from tests.controlplane.resources import Manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    node_of,
    wait_for_event,
    wait_until_bound,
    wait_until_refused,
)
from tests.integration.podium import Podiums
from tests.integration.volume_manifests import claim, pod_with_claim, storage_class, volume_on

_BINDER = "persistentvolume-binder-controller"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def available(cluster: Cluster, name: str) -> bool:
    """Whether the controller has found the volume to be free."""
    phase = cluster.client.get("persistentvolumes", name).get("status", {}).get("phase")
    return bool(phase == "Available")


@pytest.fixture
def local_storage(cluster: Cluster) -> Callable[[int], None]:
    """Makes so many nodes, each with a volume of its own, in a class that waits for pods; the controller is at work."""

    def make(nodes: int) -> None:
        client = cluster.client
        client.create_nodes(nodes)
        client.create(storage_class("local"))
        cluster.control_plane.start_controller_manager(controllers=[_BINDER], qps=100, burst=100)
        for index in range(nodes):
            client.create(volume_on(f"volume-{index}", f"node-{index}", "local", size=f"{index + 1}Gi"))
        for index in range(nodes):
            wait_until(partial(available, cluster, f"volume-{index}"), PATIENCE_SECONDS, what="a free volume")

    return make


def test_a_claim_gets_the_volume_of_the_pods_node(
    cluster: Cluster, podium: Podiums, local_storage: Callable[[int], None]
) -> None:
    """Three pods with ever smaller claims get what is left for each, and claim, volume and node belong together."""
    client, namespace = cluster.client, cluster.namespace
    local_storage(3)
    podium.start(cluster.control_plane)
    for index in reversed(range(3)):
        client.create(claim(f"claim-{index}", namespace, "local", size=f"{index + 1}Gi"))
        client.create(pod_with_claim(f"pod-{index}", namespace, f"claim-{index}"))
        nodes = wait_until_bound(client, namespace, [f"pod-{index}"])
        bound = client.get("persistentvolumeclaims", f"claim-{index}", namespace)
        assert "pv.kubernetes.io/bind-completed" in bound["metadata"]["annotations"]
        volume = client.get("persistentvolumes", bound["spec"]["volumeName"])
        assert volume["metadata"]["name"] == f"volume-{index}"
        assert volume["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
        assert nodes == {f"pod-{index}": f"node-{index}"}


@pytest.mark.parametrize(
    "fault", [CutAfterCommit(), Refuse(HTTPStatus.CONFLICT), Refuse(HTTPStatus.FORBIDDEN)], ids=lambda fault: str(fault)
)
def test_a_write_that_fails_is_made_good(
    cluster: Cluster,
    podium: Podiums,
    fault_proxy: FaultProxy,
    local_storage: Callable[[int], None],
    fault: CutAfterCommit | Refuse,
) -> None:
    """A lost answer is looked up; a refused write gives the volume back, and the pod is bound when tried again."""
    client, namespace = cluster.client, cluster.namespace
    local_storage(1)
    fault_proxy.add(Rule(fault, "PATCH", "/persistentvolumes/", times=1))
    podium.start(cluster.control_plane, proxy=fault_proxy)
    client.create(claim("claim", namespace, "local"))
    pod = client.create(pod_with_claim("pod", namespace, "claim"))
    wait_until_bound(client, namespace, ["pod"])
    assert client.get("persistentvolumeclaims", "claim", namespace)["spec"]["volumeName"] == "volume-0"
    if isinstance(fault, Refuse):
        wait_for_event(client, pod, "FailedScheduling", 'running PreBind plugin "VolumeBinding": ')


def test_the_node_is_selected_for_a_volume_to_be_made(cluster: Cluster, podium: Podiums) -> None:
    """The provisioner is told the node, the pod waits for it, and is bound there when claim and volume are bound."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(2)
    client.create(storage_class("made", "disk.example.org"))
    podium.start(cluster.control_plane)
    client.create(claim("claim", namespace, "made"))
    client.create(pod_with_claim("pod", namespace, "claim"))

    def selected() -> str | None:
        annotations = client.get("persistentvolumeclaims", "claim", namespace)["metadata"].get("annotations", {})
        node: str | None = annotations.get(_SELECTED_NODE)
        return node

    node = wait_until(selected, PATIENCE_SECONDS, what="a node for the claim")
    assert node_of(client, "pod", namespace) is None
    made = volume_on("made-for-it", node, "made")
    uid = client.get("persistentvolumeclaims", "claim", namespace)["metadata"]["uid"]
    made["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": "claim", "uid": uid}
    client.create(made)
    cluster.control_plane.start_controller_manager(controllers=[_BINDER], qps=100, burst=100)
    assert wait_until_bound(client, namespace, ["pod"]) == {"pod": node}


def test_provisioning_that_fails_is_tried_again_elsewhere(cluster: Cluster, podium: Podiums) -> None:
    """A provisioner that takes the selected node away says so: the pod is told why, and another node is selected."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    client.create(storage_class("made", "disk.example.org"))
    podium.start(cluster.control_plane)
    client.create(claim("claim", namespace, "made"))
    pod = client.create(pod_with_claim("pod", namespace, "claim"))

    def selected() -> bool:
        metadata = client.get("persistentvolumeclaims", "claim", namespace)["metadata"]
        return _SELECTED_NODE in metadata.get("annotations", {})

    wait_until(selected, PATIENCE_SECONDS, what="a node for the claim")
    rescheduled: Manifest = {"metadata": {"annotations": {_SELECTED_NODE: None, "tried": "once"}}}
    client.patch("persistentvolumeclaims", "claim", rescheduled, namespace)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "claim"'
    wait_for_event(client, pod, "FailedScheduling", text)
    wait_until(selected, PATIENCE_SECONDS, what="a node for the claim, again")


def test_a_claim_for_one_pod_keeps_others_waiting(
    cluster: Cluster, podium: Podiums, local_storage: Callable[[int], None]
) -> None:
    """A ReadWriteOncePod claim in use rejects the next pod on every node, until the pod that has it is gone."""
    client, namespace = cluster.client, cluster.namespace
    local_storage(1)
    client.create(volume_on("exclusive", "node-0", "local", mode="ReadWriteOncePod"))
    wait_until(partial(available, cluster, "exclusive"), PATIENCE_SECONDS, what="a free volume")
    podium.start(cluster.control_plane)
    client.create(claim("claim", namespace, "local", mode="ReadWriteOncePod"))
    client.create(pod_with_claim("first", namespace, "claim"))
    wait_until_bound(client, namespace, ["first"])
    client.create(pod_with_claim("second", namespace, "claim"))
    in_use = "ReadWriteOncePod access mode already in-use by another pod"
    wait_until_refused(client, "second", namespace, in_use)
    client.delete("pods", "first", namespace, grace_period_seconds=0)
    wait_until_bound(client, namespace, ["second"])


def test_volumes_that_are_not_bound_in_time_fail_the_attempt(cluster: Cluster, podium: Podiums) -> None:
    """After bindTimeoutSeconds the pod is told, and its node stays selected for the claim."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(1)
    client.create(storage_class("made", "disk.example.org"))
    config = cluster.control_plane.directory / "bind-timeout.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: podium\n  pluginConfig:\n"
        "  - name: VolumeBinding\n    args: {bindTimeoutSeconds: 1}\n"
    )
    podium.start(cluster.control_plane, "--config", str(config))
    client.create(claim("claim", namespace, "made"))
    pod = client.create(pod_with_claim("pod", namespace, "claim"))
    wait_for_event(client, pod, "FailedScheduling", "binding volumes: context deadline exceeded")

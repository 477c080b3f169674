"""Pods that affinity, spread or volumes leave without a node: both schedulers' words in full, side by side.

Unlike in `test_unschedulable_texts.py` what preemption adds is compared, too: the condition uncut, the event's note
with its limit of 1,024 bytes.
"""

import pytest

from tests.conftest import Cluster
from tests.controlplane.resources import Manifest, pod_manifest, resource_of
from tests.integration.constrained_clusters import CLUSTERS, ConstrainedCluster
from tests.integration.observations import wait_for_event, wait_until_refused
from tests.integration.podium import Podiums

_PEER = "peer"
_NOT_FOUND = ". not found"


@pytest.mark.parametrize("constrained", CLUSTERS.values(), ids=CLUSTERS)
def test_same_words_about_constrained_pods(cluster: Cluster, podium: Podiums, constrained: ConstrainedCluster) -> None:
    """Reason, message and note are equal for each pod.

    Where kube-scheduler ends with ` not found` (docs/differences.md) it says nothing of preemption.
    """
    client, namespace = cluster.client, cluster.namespace
    client.create_many(constrained.nodes)
    client.create_many(placed_in(manifest, namespace) for manifest in constrained.objects)
    client.create_many(
        pod_manifest(f"placed-{number}", namespace, labels=placed.labels, nodeName=placed.node, **placed.spec)
        for number, placed in enumerate(constrained.placed)
    )
    podium.start(cluster.control_plane)
    cluster.control_plane.start_peer(_PEER)
    for scheduler_name in ("podium", _PEER):
        client.create_many(
            pod_manifest(
                f"{name}-{scheduler_name}", namespace, scheduler_name=scheduler_name, labels=pod.labels, **pod.spec
            )
            for name, pod in constrained.pending.items()
        )
    for name in constrained.pending:
        theirs = told_in_full(cluster, name, _PEER)
        ours = told_in_full(cluster, name, "podium")
        if theirs[1].endswith(_NOT_FOUND):
            theirs = tuple(text.removesuffix(" not found") for text in theirs)
            ours = tuple(text.partition(" preemption:")[0] for text in ours)
        assert ours == theirs
        assert theirs[0] == "Unschedulable"


def placed_in(manifest: Manifest, namespace: str) -> Manifest:
    """The object, in the namespace if it lives in one."""
    if not resource_of(manifest).namespaced:
        return manifest
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}


def told_in_full(cluster: Cluster, name: str, scheduler_name: str) -> tuple[str, ...]:
    """Reason and message of the condition and the note of the event, the pod's name without its scheduler's."""
    full_name = f"{name}-{scheduler_name}"
    condition = wait_until_refused(cluster.client, full_name, cluster.namespace)
    event = wait_for_event(cluster.client, cluster.client.get("pods", full_name, cluster.namespace), "FailedScheduling")
    return tuple(text.replace(full_name, name) for text in (condition["reason"], condition["message"], event["note"]))

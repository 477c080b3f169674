"""What becomes of claims that wait for their first consumer, and of the pods that share them."""

import pytest

from scheduler.simulator.results import Outcome
from tests.unit.simulator.clusters import by_name, node, pod, simulated

ZONE = "topology.kubernetes.io/zone"
DRIVER = "disk.example.com"


def storage_class(provisioner: str, mode: str = "WaitForFirstConsumer") -> str:
    return (
        f"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: fast}}\nprovisioner: {provisioner}\n"
        f"volumeBindingMode: {mode}\n---\n"
    )


def claim(name: str) -> str:
    spec = "{storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}"
    return f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {spec}\n---\n"


def volume(name: str, zone: str) -> str:
    term = f"{{matchExpressions: [{{key: '{ZONE}', operator: In, values: [{zone}]}}]}}"
    affinity = f"{{required: {{nodeSelectorTerms: [{term}]}}}}"
    offer = "storageClassName: fast, accessModes: [ReadWriteOnce], capacity: {storage: 10Gi}"
    spec = f"{{{offer}, nodeAffinity: {affinity}}}"
    status = "{phase: Available}"
    return f"apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {spec}\nstatus: {status}\n---\n"


def zoned(name: str, zone: str) -> str:
    """A node of a zone, with the driver and room for one of its volumes."""
    drivers = f"[{{name: {DRIVER}, nodeID: {name}, topologyKeys: ['{ZONE}'], allocatable: {{count: 1}}}}]"
    labels = f"{{name: {name}, labels: {{{ZONE}: {zone}}}}}"
    return node(name).replace(f"{{name: {name}}}", labels, 1) + (
        f"apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {name}}}\nspec: {{drivers: {drivers}}}\n---\n"
    )


def using(name: str, claim_name: str, more: str = "") -> str:
    """A pod with the claim."""
    volumes = f"volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim_name}}}}}]"
    return pod(name, f"{volumes}, {more}" if more else volumes)


def test_a_volume_that_fits_is_bound() -> None:
    """The pod goes to where its volume is; the second claim finds none left."""
    text = zoned("n1", "a") + zoned("n2", "b") + storage_class("kubernetes.io/no-provisioner") + volume("v1", "b")
    results = by_name(simulated(text + claim("c1") + claim("c2") + using("a", "c1") + using("b", "c2")))
    assert (results["a"].outcome, results["a"].node_name) == (Outcome.PLACED, "n2")
    assert results["b"].outcome is Outcome.UNSCHEDULABLE
    assert "didn't find available persistent volumes to bind" in results["b"].message


def test_a_bound_claim_keeps_its_next_pod_near() -> None:
    """The second pod of the claim goes where the first one's volume was made, though another node has more room."""
    text = zoned("n1", "a") + zoned("n2", "b") + storage_class(DRIVER) + claim("c1")
    text += using("a", "c1", f"nodeSelector: {{{ZONE}: a}}") + using("b", "c1")
    results = by_name(simulated(text))
    assert (results["a"].node_name, results["b"].node_name) == ("n1", "n1")


def test_volumes_that_are_made_count_against_the_nodes_limit() -> None:
    """A node that can attach one volume gets one pod of two."""
    text = zoned("n1", "a") + storage_class(DRIVER) + claim("c1") + claim("c2") + using("a", "c1") + using("b", "c2")
    results = by_name(simulated(text))
    assert sorted(each.outcome.value for each in results.values()) == ["Placed", "Unschedulable"]
    assert any("exceed max volume count" in each.message for each in results.values())


@pytest.mark.parametrize("made", [storage_class(DRIVER, "Immediate"), ""])
def test_claims_that_no_pod_decides_about_stay_unbound(made: str) -> None:
    """Nobody binds them here, and the message says so."""
    (only,) = simulated(node("n1") + made + claim("c1") + using("a", "c1")).pods
    assert only.outcome is Outcome.UNSCHEDULABLE
    assert "unbound immediate PersistentVolumeClaims" in only.message

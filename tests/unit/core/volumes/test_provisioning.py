"""Provisioning: where a volume could be made, by provisioner, topology and room."""

import numpy as np
import pytest

from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.volumes.provisioning import Provision, Provisioning, ProvisioningError
from scheduler.testing import make_node
from tests.unit.core.volumes.objects import WAITING_CLASS, capacity, claim, decoded, storage_class

ZONE = "zone"
IN_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]


def provision(*objects: ApiObject, size: str = "2Gi") -> Provision:
    """For nodes in the zones a, b and c and one in none."""
    state = ClusterState()
    for obj in objects:
        state.objects.set(obj)
    for zone in ("a", "b", "c"):
        state.cache.add_node(make_node(zone).label({ZONE: zone}).obj())
    state.cache.add_node(make_node("none").obj())
    snapshot = Snapshot(state)
    snapshot.refresh()
    return Provisioning(state.objects).provision(claim("c", size=size), snapshot.nodes)


@pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
def test_a_class_may_make_none(provisioner: str) -> None:
    """Volumes of such a class are all made by hand."""
    assert not provision(storage_class(provisioner=provisioner)).allowed.any()


def test_topologies_admit_nodes() -> None:
    """The node's label must have one of the values; an empty term admits nobody."""
    assert provision(storage_class(provisioner="x")).allowed.all()
    assert provision(storage_class(provisioner="x", allowedTopologies=IN_A)).allowed.tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert not provision(storage_class(provisioner="x", allowedTopologies=[{}])).allowed.any()


def test_room_counts_where_the_driver_tells_of_it() -> None:
    """A capacity that is large enough must reach the node; the first by name counts, maximumVolumeSize before size."""
    driver = decoded("CSIDriver", "x", spec={"storageCapacity": True})
    in_a, in_b = {"matchLabels": {ZONE: "a"}}, {"matchLabels": {ZONE: "b"}}
    capacities = (
        capacity("1-small", "1Gi", WAITING_CLASS, {}),
        capacity("2-a", "8Gi", WAITING_CLASS, in_a),
        capacity("3-a", "5Gi", WAITING_CLASS, in_a),
        capacity("4-b", "9Gi", WAITING_CLASS, in_b, maximumVolumeSize="1Gi"),
        capacity("5-nowhere", "9Gi", WAITING_CLASS, None),
        capacity("6-other", "9Gi", "other", {}),
    )
    found = provision(storage_class(provisioner="x"), driver, *capacities)
    assert found.sufficient.tolist() == [True, False, False, False]
    assert found.room_bytes is not None
    assert found.room_bytes[0] == 8 * 2**30
    assert np.isnan(found.room_bytes[1:]).all()
    silent = decoded("CSIDriver", "x", spec={"storageCapacity": False})
    assert provision(storage_class(provisioner="x"), silent, *capacities).sufficient.all()
    assert provision(storage_class(provisioner="x"), *capacities).room_bytes is None


def test_a_class_that_is_gone_is_an_error() -> None:
    """Nothing can be said without it."""
    with pytest.raises(ProvisioningError, match='failed to find storage class "waits"'):
        provision()


def test_room_is_followed_as_it_changes() -> None:
    """A capacity that shrinks, goes, or comes back with room counts as it is now."""
    state = ClusterState()
    state.objects.set(storage_class(provisioner="x"))
    state.objects.set(decoded("CSIDriver", "x", spec={"storageCapacity": True}))
    state.cache.add_node(make_node("n").obj())
    snapshot, provisioning = Snapshot(state), Provisioning(state.objects)
    snapshot.refresh()

    def sufficient() -> bool:
        return bool(provisioning.provision(claim("c", size="2Gi"), snapshot.nodes).sufficient[0])

    assert not sufficient()
    for number in range(100):
        state.objects.set(capacity(f"small-{number}", "1Gi", WAITING_CLASS, {}))
    assert not sufficient()
    state.objects.set(capacity("small-7", "2Gi", WAITING_CLASS, {}))
    assert sufficient()
    state.objects.remove(capacity("small-7", "2Gi", WAITING_CLASS, {}))
    assert not sufficient()
    state.objects.set(capacity("again", "2Gi", WAITING_CLASS, {}))
    assert sufficient()
    state.objects.set(capacity("again", "2Gi", "other", {}))
    assert not sufficient()

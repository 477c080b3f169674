"""VolumeZone: labels of volumes against labels of nodes, beside what the goldens show."""

import pytest

from scheduler.api.types import PersistentVolume, StorageClass
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.framework.events import Action, EventResource
from scheduler.core.framework.status import Status
from scheduler.core.plugins.volume_zone import VolumeZone
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import UU
from tests.unit.core.plugins.volume_asking import answers, cluster_of, wakes
from tests.unit.core.volumes.objects import claim, storage_class, volume

BETA, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
ELSEWHERE = (UU, "node(s) had no available volume zone")
POD = make_pod("p").pvc("c")
NODES = (
    make_node("a").label({ZONE: "a"}),
    make_node("b").label({ZONE: "b"}),
    make_node("old-a").label({BETA: "a"}),
    make_node("none"),
)


@pytest.mark.parametrize(
    ("labels", "rejected"),
    [
        ({ZONE: "a"}, {"b", "old-a"}),
        ({ZONE: "a__b"}, {"old-a"}),
        ({BETA: "a"}, {"b"}),
        ({REGION: "r"}, {"a", "b", "old-a"}),
    ],
)
def test_a_node_must_be_in_the_volumes_zone(labels: dict[str, str], rejected: set[str]) -> None:
    """One of several; the old label of a volume is found under the new one, not the other way; no zone passes."""
    cluster = cluster_of(*NODES, volume("v", labels=labels), claim("c", volume_name="v", bound=True))
    assert answers(VolumeZone(), POD, cluster) == dict.fromkeys(rejected, ELSEWHERE)


@pytest.mark.parametrize("labels", [{}, {"other": "x"}, {ZONE: "a__"}])
def test_a_volume_without_a_readable_zone_is_anywhere(labels: dict[str, str]) -> None:
    """There is nothing to filter."""
    cluster = cluster_of(*NODES, volume("v", labels=labels), claim("c", volume_name="v", bound=True))
    assert answers(VolumeZone(), POD, cluster) is None


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ((), 'persistentvolumeclaim "c" not found'),
        ((claim("c", volume_name="v"),), 'persistentvolume "v" not found'),
        ((claim("c", class_name=""),), "PersistentVolumeClaim had no pv name and storageClass name"),
        ((claim("c"),), 'storageclass.storage.k8s.io "waits" not found'),
        ((claim("c"), storage_class(mode="Immediate")), "PersistentVolume had no name"),
        ((claim("c"), storage_class(mode=None)), 'VolumeBindingMode not set for StorageClass "waits"'),
    ],
)
def test_a_volume_that_cannot_be_told_rejects_the_pod(objects: tuple[ApiObject, ...], text: str) -> None:
    """In kube-scheduler's words."""
    assert answers(VolumeZone(), POD, cluster_of(*NODES, *objects)) == Status.of(UU, text)


def test_a_claim_that_waits_for_the_pod_has_no_zone() -> None:
    """It gets a volume where the pod is."""
    assert answers(VolumeZone(), POD, cluster_of(*NODES, claim("c"), storage_class())) is None


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (None, volume("v"), True),
        (volume("v", labels={ZONE: "a"}), volume("v", labels={ZONE: "b"}), True),
        (volume("v", labels={ZONE: "a"}), volume("v", labels={ZONE: "a", "x": "y"}), False),
    ],
)
def test_a_volume_that_moves_wakes(old: PersistentVolume | None, new: PersistentVolume, helps: bool) -> None:
    """So does a new one."""
    action = Action.ADD if old is None else Action.UPDATE_OTHER
    assert wakes(VolumeZone(), POD, EventResource.PERSISTENT_VOLUME, action, old, new) is helps


@pytest.mark.parametrize(("added", "helps"), [(storage_class(), True), (storage_class(mode="Immediate"), False)])
def test_a_class_that_waits_wakes(added: StorageClass, helps: bool) -> None:
    """Claims of any other should be bound already."""
    assert wakes(VolumeZone(), POD, EventResource.STORAGE_CLASS, Action.ADD, None, added) is helps


@pytest.mark.parametrize(("name", "helps"), [("c", True), ("other", False)])
def test_its_own_claim_wakes(name: str, helps: bool) -> None:
    """It may be bound now."""
    kind = EventResource.PERSISTENT_VOLUME_CLAIM
    assert wakes(VolumeZone(), POD, kind, Action.UPDATE_OTHER, claim(name), claim(name)) is helps

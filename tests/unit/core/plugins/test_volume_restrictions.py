"""VolumeRestrictions: disks and ReadWriteOncePod claims, beside what the goldens show of their verdicts."""

import pytest

from scheduler.api.types import GCEPersistentDiskVolumeSource, PersistentVolumeClaim, Volume
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.events import Action, EventResource
from scheduler.core.framework.status import Status
from scheduler.core.plugins.volume_restrictions import VolumeRestrictions
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, U, parsed
from tests.unit.core.plugins.volume_asking import answers, cluster_of, wakes
from tests.unit.core.volumes.objects import claim

PLUGIN = VolumeRestrictions()
EXCLUSIVE = claim("c", modes=("ReadWriteOncePod",))
NO_DISK = (U, "node(s) had no available disk")
IN_USE = (
    U,
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)


def with_disk(name: str, *, read_only: bool = False, namespace: str = "default") -> PodBuilder:
    disk = Volume("disk", gce_persistent_disk=GCEPersistentDiskVolumeSource("d", read_only))
    return make_pod(name).namespace(namespace).volume(disk)


@pytest.mark.parametrize(("mine", "theirs", "shared"), [(True, True, True), (True, False, False), (False, True, False)])
def test_readers_share_a_disk(mine: bool, theirs: bool, shared: bool) -> None:
    """Only when both of them only read."""
    cluster = cluster_of(make_node("n1"), make_node("n2"), with_disk("there", read_only=theirs).node("n1"))
    assert answers(PLUGIN, with_disk("p", read_only=mine), cluster) == ({} if shared else {"n1": NO_DISK})


def test_an_exclusive_claim_rejects_every_node() -> None:
    """Wherever the pod is that uses it; nobody uses it: nothing to filter."""
    nodes = (make_node("n1"), make_node("n2"))
    used = cluster_of(*nodes, EXCLUSIVE, make_pod("there").pvc("c").node("n1"))
    assert answers(PLUGIN, make_pod("p").pvc("c"), used) == {"n1": IN_USE, "n2": IN_USE}
    assert answers(PLUGIN, make_pod("p").pvc("c"), cluster_of(*nodes, EXCLUSIVE)) is None


def test_a_claim_must_exist() -> None:
    """Its access modes decide."""
    missing = Status.of(UU, 'persistentvolumeclaim "c" not found')
    assert answers(PLUGIN, make_pod("p").pvc("c"), cluster_of(make_node("n1"))) == missing


def test_pods_tried_away_free_the_claim() -> None:
    """A preemption's dry run sees the claim free without the pod that uses it, and in use with another one."""
    there, info = parsed(make_pod("there").pvc("c").node("n1")), parsed(make_pod("p").pvc("c"))
    cluster = cluster_of(make_node("n1"), EXCLUSIVE, make_pod("there").pvc("c").node("n1"))
    snapshot, cycle = cluster.snapshot, CycleState()
    snapshot.refresh()
    assert PLUGIN.pre_filter(cycle, info, snapshot) is None
    assert PLUGIN.filter_row(cycle, info, snapshot, 0) != 0
    with snapshot.overlay() as overlay:
        overlay.remove_pod(0, there)
        assert PLUGIN.filter_row(cycle, info, snapshot, 0) == 0
        overlay.add_pod(0, parsed(make_pod("another").pvc("c")))
        assert PLUGIN.filter_row(cycle, info, snapshot, 0) != 0
    assert PLUGIN.filter_row(cycle, info, snapshot, 0) != 0


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        (make_pod("gone").pvc("c"), True),
        (make_pod("gone").pvc("other"), False),
        (make_pod("gone").namespace("elsewhere").pvc("c"), False),
        (with_disk("gone", namespace="elsewhere"), True),
        (make_pod("gone"), False),
    ],
)
def test_a_pod_that_leaves_what_is_wanted_wakes(gone: PodBuilder, helps: bool) -> None:
    """Claims are of a namespace, disks are not: kube-scheduler misses a disk that a pod of another one leaves."""
    waiting = with_disk("p").pvc("c")
    assert wakes(PLUGIN, waiting, EventResource.ASSIGNED_POD, Action.DELETE, parsed(gone), None) is helps


@pytest.mark.parametrize(("appeared", "helps"), [(claim("c"), True), (claim("other"), False)])
def test_a_claim_of_its_own_wakes(appeared: PersistentVolumeClaim, helps: bool) -> None:
    """It was missing."""
    kind = EventResource.PERSISTENT_VOLUME_CLAIM
    assert wakes(PLUGIN, make_pod("p").pvc("c"), kind, Action.ADD, None, appeared) is helps

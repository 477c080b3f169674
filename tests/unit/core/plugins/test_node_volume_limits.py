"""NodeVolumeLimits: what counts as a volume of a driver, beside what the goldens show of its verdicts."""

import pytest

from scheduler.api.types import AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CSIDriver, CSINode, Volume
from scheduler.core.framework.events import Action, EventResource
from scheduler.core.framework.status import PluginError
from scheduler.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, U, parsed
from tests.unit.core.plugins.volume_asking import answers, cluster_of, wakes
from tests.unit.core.volumes.objects import attachment, claim, csi_node, decoded, volume

EBS = "ebs.csi.aws.com"
TOO_MANY = (U, "node(s) exceed max volume count")


def with_ebs(name: str, volume_id: str) -> PodBuilder:
    return make_pod(name).volume(Volume("disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id)))


def csi_driver(*, asks: bool | None) -> CSIDriver:
    made: CSIDriver = decoded("CSIDriver", EBS, spec={"preventPodSchedulingIfMissing": asks})
    return made


def test_in_tree_volumes_count_for_the_driver_that_took_over() -> None:
    """Spelled in any way; only where there is a CSINode, and each once."""
    nodes = (make_node("n1"), make_node("n2"), csi_node("n1", ebs_csi_aws_com=1))
    there = with_ebs("there", "aws://zone/vol-1").node("n1")
    cluster = cluster_of(*nodes, there)
    assert answers(NodeVolumeLimits(), with_ebs("p", "vol-2"), cluster) == {"n1": TOO_MANY}
    assert answers(NodeVolumeLimits(), with_ebs("p", "vol-1"), cluster) == {}


def test_an_attachment_counts_until_it_is_gone() -> None:
    """Also one that no pod of the node mounts any more."""
    objects = (volume("v1"), volume("v2"), claim("c", volume_name="v2", bound=True), csi_node("n1", csi_example=1))
    attached = attachment("a", "n1", "v1")
    cluster = cluster_of(make_node("n1"), *objects, attached)
    assert answers(NodeVolumeLimits(), make_pod("p").pvc("c"), cluster) == {"n1": TOO_MANY}
    cluster.state.objects.remove(attached)
    assert answers(NodeVolumeLimits(), make_pod("p").pvc("c"), cluster) == {}


def test_a_driver_may_ask_to_be_installed() -> None:
    """Then nodes where it does not run are left out, by its name; for in-tree volumes those with a CSINode."""
    nodes = (make_node("n1"), make_node("n2"), make_node("n3"), csi_node("n1", ebs_csi_aws_com=None), csi_node("n2"))
    missing = (U, f"{EBS} CSI driver is not installed on the node")
    pod = with_ebs("p", "vol-1")
    assert answers(NodeVolumeLimits(), pod, cluster_of(*nodes, csi_driver(asks=True))) == {"n2": missing}
    assert answers(NodeVolumeLimits(), pod, cluster_of(*nodes, csi_driver(asks=None))) == {}


def test_a_claim_must_exist() -> None:
    """Asked without the plugins that would have found out before."""
    text = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert answers(NodeVolumeLimits(), make_pod("p").pvc("c"), cluster_of(make_node("n1"))) == {"n1": (UU, text)}


def test_a_disk_that_the_driver_cannot_mount_is_an_error() -> None:
    """As for kube-scheduler, on nodes that leave such disks to the driver."""
    disk = AzureDiskVolumeSource("d", "uri", "Shared")
    pod = make_pod("p").volume(Volume("disk", azure_disk=disk))
    assert answers(NodeVolumeLimits(), pod, cluster_of(make_node("n1"))) == {}
    with pytest.raises(PluginError, match=r"converting volume\(disk\) from inline to csi: kind\(Shared\)"):
        answers(NodeVolumeLimits(), pod, cluster_of(make_node("n1"), csi_node("n1")))


def test_a_disk_that_the_driver_cannot_mount_harms_no_other_pod() -> None:
    """kube-scheduler fails every pod with volumes because of it; it can't be attached, so it does not count."""
    disk = AzureDiskVolumeSource("d", "uri", "Shared")
    there = make_pod("there").volume(Volume("disk", azure_disk=disk)).node("n1")
    cluster = cluster_of(make_node("n1"), csi_node("n1", ebs_csi_aws_com=1), there)
    assert answers(NodeVolumeLimits(), with_ebs("p", "vol-1"), cluster) == {}


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (csi_node("n", a=1), csi_node("n", a=2), True),
        (csi_node("n", a=2), csi_node("n", a=1), False),
        (csi_node("n", a=1), csi_node("n", a=None), True),
        (csi_node("n", a=None), csi_node("n", a=1), False),
        (csi_node("n", a=1), csi_node("n", a=1, b=None), True),
    ],
)
def test_a_node_that_takes_more_wakes(old: CSINode, new: CSINode, helps: bool) -> None:
    """A driver that comes, or a limit that goes, helps too: kube-scheduler misses both."""
    pod = make_pod("p").pvc("c")
    assert wakes(NodeVolumeLimits(), pod, EventResource.CSI_NODE, Action.UPDATE_OTHER, old, new) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        (csi_driver(asks=True), csi_driver(asks=False), True),
        (csi_driver(asks=True), None, True),
        (csi_driver(asks=None), csi_driver(asks=True), False),
        (csi_driver(asks=None), None, False),
    ],
)
def test_a_driver_that_asks_no_more_wakes(old: CSIDriver, new: CSIDriver | None, helps: bool) -> None:
    """kube-scheduler does not look at drivers here."""
    action = Action.DELETE if new is None else Action.UPDATE_OTHER
    assert wakes(NodeVolumeLimits(), make_pod("p").pvc("c"), EventResource.CSI_DRIVER, action, old, new) is helps


@pytest.mark.parametrize(("gone", "helps"), [(make_pod("x").pvc("c"), True), (make_pod("x"), False)])
def test_a_pod_that_leaves_volumes_wakes(gone: PodBuilder, helps: bool) -> None:
    """One without any held nothing."""
    pod = make_pod("p").pvc("c")
    assert wakes(NodeVolumeLimits(), pod, EventResource.ASSIGNED_POD, Action.DELETE, parsed(gone), None) is helps

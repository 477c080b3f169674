"""VolumeBinding: reserving, giving back and writing, and what wakes; the goldens show its verdicts and scores."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from scheduler.api.meta import ObjectMeta
from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim, is_for
from scheduler.config.plugin_args import VolumeBindingArgs
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.events import Action, EventResource
from scheduler.core.framework.interface import Binder, Handle, VolumeWriteError, VolumeWriter
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.volume_binding import VolumeBinding
from scheduler.testing import make_node, make_pod
from tests.unit.core.framework.profiles import no_api_server
from tests.unit.core.plugins.asking import UU, parsed
from tests.unit.core.plugins.volume_asking import answers, cluster_of, wakes
from tests.unit.core.volumes.objects import HOSTNAME, capacity, claim, csi_node, decoded, storage_class, volume

POD = make_pod("p").pvc("c")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NODES = (make_node("n1").label({HOSTNAME: "n1"}), make_node("n2").label({HOSTNAME: "n2"}))


def plugin(state: ClusterState) -> VolumeBinding:
    return VolumeBinding(VolumeBindingArgs(), no_api_server(state))


class Server(Binder, VolumeWriter):
    """Writes as the API server does, unless `refused`; the waits end as `bound` says."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.refused = ""
        self.bound = True

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        raise AssertionError("this plugin binds no pods")

    async def bind_volume(self, volume: PersistentVolume) -> PersistentVolume:
        return replace(volume, metadata=self._written(volume))

    async def select_node(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        return replace(claim, metadata=self._written(claim))

    async def until(
        self, settled: Callable[[], bool], claims: Sequence[tuple[str, str]], timeout_seconds: float
    ) -> bool:
        assert (claims, timeout_seconds) == ([("default", "c")], 600)
        return self.bound

    def _written(self, obj: PersistentVolume | PersistentVolumeClaim) -> ObjectMeta:
        if self.refused:
            raise VolumeWriteError(self.refused)
        self.written.append(obj.metadata.name)
        return replace(obj.metadata, resource_version=f"{obj.metadata.resource_version}0")


class Placement:
    """The pod `p` with the claim `c`, placed on `n1`."""

    def __init__(self, *objects: ApiObject) -> None:
        self.small = cluster_of(*NODES, claim("c"), *objects)
        self.cluster = self.small.state
        self.server = Server()
        self.plugin = VolumeBinding(VolumeBindingArgs(), Handle(self.cluster, self.server, self.server))
        self.state, self.pod = CycleState(), parsed(POD)
        self.small.snapshot.refresh()
        assert self.plugin.pre_filter(self.state, self.pod, self.small.snapshot) is None
        assert self.plugin.reserve(self.state, self.pod, "n1") is None

    def pre_bind(self) -> Status | None:
        return asyncio.run(self.plugin.pre_bind(self.state, self.pod, "n1"))

    def unreserve(self) -> None:
        self.plugin.unreserve(self.state, self.pod, "n1")

    @property
    def bound_volume(self) -> bool:
        return is_for(self.cluster.objects.assumed_volumes["v"], claim("c"))

    @property
    def selected_node(self) -> str | None:
        found = self.cluster.objects.assumed_claims.get("c", "default")
        assert found is not None
        return (found.metadata.annotations or {}).get(SELECTED_NODE)


def test_a_volume_is_assumed_written_and_waited_for() -> None:
    """The next pod sees it taken as soon as the pod has its node; nothing is written before PreBind."""
    placement = Placement(volume("v"), storage_class())
    assert placement.bound_volume
    assert placement.server.written == []
    assert placement.pre_bind() is None
    assert placement.server.written == ["v"]
    placement.cluster.objects.set(claim("other"))
    nothing = (UU, "node(s) didn't find available persistent volumes to bind")
    assert answers(placement.plugin, make_pod("q").pvc("other"), placement.small) == {"n1": nothing, "n2": nothing}


def test_a_node_is_assumed_and_written_for_a_volume_to_be_made() -> None:
    """Other pods of the claim go there, too."""
    placement = Placement(storage_class(provisioner="x"))
    assert placement.selected_node == "n1"
    assert placement.pre_bind() is None
    assert placement.server.written == ["c"]
    elsewhere = (UU, "node(s) didn't find available persistent volumes to bind")
    assert answers(placement.plugin, make_pod("q").pvc("c"), placement.small) == {"n2": elsewhere}


@pytest.mark.parametrize(("refused", "bound"), [("no", True), ("", False)])
def test_what_fails_is_given_back(refused: str, bound: bool) -> None:
    """A refused write takes the assumption with it; one that was carried out stands until the watch tells otherwise."""
    placement = Placement(volume("v"), storage_class())
    placement.server.refused, placement.server.bound = refused, bound
    text = refused or "binding volumes: context deadline exceeded"
    assert placement.pre_bind() == Status.of(Code.ERROR, text)
    placement.unreserve()
    assert placement.bound_volume is not bool(refused)


def test_unreserve_gives_everything_back() -> None:
    """A pod that does not get to its node leaves volume and claim as they were."""
    static, dynamic = Placement(volume("v"), storage_class()), Placement(storage_class(provisioner="x"))
    static.unreserve()
    dynamic.unreserve()
    assert not static.bound_volume
    assert dynamic.selected_node is None


def test_a_pod_whose_claims_are_bound_writes_nothing() -> None:
    """There is nothing to reserve either."""
    bound = claim("c", volume_name="v", bound=True)
    placement = Placement(volume("v", claim="c"), bound, storage_class())
    assert placement.pre_bind() is None
    assert placement.server.written == []


def test_a_claim_mounted_twice_gets_one_volume() -> None:
    """kube-scheduler looks for a volume for each mention of it, and may bind two to it."""
    cluster = cluster_of(*NODES, claim("c"), volume("v"), storage_class())
    assert answers(plugin(cluster.state), make_pod("p").pvc("c").pvc("c"), cluster) == {}


def test_profiles_share_what_is_assumed() -> None:
    """kube-scheduler's profiles each assume for themselves, choose the same volume, and one of them fails."""
    placement = Placement(volume("v"), storage_class())
    placement.cluster.objects.set(claim("other"))
    other_profile = plugin(placement.cluster)
    nothing = (UU, "node(s) didn't find available persistent volumes to bind")
    assert answers(other_profile, make_pod("q").pvc("other"), placement.small) == {"n1": nothing, "n2": nothing}


def test_a_change_in_between_fails_the_reservation() -> None:
    """What was decided on is not there any more."""
    placement = Placement(volume("v"), storage_class())
    placement.unreserve()
    placement.cluster.objects.remove(volume("v"))
    status = placement.plugin.reserve(placement.state, placement.pod, "n1")
    assert status == Status.of(Code.ERROR, '"v" not found')


def test_an_in_tree_volume_goes_by_the_labels_of_its_driver() -> None:
    """On nodes that leave the volume to the driver; elsewhere by its own."""
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}
    spec = {"awsElasticBlockStore": {"volumeID": "vol-1"}, "nodeAffinity": affinity}
    stored = decoded("PersistentVolume", "v", spec=spec)
    nodes = (
        make_node("plain").label({"topology.kubernetes.io/zone": "z"}),
        make_node("migrated").label({"topology.kubernetes.io/zone": "z"}),
        make_node("labelled").label({"topology.ebs.csi.aws.com/zone": "z"}),
    )
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    drivers = [decoded("CSINode", name, annotations=migrated) for name in ("migrated", "labelled")]
    cluster = cluster_of(*nodes, stored, claim("c", volume_name="v", bound=True), *drivers)
    unreached = (UU, "node(s) didn't match PersistentVolume's node affinity")
    assert answers(plugin(cluster.state), POD, cluster) == {"migrated": unreached}


DRIVER = decoded("CSIDriver", "x", spec={"storageCapacity": True})
SILENT = decoded("CSIDriver", "x", spec={})
ROOM = capacity("r", "2Gi", "waits", {})
MORE = capacity("r", "3Gi", "waits", {})
TOPOLOGIES = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
MIGRATED = decoded("CSINode", "n", annotations={"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"})


@pytest.mark.parametrize(
    ("resource", "old", "new", "helps"),
    [
        (EventResource.PERSISTENT_VOLUME_CLAIM, None, claim("c"), True),
        (EventResource.PERSISTENT_VOLUME_CLAIM, claim("other"), claim("other"), False),
        (EventResource.PERSISTENT_VOLUME, None, volume("v"), True),
        (EventResource.PERSISTENT_VOLUME, volume("v"), volume("v", claim="c"), True),
        (EventResource.PERSISTENT_VOLUME, volume("v"), volume("v", claim="other"), False),
        (EventResource.PERSISTENT_VOLUME, volume("v", claim="c"), None, True),
        (EventResource.PERSISTENT_VOLUME, volume("v"), None, False),
        (EventResource.STORAGE_CLASS, None, storage_class(), True),
        (EventResource.STORAGE_CLASS, storage_class(), storage_class(), False),
        (EventResource.STORAGE_CLASS, storage_class(), storage_class(allowedTopologies=TOPOLOGIES), True),
        (EventResource.CSI_NODE, None, csi_node("n"), True),
        (EventResource.CSI_NODE, csi_node("n"), csi_node("n", a=1), False),
        (EventResource.CSI_NODE, csi_node("n"), MIGRATED, True),
        (EventResource.CSI_DRIVER, DRIVER, SILENT, True),
        (EventResource.CSI_DRIVER, SILENT, DRIVER, False),
        (EventResource.CSI_DRIVER, DRIVER, None, True),
        (EventResource.CSI_STORAGE_CAPACITY, None, ROOM, True),
        (EventResource.CSI_STORAGE_CAPACITY, ROOM, MORE, True),
        (EventResource.CSI_STORAGE_CAPACITY, MORE, ROOM, False),
    ],
)
def test_what_may_give_it_a_volume_wakes_a_pod(
    resource: EventResource, old: ApiObject | None, new: ApiObject | None, helps: bool
) -> None:
    """And nothing else does."""
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE_OTHER
    assert wakes(plugin(ClusterState()), POD, resource, action, old, new) is helps


def test_a_placement_that_fails_wakes() -> None:
    """The volumes assumed for it are free again; a pod that ran leaves none."""
    failed, ran = parsed(make_pod("x").pvc("d")), parsed(make_pod("x").pvc("d").node("n1"))
    own = plugin(ClusterState())
    assert wakes(own, POD, EventResource.ASSIGNED_POD, Action.DELETE, failed, None)
    assert not wakes(own, POD, EventResource.ASSIGNED_POD, Action.DELETE, ran, None)

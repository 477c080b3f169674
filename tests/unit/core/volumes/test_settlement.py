"""settled: when the binding of a pod's volumes has come to an end, and to which."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.volumes.reservation import Binding, Provisioned, Reservation, bound_to
from scheduler.core.volumes.settlement import BindingFailed, settled
from scheduler.testing import make_node, make_pod
from tests.unit.core.volumes.objects import HOSTNAME, claim, volume

SELECTED = {"volume.kubernetes.io/selected-node": "n"}
POD = parse_pod(make_pod("p").pvc("c").obj())


class Bound:
    """A pod on node `n` whose claim `c` gets the volume `v`, written as version 2 of the volume."""

    def __init__(self, *, provisioned: bool = False) -> None:
        self.cluster = ClusterState()
        self.cluster.cache.add_node(make_node("n").label({HOSTNAME: "n"}).obj())
        self.cluster.cache.assume_pod(POD, "n")
        self.cluster.objects.set(claim("c", version=1))
        self.cluster.objects.set(volume("v", nodes=("n",), version=1))
        if provisioned:
            self.reservation = Reservation([], [Provisioned(claim("c", annotations=SELECTED, version=2))])
        else:
            written = bound_to(volume("v", nodes=("n",), version=2), claim("c"))
            self.reservation = Reservation([Binding(written, claim("c"), pending=False)])

    def settled(self) -> bool:
        return settled(self.cluster, POD, "n", self.reservation)

    def show(self, *objects: PersistentVolume | PersistentVolumeClaim) -> None:
        for obj in objects:
            self.cluster.objects.set(obj)


def named(version: int = 2, nodes: tuple[str, ...] = ("n",)) -> PersistentVolume:
    """The volume once it names the claim."""
    return bound_to(volume("v", nodes=nodes, version=version), claim("c"))


def test_a_binding_is_settled_when_the_claim_is_bound() -> None:
    """Not while the watch shows the volume as it was before it was written, nor while the claim is not bound."""
    binding = Bound()
    assert not binding.settled()
    binding.show(named())
    assert not binding.settled()
    binding.show(claim("c", volume_name="v", bound=True, version=3))
    assert binding.settled()


def test_a_volume_that_is_made_is_settled_when_the_claim_is_bound() -> None:
    """Its volume may be seen later than the claim that names it."""
    binding = Bound(provisioned=True)
    assert not binding.settled()
    binding.show(claim("c", annotations=SELECTED, version=2))
    assert not binding.settled()
    binding.show(claim("c", annotations=SELECTED, volume_name="made", bound=True, version=3))
    assert not binding.settled()
    binding.show(volume("made", nodes=("n",)))
    assert binding.settled()


def taken_back(binding: Bound) -> None:
    binding.show(volume("v", nodes=("n",), version=3))


def moved(binding: Bound) -> None:
    binding.show(named(version=3, nodes=("elsewhere",)))


def gone(binding: Bound) -> None:
    binding.cluster.objects.remove(volume("v"))


def claim_gone(binding: Bound) -> None:
    binding.cluster.objects.remove(claim("c"))


def pod_gone(binding: Bound) -> None:
    binding.cluster.cache.remove_pod(POD.uid)


def node_gone(binding: Bound) -> None:
    binding.cluster.cache.remove_node("n")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (taken_back, 'ClaimRef got reset for pv "v"'),
        (moved, 'pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms'),
        (gone, 'failed to check binding: persistentvolumes "v" not found'),
        (claim_gone, 'failed to check binding: persistentvolumeclaims "default/c" not found'),
        (pod_gone, 'pod does not exist any more: pod "p" not found'),
        (node_gone, 'failed to get node "n": node "n" not found'),
    ],
)
def test_a_binding_that_will_not_come_fails(change: Callable[[Bound], None], text: str) -> None:
    """In kube-scheduler's words."""
    binding = Bound()
    binding.show(named())
    change(binding)
    with pytest.raises(BindingFailed) as failure:
        binding.settled()
    assert str(failure.value) == text


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({"other": "x"}, 'provisioning failed for PVC "c"'),
        (None, 'selectedNode annotation reset for PVC "c"'),
    ],
)
def test_a_provisioner_that_gives_up_fails_the_binding(annotations: dict[str, str] | None, text: str) -> None:
    """It takes the selected node away."""
    binding = Bound(provisioned=True)
    given_up = claim("c", version=3)
    binding.show(replace(given_up, metadata=replace(given_up.metadata, annotations=annotations)))
    with pytest.raises(BindingFailed) as failure:
        binding.settled()
    assert str(failure.value) == text

"""Clusters in which a plugin for volumes turns a pod away, and what must and must not wake the pod there."""

from __future__ import annotations

from typing import Final

from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.volumes.objects import (
    HOSTNAME,
    attachment,
    capacity,
    claim,
    csi_node,
    decoded,
    storage_class,
    volume,
)
from tests.unit.wakeups.background import background
from tests.unit.wakeups.scene import Event, Scene, add, delete, together, update

_ZONE: Final = "topology.kubernetes.io/zone"
_NODE = make_node("n1")
_POD = make_pod("waits").pvc("data")
_CLASS = storage_class()
_AT_ONCE = storage_class("at-once", mode="Immediate")
_MADE = storage_class("made", provisioner="csi.example")
_BOUND = claim("data", volume_name="v", bound=True)
_OTHER = claim("other", volume_name="w", bound=True)


def _idle(pod: PodBuilder = _POD, node: NodeBuilder = _NODE, **more: Event) -> dict[str, Event]:
    """Of what goes on, nodes that come or change labels are not looked into by these plugins."""
    events = background(node, pod)
    del events["a node is labelled"], events["a useless node comes"]
    return {**events, **{name.replace("_", " "): event for name, event in more.items()}}


# --- VolumeRestrictions

_ONE_POD = claim("data", volume_name="v", bound=True, modes=("ReadWriteOncePod",))
_USER = make_pod("there").pvc("data").node("n1")

RESTRICTIONS: Final = {
    "a claim that is not there": Scene(
        "VolumeRestrictions",
        _POD,
        (_NODE, _CLASS, volume("v")),
        helps={
            "it comes": add(claim("data")),
            "it comes bound": add(_BOUND),
        },
        idle=_idle(another_comes=add(_OTHER), a_volume_comes=add(volume("w"))),
    ),
    "a claim for one pod": Scene(
        "VolumeRestrictions",
        _POD,
        (_NODE, _CLASS, volume("v", claim="data"), _ONE_POD, _USER, make_pod("beside").node("n1")),
        helps={
            "that pod goes": delete(_USER),
            "that pod finishes": update(_USER, _USER.phase("Succeeded")),
        },
        idle=_idle(another_goes=delete(make_pod("beside").node("n1"))),
    ),
}

# --- VolumeBinding

_UNBOUND = claim("data", class_name="at-once")
_ON_N2 = volume("v", nodes=("n2",), claim="data")
_DRIVER = decoded("CSIDriver", "csi.example", spec={"storageCapacity": True})
_TO_BE_MADE = claim("data", class_name="made", size="5Gi")

BINDING: Final = {
    "a claim that is not bound yet": Scene(
        "VolumeBinding",
        _POD,
        (_NODE, _AT_ONCE, volume("v", class_name="at-once", claim="data"), _UNBOUND),
        helps={
            "it is bound": update(_UNBOUND, claim("data", class_name="at-once", volume_name="v", bound=True)),
        },
        idle=_idle(another_is_bound=add(_OTHER), another_volume_comes=add(volume("w", claim="other"))),
    ),
    "no volume for a claim": Scene(
        "VolumeBinding",
        _POD,
        (_NODE, _CLASS, claim("data", size="2Gi"), volume("small")),
        helps={
            "one comes": add(volume("v", size="2Gi")),
            "one grows": update(volume("small"), volume("small", size="2Gi")),
            "one is meant for it": add(volume("v", size="2Gi", claim="data")),
            "the claim is bound": together(
                add(volume("v", size="2Gi", claim="data")),
                update(claim("data", size="2Gi"), claim("data", size="2Gi", volume_name="v", bound=True)),
            ),
        },
        idle=_idle(one_for_another_comes=add(volume("w", size="2Gi", claim="other"))),
    ),
    "a volume on another node": Scene(
        "VolumeBinding",
        _POD,
        (_NODE.label({HOSTNAME: "n1"}), _CLASS, _ON_N2, _BOUND),
        helps={
            "that node comes": add(make_node("n2").label({HOSTNAME: "n2"})),
            "the node is that one": update(_NODE.label({HOSTNAME: "n1"}), _NODE.label({HOSTNAME: "n2"})),
            "the volume can be reached from here": update(_ON_N2, volume("v", nodes=("n1", "n2"), claim="data")),
        },
        idle=_idle(another_volume_comes=add(volume("w", claim="other"))),
    ),
    "no room to make a volume": Scene(
        "VolumeBinding",
        _POD,
        (_NODE, _MADE, _DRIVER, _TO_BE_MADE, capacity("c", "1Gi", "made", {})),
        helps={
            "there is more": update(capacity("c", "1Gi", "made", {}), capacity("c", "9Gi", "made", {})),
            "there is some elsewhere": add(capacity("d", "9Gi", "made", {})),
            "the driver does not tell": update(_DRIVER, decoded("CSIDriver", "csi.example", spec={})),
        },
        idle=_idle(there_is_less=update(capacity("c", "1Gi", "made", {}), capacity("c", "1", "made", {}))),
    ),
}

# --- VolumeZone and NodeVolumeLimits

_IN_A = volume("v", claim="data", labels={_ZONE: "a"})
_IN_ZONE_B = _NODE.label({_ZONE: "b"})
_ONE_VOLUME = csi_node("n1", csi_example=1)
_THERE = make_pod("there").pvc("mine").node("n1")
_MINE = claim("mine", volume_name="w", bound=True)
_ATTACHED = attachment("a", "n1", "w")

PLACES: Final = {
    "a volume of another zone": Scene(
        "VolumeZone",
        _POD,
        (_IN_ZONE_B, _CLASS, _IN_A, _BOUND),
        helps={
            "a node comes there": add(make_node("n2").label({_ZONE: "a"})),
            "the node is put there": update(_IN_ZONE_B, _NODE.label({_ZONE: "a"})),
        },
        idle=_idle(node=_IN_ZONE_B, a_claim_of_another_is_bound=add(_OTHER)),
    ),
    "as many volumes as may be": Scene(
        "NodeVolumeLimits",
        _POD,
        (_NODE, _CLASS, _ONE_VOLUME, volume("v", claim="data"), volume("w", claim="mine"), _BOUND, _MINE, _THERE),
        helps={
            "a pod with one goes": delete(_THERE),
            "there may be more": update(_ONE_VOLUME, csi_node("n1", csi_example=2)),
            "there may be any number": update(_ONE_VOLUME, csi_node("n1", csi_example=None)),
            "nothing is known of a limit any more": delete(_ONE_VOLUME),
            "a node comes": add(make_node("n2")),
        },
        idle=_idle(there_may_be_fewer=update(_ONE_VOLUME, csi_node("n1", csi_example=0))),
    ),
    "a volume that is still attached": Scene(
        "NodeVolumeLimits",
        _POD,
        (_NODE, _CLASS, _ONE_VOLUME, volume("v", claim="data"), volume("w"), _BOUND, _ATTACHED),
        helps={"it is detached": delete(_ATTACHED)},
        idle=_idle(),
    ),
}

VOLUMES: Final = {**RESTRICTIONS, **BINDING, **PLACES}

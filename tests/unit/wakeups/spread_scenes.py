"""Clusters in which PodTopologySpread turns a pod away, and what must and must not wake the pod there."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from scheduler.api.types import (
    LabelSelector,
    TopologySpreadConstraint,
)
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.wakeups.background import background
from tests.unit.wakeups.scene import Event, Scene, add, delete, opened, update

_ZONE: Final = "zone"
_WEB: Final = LabelSelector({"app": "web"})

_A = make_node("n1").label(zone="a")
_B = make_node("n2").label(zone="b")
_C = make_node("n3").label(zone="c")
_NOWHERE = make_node("n1")
_CLOSED_B = _B.unschedulable()
_FULL_B = _B.capacity(cpu="0")
_WEB_A = make_pod("web-a").label(app="web").node("n1")
_WEB_B = make_pod("web-b").label(app="web").node("n2")
_DB_A = make_pod("db-a").label(app="db").node("n1")
_DB_B = make_pod("db-b").label(app="db").node("n2")


def _idle(node: NodeBuilder, pod: PodBuilder, **more: Event) -> dict[str, Event]:
    """Of what goes on, new labels of the pod itself may help: then it may count otherwise."""
    events = background(node, pod)
    del events["it is labelled"]
    return {**events, **{name.replace("_", " "): event for name, event in more.items()}}


def _open(node: NodeBuilder) -> NodeBuilder:
    return NodeBuilder(opened(node.obj()))


_BY_ZONE: Final = TopologySpreadConstraint(1, _ZONE, "DoNotSchedule", _WEB)
_SPREAD = make_pod("waits").label(app="web").spread(_BY_ZONE)
_SPREAD_OVER_3 = make_pod("waits").label(app="web").spread(replace(_BY_ZONE, min_domains=3))
_SPREAD_OVER_TOLERATED = (
    make_pod("waits").label(app="web").req(cpu="1").spread(replace(_BY_ZONE, node_taints_policy="Honor"))
)

SPREAD: Final = {
    "too few zones": Scene(
        "PodTopologySpread",
        _SPREAD_OVER_3,
        (_A, _B, _WEB_A, _WEB_B, _DB_A),
        helps={
            "a third one comes": add(_C),
            "a pod that counts goes": delete(_WEB_A),
            "a pod that counts finishes": update(_WEB_A, _WEB_A.phase("Succeeded")),
            "a pod that counts is on its way out": update(_WEB_A, _WEB_A.terminating()),
            "it is so, and resized and labelled by the way": update(_WEB_A, _WEB_A.label(x="y").terminating()),
            "a pod counts no more": update(_WEB_A, _WEB_A.label(app="db")),
            "it counts itself no more": update(_SPREAD_OVER_3, _SPREAD_OVER_3.label(app="db")),
        },
        idle=_idle(
            _A,
            _SPREAD_OVER_3,
            a_pod_that_does_not_count_goes=delete(_DB_A),
            a_pod_of_another_namespace_goes=delete(make_pod("web").namespace("other").label(app="web").node("n1")),
            the_node_grows=update(_A, _A.allocatable(cpu="64")),
            its_node_is_tainted=update(_A, _A.taint("x")),
        ),
    ),
    "a zone that is closed": Scene(
        "NodeUnschedulable+PodTopologySpread",
        _SPREAD,
        (_A, _CLOSED_B, _WEB_A),
        helps={
            "it opens": update(_CLOSED_B, _open(_CLOSED_B)),
            "it goes": delete(_CLOSED_B),
            "it gets its pod": add(_WEB_B),
            "it becomes the other's": update(_CLOSED_B, _CLOSED_B.label(zone="a")),
            "the pod in the other goes": delete(_WEB_A),
            "one there is relabelled": update(_WEB_A, _WEB_A.label(app="db")),
        },
        idle=_idle(_A, _SPREAD, it_gets_another_pod=add(_DB_B)),
    ),
    "no zone at all": Scene(
        "PodTopologySpread",
        _SPREAD,
        (_NOWHERE,),
        helps={"the node is put into one": update(_NOWHERE, _A), "a node comes": add(_B)},
        idle=_idle(_NOWHERE, _SPREAD, the_node_is_tainted=update(_NOWHERE, _NOWHERE.taint("x"))),
    ),
    "a zone that a taint would take out": Scene(
        "NodeResourcesFit+PodTopologySpread",
        _SPREAD_OVER_TOLERATED,
        (_A, _FULL_B, _WEB_A),
        helps={
            "it is tainted": update(_FULL_B, _FULL_B.taint("x")),
            "it gets its pod": add(_WEB_B),
            "it grows": update(_FULL_B, _B),
        },
        idle=_idle(_A, _SPREAD_OVER_TOLERATED),
    ),
}

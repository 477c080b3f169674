"""For each plugin clusters in which it alone turns a pod away, and what must and must not wake the pod there.

A new plugin gets its scenes here; `tests/unit/test_wakeups.py` walks them all.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from scheduler.api.types import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.wakeups.affinity_scenes import AFFINITY
from tests.unit.wakeups.background import idle
from tests.unit.wakeups.scene import Event, Scene, add, delete, opened, together, update
from tests.unit.wakeups.spread_scenes import SPREAD
from tests.unit.wakeups.volume_scenes import VOLUMES

GPU: Final = "example.com/gpu"

_NODE = make_node("n1").capacity(cpu="1", pods=10)
_OTHER_NODE = make_node("n2").capacity(cpu="1", pods=10)
_FULL = (_NODE, make_pod("there").req(cpu="1").node("n1"))
_THERE = _FULL[1]
_POD = make_pod("waits").req(cpu="1")


# --- NodeResourcesFit

_MEMORY_TOO = _POD.req(memory="1Gi")
_HALVES = (make_pod("left").req(cpu="500m").node("n1"), make_pod("right").req(cpu="500m").node("n1"))
_LOW = make_pod("low").req(cpu="1").priority(-10).node("n1")
_BOSS = make_pod("boss").req(cpu="1").priority(5)
_HELD = _BOSS.scheduling_gate("later").nominated_node("n1")
_HIGH = make_pod("high").req(cpu="500m").priority(50).node("n1")
_LOW_HALF = make_pod("low-half").req(cpu="500m").priority(-10).node("n1")
_KEPT_OUT = _BOSS.preemption_policy("Never")

FIT: Final = {
    "no room": Scene(
        "NodeResourcesFit",
        _POD,
        _FULL,
        helps={
            "the pod there goes": delete(_THERE),
            "the pod there finishes": update(_THERE, _THERE.phase("Succeeded")),
            "the pod there shrinks": together(
                update(_THERE, make_pod("there").req(cpu="0").node("n1")),
            ),
            "the node grows": update(_NODE, _NODE.allocatable(cpu="2")),
            "the node grows and is tainted by the way": update(_NODE, _NODE.allocatable(cpu="2").taint("a", None, "X")),
            "a node comes": add(_OTHER_NODE),
            "the node comes again, larger": together(delete(_NODE), add(_NODE.capacity(cpu="3"))),
            "it asks for less": update(_POD, make_pod("waits").req(cpu="0")),
            "a pod goes from a node that is yet to come": together(
                add(make_pod("early").req(cpu="1").node("n2")),
                add(_OTHER_NODE),
                delete(make_pod("early").req(cpu="1").node("n2")),
            ),
        },
        idle=idle(
            _NODE,
            _POD,
            the_pod_there_is_being_deleted=update(_THERE, _THERE.terminating()),
            the_pod_there_is_labelled=update(_THERE, _THERE.label(a="b")),
            the_node_gets_memory=update(_NODE, _NODE.allocatable(memory="64Gi")),
            the_node_may_hold_more_pods=update(_NODE, _NODE.allocatable(pods=100)),
            the_node_shrinks=update(_NODE, _NODE.allocatable(cpu="500m")),
            a_full_node_comes=together(
                add(make_pod("early").req(cpu="1").node("n2")),
                add(_OTHER_NODE),
            ),
            a_pod_goes_from_a_node_that_is_not_there=together(add(_THERE.uid("x").node("n9")), delete(_THERE.uid("x"))),
            it_asks_for_more=update(_POD, make_pod("waits").req(cpu="2")),
        ),
    ),
    "room for a part": Scene(
        "NodeResourcesFit",
        _POD,
        (_NODE, *_HALVES),
        helps={"both go": together(*map(delete, _HALVES)), "the node grows": update(_NODE, _NODE.allocatable(cpu="2"))},
        idle=idle(_NODE, _POD, one_goes=delete(_HALVES[0]), the_other_goes=delete(_HALVES[1])),
    ),
    "too many pods": Scene(
        "NodeResourcesFit",
        make_pod("waits"),
        (make_node("n1").capacity(pods=1), make_pod("there").node("n1")),
        helps={
            "the pod there goes": delete(make_pod("there").node("n1")),
            "the node may hold more": update(make_node("n1").capacity(pods=1), make_node("n1").capacity(pods=2)),
        },
        idle=idle(
            make_node("n1").capacity(pods=1),
            make_pod("waits"),
            more_cpu=update(make_node("n1").capacity(pods=1), make_node("n1").capacity(pods=1, cpu="64")),
        ),
    ),
    "a resource that no node has": Scene(
        "NodeResourcesFit",
        make_pod("waits").req({GPU: 2}),
        (make_node("n1").capacity({GPU: 1}),),
        helps={"one more": update(make_node("n1").capacity({GPU: 1}), make_node("n1").capacity({GPU: 2}))},
        idle=idle(
            make_node("n1").capacity({GPU: 1}),
            make_pod("waits").req({GPU: 2}),
            one_less=update(make_node("n1").capacity({GPU: 1}), make_node("n1").capacity({GPU: 0})),
            more_of_another=update(make_node("n1").capacity({GPU: 1}), make_node("n1").capacity({GPU: 1}, cpu="64")),
        ),
    ),
    "two resources": Scene(
        "NodeResourcesFit",
        _MEMORY_TOO,
        (_NODE.allocatable(memory="0"), _THERE),
        helps={"both": update(_NODE.allocatable(memory="0"), _NODE.allocatable(memory="1Gi", cpu="2"))},
        idle=idle(
            _NODE.allocatable(memory="0"),
            _MEMORY_TOO,
            one=update(_NODE.allocatable(memory="0"), _NODE.allocatable(memory="1Gi")),
            the_other=delete(_THERE),
        ),
    ),
    "room held for a nominated pod": Scene(
        "NodeResourcesFit",
        _POD,
        (_NODE, _HELD),
        helps={
            "it is deleted": delete(_HELD),
            "its nomination is taken back": update(_HELD, _BOSS.scheduling_gate("later")),
            "it is nominated elsewhere": update(_HELD, _HELD.nominated_node("n2")),
            "it is bound elsewhere": update(_HELD, _BOSS.node("n2")),
            "it is being deleted": update(_HELD, _HELD.terminating()),
        },
        idle=idle(
            _NODE,
            _POD,
            it_is_bound_there=update(_HELD, _BOSS.node("n1")),
            another_pod_comes_and_goes=together(
                add(make_pod("new").req(cpu="1").node("n1")), delete(make_pod("new").req(cpu="1").node("n1"))
            ),
        ),
    ),
    "room held for a pod of higher priority, whose victims leave": Scene(
        "NodeResourcesFit",
        _POD,
        (_NODE, _HELD, _LOW),
        idle=idle(_NODE, _POD, the_victim_leaves=delete(_LOW)),
        helps={"the victim leaves, and the other is gone": together(delete(_HELD), delete(_LOW))},
    ),
    "room held for a pod of lower priority": Scene(
        "NodeResourcesFit",
        make_pod("waits").req(cpu="1").priority(20).preemption_policy("Never"),
        (_NODE, _HELD, make_pod("there").req(cpu="1").node("n1")),
        helps={"the victim leaves": delete(make_pod("there").req(cpu="1").node("n1"))},
    ),
    "it may not preempt": Scene(
        "NodeResourcesFit",
        _KEPT_OUT,
        (_NODE, _HIGH, _LOW_HALF),
        helps={"both go": together(delete(_HIGH), delete(_LOW_HALF))},
        idle=idle(_NODE, _KEPT_OUT, a_way_for_others_opens=delete(_HIGH)),
    ),
    "a pod of higher priority is in the way of a preemption": Scene(
        "NodeResourcesFit",
        _BOSS,
        (_NODE, _HIGH, _LOW_HALF),
        helps={
            "it goes": delete(_HIGH),
            "it shrinks": update(_HIGH, make_pod("high").req(cpu="0").priority(50).node("n1")),
            "the node grows": update(_NODE, _NODE.allocatable(cpu="1500m")),
        },
        idle=idle(
            _NODE,
            _BOSS,
            the_low_one_goes=delete(_LOW_HALF),
            the_node_grows_too_little=update(_NODE, _NODE.allocatable(cpu="1200m")),
        ),
        preempts=True,
    ),
}

# --- plugins that look at the node alone

_SSD: Final = Affinity(
    NodeAffinity(NodeSelector((NodeSelectorTerm((NodeSelectorRequirement("disk", "In", ("ssd", "nvme")),)),)))
)
_NAMED: Final = Affinity(
    NodeAffinity(NodeSelector((NodeSelectorTerm(None, (NodeSelectorRequirement("metadata.name", "In", ("n7",)),)),)))
)
_PLAIN = make_node("n1")
_TAINTED = _PLAIN.taint("gpu", "yes")
_CORDONED = make_node("n1").unschedulable()
_CORDONED_ALONE = NodeBuilder(replace(_CORDONED.obj(), spec=replace(_CORDONED.obj().spec, taints=None)))
_FEATURE = "UserNamespacesHostNetworkSupport"
_IN_USER_NAMESPACE = PodBuilder(
    replace(make_pod("waits").obj(), spec=replace(make_pod("waits").obj().spec, host_network=True, host_users=False))
)

NODES: Final = {
    "node selector": Scene(
        "NodeAffinity",
        make_pod("waits").node_selector(disk="ssd"),
        (_PLAIN.label(disk="hdd"),),
        helps={
            "the node is labelled": update(_PLAIN.label(disk="hdd"), _PLAIN.label(disk="ssd")),
            "labelled and tainted lightly": update(
                _PLAIN.label(disk="hdd"), _PLAIN.label(disk="ssd").taint("a", None, "PreferNoSchedule")
            ),
            "a node comes": add(make_node("n2").label(disk="ssd")),
        },
        idle=idle(
            _PLAIN.label(disk="hdd"),
            make_pod("waits").node_selector(disk="ssd"),
            labelled_otherwise=update(_PLAIN.label(disk="hdd"), _PLAIN.label(disk="nvme")),
            another_kind_of_node_comes=add(make_node("n2").label(disk="nvme")),
            the_node_grows=update(_PLAIN.label(disk="hdd"), _PLAIN.label(disk="hdd").allocatable(cpu="64")),
        ),
    ),
    "required node affinity": Scene(
        "NodeAffinity",
        make_pod("waits").affinity(_SSD),
        (_PLAIN,),
        helps={
            "the node is labelled": update(_PLAIN, _PLAIN.label(disk="nvme")),
            "a node comes": add(make_node("n2").label(disk="ssd")),
        },
        idle=idle(
            _PLAIN, make_pod("waits").affinity(_SSD), labelled_otherwise=update(_PLAIN, _PLAIN.label(disk="hdd"))
        ),
    ),
    "a node by its name": Scene(
        "NodeAffinity",
        make_pod("waits").affinity(_NAMED),
        (_PLAIN,),
        helps={"it comes": add(make_node("n7"))},
        idle=idle(_PLAIN, make_pod("waits").affinity(_NAMED), another_comes=add(make_node("n8"))),
    ),
    "a taint": Scene(
        "TaintToleration",
        make_pod("waits").toleration("other", "Exists"),
        (_TAINTED,),
        helps={
            "it is taken off": update(_TAINTED, _PLAIN),
            "its effect gets weaker": update(_TAINTED, _PLAIN.taint("gpu", "yes", "PreferNoSchedule")),
            "one that is tolerated takes its place": update(_TAINTED, _PLAIN.taint("other")),
            "a node comes": add(make_node("n2")),
            "it is tolerated": update(
                make_pod("waits").toleration("other", "Exists"),
                make_pod("waits").toleration("other", "Exists").toleration("gpu", "Exists"),
            ),
        },
        idle=idle(
            _TAINTED,
            make_pod("waits").toleration("other", "Exists"),
            another_taint_comes=update(_TAINTED, _TAINTED.taint("more")),
            another_takes_its_place=update(_TAINTED, _PLAIN.taint("more")),
            a_tainted_node_comes=add(make_node("n2").taint("gpu", "yes")),
            cordoned=update(_TAINTED, _TAINTED.unschedulable()),
            the_node_grows=update(_TAINTED, _TAINTED.allocatable(cpu="64")),
        ),
    ),
    "a cordon": Scene(
        "NodeUnschedulable",
        make_pod("waits"),
        (_CORDONED,),
        helps={
            "it is taken off": update(_CORDONED, _PLAIN),
            "a node comes": add(make_node("n2")),
            "it is tolerated": update(
                make_pod("waits"), make_pod("waits").toleration("node.kubernetes.io/unschedulable", "Exists")
            ),
        },
        idle=idle(
            _CORDONED,
            make_pod("waits"),
            a_cordoned_node_comes=add(make_node("n2").unschedulable()),
            something_else_is_tolerated=update(make_pod("waits"), make_pod("waits").toleration("gpu", "Exists")),
            only_its_taint_is_taken_off=update(_CORDONED, _CORDONED_ALONE),
        ),
    ),
    "a feature that no node declares": Scene(
        "NodeDeclaredFeatures",
        _IN_USER_NAMESPACE,
        (_PLAIN.declared_features("Other"),),
        helps={
            "a node declares it": update(_PLAIN.declared_features("Other"), _PLAIN.declared_features(_FEATURE)),
            "a node comes": add(make_node("n2").declared_features(_FEATURE)),
        },
        idle=idle(
            _PLAIN.declared_features("Other"),
            _IN_USER_NAMESPACE,
            another_is_declared=update(_PLAIN.declared_features("Other"), _PLAIN.declared_features("More")),
            a_node_without_it_comes=add(make_node("n2")),
        ),
    ),
}

# --- NodePorts

_TAKEN = make_pod("there").host_port(80).node("n1")
_WANTS_80 = make_pod("waits").host_port(80)
_WANTS_80_OF_ONE_IP = make_pod("waits").host_port(80, ip="10.0.0.1")
_OF_OTHER_IP = make_pod("other").host_port(80, ip="10.0.0.2").node("n1")


def _idle_but_for_nodes(node: NodeBuilder, pod: PodBuilder, **more: Event) -> dict[str, Event]:
    """Any node that comes has its ports free: whether it is of use otherwise, others must say."""
    events = idle(node, pod, **more)
    del events["a useless node comes"]
    return events


PORTS: Final = {
    "a port": Scene(
        "NodePorts",
        _WANTS_80,
        (_PLAIN, _TAKEN, make_pod("beside").host_port(81).node("n1")),
        helps={
            "the pod that has it goes": delete(_TAKEN),
            "the pod that has it finishes": update(_TAKEN, _TAKEN.phase("Failed")),
            "a node comes": add(make_node("n2")),
        },
        idle=_idle_but_for_nodes(
            _PLAIN,
            _WANTS_80,
            a_pod_with_another_goes=delete(make_pod("beside").host_port(81).node("n1")),
            the_node_grows=update(_PLAIN, _PLAIN.allocatable(cpu="64")),
        ),
    ),
    "a port of an address": Scene(
        "NodePorts",
        _WANTS_80_OF_ONE_IP,
        (_PLAIN, _OF_OTHER_IP, make_pod("there").host_port(80, ip="10.0.0.1").node("n1")),
        helps={"the pod that has it goes": delete(make_pod("there").host_port(80, ip="10.0.0.1").node("n1"))},
        idle=_idle_but_for_nodes(_PLAIN, _WANTS_80_OF_ONE_IP, the_port_of_another_address=delete(_OF_OTHER_IP)),
    ),
    "a port held for a nominated pod": Scene(
        "NodePorts",
        _WANTS_80,
        (_PLAIN, make_pod("boss").host_port(80).priority(5).scheduling_gate("x").nominated_node("n1")),
        helps={"it goes": delete(make_pod("boss").host_port(80).priority(5).scheduling_gate("x").nominated_node("n1"))},
    ),
}

# --- several at once

_SMALL_TAINTED = _TAINTED.allocatable(cpu="1")
_MIXED = (_SMALL_TAINTED, _OTHER_NODE, make_pod("there").req(cpu="1").node("n2"))

SEVERAL: Final = {
    "each node for another reason": Scene(
        "NodeResourcesFit+TaintToleration",
        _POD,
        _MIXED,
        helps={
            "the taint goes": update(_SMALL_TAINTED, NodeBuilder(opened(_SMALL_TAINTED.obj()))),
            "the pod goes": delete(make_pod("there").req(cpu="1").node("n2")),
        },
        idle=idle(_SMALL_TAINTED, _POD),
    ),
    "a tainted node that is too small as well": Scene(
        "TaintToleration",
        _POD,
        (_TAINTED.allocatable(cpu="500m"),),
        helps={"both end at once": update(_TAINTED.allocatable(cpu="500m"), _PLAIN.allocatable(cpu="2"))},
        idle=idle(
            _TAINTED.allocatable(cpu="500m"),
            _POD,
            it_grows=update(_TAINTED.allocatable(cpu="500m"), _TAINTED.allocatable(cpu="2")),
        ),
    ),
    "a node that is wrongly labelled, cordoned and too small": Scene(
        "NodeUnschedulable",
        _POD.node_selector(disk="ssd"),
        (_CORDONED.allocatable(cpu="500m"),),
        helps={
            "all end at once": update(_CORDONED.allocatable(cpu="500m"), _PLAIN.label(disk="ssd").allocatable(cpu="2"))
        },
        idle=idle(
            _CORDONED.allocatable(cpu="500m"),
            _POD.node_selector(disk="ssd"),
            labelled_and_grown=update(
                _CORDONED.allocatable(cpu="500m"), _CORDONED.label(disk="ssd").allocatable(cpu="2")
            ),
        ),
    ),
}

SCENES: Final[dict[str, Scene]] = {
    f"{scene.plugin}, {name}": scene
    for scenes in (FIT, NODES, PORTS, SEVERAL, SPREAD, AFFINITY, VOLUMES)
    for name, scene in scenes.items()
}

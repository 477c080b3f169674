"""Scenes of InterPodAffinity: who is near whom may change by pods, nodes and namespaces."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from scheduler.api.types import (
    Affinity,
    LabelSelector,
    Namespace,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
)
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.wakeups.background import idle
from tests.unit.wakeups.scene import Event, Scene, add, delete, together, update

_HOST: Final = "kubernetes.io/hostname"
_BLUE: Final = LabelSelector({"team": "blue"})


def _term(key: str, of: LabelSelector | None = None, **labels: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, LabelSelector(labels), None, of)


def _near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(None, PodAffinity(terms))


def _apart(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(None, None, PodAntiAffinity(terms))


def _namespace(name: str, **labels: str) -> Namespace:
    return Namespace(ObjectMeta(name, labels=labels))


def _idle(pod: PodBuilder, node: NodeBuilder | None = None, **more: Event) -> dict[str, Event]:
    """Whether new labels of the pod, or a node without any, help, is not looked into."""
    events = idle(node or _A, pod, **more)
    del events["it is labelled"], events["a useless node comes"]
    return events


def _without_labels(node: NodeBuilder) -> NodeBuilder:
    return NodeBuilder(replace(node.obj(), metadata=replace(node.obj().metadata, labels={})))


_A = make_node("n1").label(zone="a").label(**{_HOST: "n1"})
_B = make_node("n2").label(zone="b").label(**{_HOST: "n2"})
_CLOSED_B = _B.unschedulable()
_BARE = make_node("n1")
_PLAIN = make_pod("there").node("n1")
_WEB = _PLAIN.label(app="web")
_OTHER_WEB = make_pod("other").namespace("other").label(app="web").node("n1")
_FRONT = make_pod("front").label(tier="front").node("n1")
_WANTS_WEB = make_pod("waits").affinity(_near(_term("zone", app="web")))
_ONE_OF_WEB = _WANTS_WEB.label(app="web")
_WEB_ON_B = make_pod("kin").label(app="web").node("n2")
_AVOIDS_WEB = make_pod("waits").affinity(_apart(_term(_HOST, app="web")))
_AVOIDS_TWO = make_pod("waits").affinity(_apart(_term("zone", app="web"), _term(_HOST, tier="front")))
_WAITING_WEB = make_pod("waits").label(app="web")
_REPELLING = _PLAIN.affinity(_apart(_term("zone", app="web")))
_REPELLING_BLUE = _PLAIN.namespace("other").affinity(_apart(_term("zone", _BLUE, app="web")))
_WANTS_BLUE = make_pod("waits").affinity(_near(_term("zone", _BLUE, app="web")))
_AVOIDS_BLUE = make_pod("waits").affinity(_apart(_term("zone", _BLUE, app="web")))
_HELD = make_pod("boss").label(app="web").priority(5).scheduling_gate("later").nominated_node("n1")

AFFINITY: Final = {
    "nobody there that it wants near": Scene(
        "InterPodAffinity",
        _WANTS_WEB,
        (_A, _PLAIN),
        helps={
            "one comes": add(make_pod("new").label(app="web").node("n1")),
            "one is relabelled": update(_PLAIN, _WEB),
            "one comes with a node": together(add(_B), add(_WEB_ON_B)),
            "a node comes to one": together(add(_WEB_ON_B), add(_B)),
        },
        idle=_idle(
            _WANTS_WEB,
            one_comes_in_another_namespace=add(_OTHER_WEB),
            another_comes=add(make_pod("new").label(app="db").node("n1")),
            another_goes=delete(_PLAIN),
            a_bare_node_comes=add(make_node("n3")),
            the_node_is_closed=update(_A, _A.unschedulable()),
        ),
    ),
    "the node of whom it wants near is nowhere": Scene(
        "InterPodAffinity",
        _WANTS_WEB,
        (_BARE, _WEB),
        helps={"it gets a zone": update(_BARE, _A), "it comes again with a zone": together(delete(_BARE), add(_A))},
        idle=_idle(_WANTS_WEB, _BARE, it_gets_another_label=update(_BARE, _BARE.label(rack="r"))),
    ),
    "it would be the first of its kind, but for one on a closed node": Scene(
        "InterPodAffinity+NodeUnschedulable",
        _ONE_OF_WEB,
        (_A, _CLOSED_B, _WEB_ON_B, _PLAIN),
        helps={
            "it goes": delete(_WEB_ON_B),
            "it is relabelled": update(_WEB_ON_B, make_pod("kin").label(app="db").node("n2")),
            "its node goes": delete(_CLOSED_B),
            "its node is nowhere any more": update(_CLOSED_B, _without_labels(_CLOSED_B)),
            "its node comes to the zone": update(_CLOSED_B, _CLOSED_B.label(zone="a")),
        },
        idle=_idle(
            _ONE_OF_WEB,
            another_goes=delete(_PLAIN),
            it_is_being_deleted=update(_WEB_ON_B, _WEB_ON_B.terminating()),
        ),
    ),
    "one there that it wants apart": Scene(
        "InterPodAffinity",
        _AVOIDS_WEB,
        (_A, _WEB, _FRONT, _OTHER_WEB),
        helps={
            "it goes": delete(_WEB),
            "it is relabelled": update(_WEB, _PLAIN),
            "a node comes": add(make_node("n3")),
            "the node has no name any more": update(_A, _without_labels(_A)),
        },
        idle=_idle(
            _AVOIDS_WEB,
            another_goes=delete(_FRONT),
            one_of_another_namespace_goes=delete(_OTHER_WEB),
            another_comes=add(make_pod("new").label(app="web").node("n1")),
            the_node_gets_a_label=update(_A, _A.label(rack="r")),
        ),
    ),
    "one of two terms is in the way": Scene(
        "InterPodAffinity",
        _AVOIDS_TWO,
        (_A, _FRONT, _PLAIN),
        helps={
            "it goes": delete(_FRONT),
            "the node comes again without it": together(delete(_FRONT), delete(_A), add(_A)),
        },
        idle=_idle(_AVOIDS_TWO, another_goes=delete(_PLAIN)),
    ),
    "one there that wants it apart": Scene(
        "InterPodAffinity",
        _WAITING_WEB,
        (_A, _REPELLING, _FRONT),
        helps={
            "it goes": delete(_REPELLING),
            "the pod is relabelled": update(_WAITING_WEB, make_pod("waits").label(app="db")),
            "a node comes": add(_B),
            "the node is nowhere any more": update(_A, _without_labels(_A)),
        },
        idle=_idle(_WAITING_WEB, another_goes=delete(_FRONT), another_comes=add(_OTHER_WEB)),
    ),
    "one elsewhere in the zone that wants it apart": Scene(
        "InterPodAffinity+NodeUnschedulable",
        _WAITING_WEB,
        (_A, _B.label(zone="a").unschedulable(), _REPELLING.node("n2")),
        helps={
            "it goes": delete(_REPELLING.node("n2")),
            "its node goes": delete(_B.label(zone="a").unschedulable()),
            "its node goes elsewhere": update(_B.label(zone="a").unschedulable(), _CLOSED_B),
            "the node goes elsewhere": update(_A, _A.label(zone="c")),
        },
        idle=_idle(_WAITING_WEB),
    ),
    "one there that wants its namespace apart": Scene(
        "InterPodAffinity",
        _WAITING_WEB,
        (_A, _namespace("default", team="blue"), _REPELLING_BLUE),
        helps={
            "the namespace is relabelled": update(_namespace("default", team="blue"), _namespace("default")),
            "the pod goes": delete(_REPELLING_BLUE),
        },
        idle=_idle(_WAITING_WEB, another_namespace_comes=add(_namespace("third", team="blue"))),
    ),
    "it wants some near by their namespace": Scene(
        "InterPodAffinity",
        _WANTS_BLUE,
        (_A, _namespace("other"), _OTHER_WEB),
        helps={"the namespace is relabelled": update(_namespace("other"), _namespace("other", team="blue"))},
        idle=_idle(
            _WANTS_BLUE,
            relabelled_otherwise=update(_namespace("other"), _namespace("other", team="red")),
            one_of_that_namespace_comes=add(make_pod("new").namespace("other").label(app="web").node("n1")),
        ),
    ),
    "it wants some apart by their namespace": Scene(
        "InterPodAffinity",
        _AVOIDS_BLUE,
        (_A, _namespace("other", team="blue"), _OTHER_WEB),
        helps={
            "the namespace is relabelled": update(_namespace("other", team="blue"), _namespace("other")),
            "the namespace goes": delete(_namespace("other", team="blue")),
        },
        idle=_idle(_AVOIDS_BLUE, another_becomes_blue=add(_namespace("third", team="blue"))),
    ),
    "room is held for one that it wants apart": Scene(
        "InterPodAffinity",
        _AVOIDS_WEB,
        (_A, _HELD),
        helps={
            "it goes": delete(_HELD),
            "it is bound elsewhere": update(_HELD, make_pod("boss").label(app="web").node("n9")),
        },
        idle=_idle(_AVOIDS_WEB),
    ),
}

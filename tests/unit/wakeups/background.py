"""What goes on in a cluster and helps no pod that waits."""

from __future__ import annotations

from typing import Final

from scheduler.api.types import Namespace, ObjectMeta, Service
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.wakeups.scene import Event, add, delete, heartbeat, together, update

_USELESS: Final = make_node("useless").capacity(cpu="0", memory="0", pods=0).unschedulable().taint("x")


def background(node: NodeBuilder, pod: PodBuilder) -> dict[str, Event]:
    """What goes on in every cluster all the time and helps nobody."""
    return {
        "a heartbeat": heartbeat(node),
        "a node gets unready": update(node, node.condition("Ready", "False")),
        "an image is pulled": update(node, node.image("app:1", size_bytes=1_000_000)),
        "a node is labelled": update(node, node.label(colour="red")),
        "a useless node comes": add(_USELESS),
        "a node goes": delete(make_node("elsewhere")),
        "a pod is placed": add(make_pod("new").node("elsewhere")),
        "a pod runs": together(
            add(make_pod("new").node("elsewhere")),
            update(make_pod("new").node("elsewhere"), make_pod("new").node("elsewhere").phase("Running")),
        ),
        "a pod elsewhere goes": together(
            add(make_pod("new").node("elsewhere")), delete(make_pod("new").node("elsewhere"))
        ),
        "another pod waits": add(make_pod("other").req(cpu="900")),
        "another waiting pod goes": together(
            add(make_pod("other").req(cpu="900")), delete(make_pod("other").req(cpu="900"))
        ),
        "its condition is written": update(pod, pod.condition("PodScheduled", "False", "Unschedulable")),
        "it is labelled": update(pod, pod.label(tier="web")),
        "a namespace comes": add(Namespace(ObjectMeta("ns"))),
        "a service comes": add(Service(ObjectMeta("svc", "default"))),
    }


def idle(node: NodeBuilder, pod: PodBuilder, **more: Event) -> dict[str, Event]:
    """That, and more that does not help either; blanks in names are written as underscores."""
    return {**background(node, pod), **{name.replace("_", " "): event for name, event in more.items()}}

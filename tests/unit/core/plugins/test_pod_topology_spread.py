"""PodTopologySpread: skew by domain, policies, defaults from services and owners, and what wakes a pod it rejected."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given

from scheduler.api.types import LabelSelector, Node, ObjectMeta, Pod, Service, ServiceSpec, TopologySpreadConstraint
from scheduler.config.plugin_args import DefaultingType, PodTopologySpreadArgs
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.events import Action, ClusterEvent, EventResource
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.plugins.pod_topology_spread import HARD, SOFT, PodTopologySpread
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.framework.profiles import no_api_server
from tests.unit.core.plugins.asking import UU, U, parsed, rejections

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WEB = LabelSelector(match_labels={"app": "web"})
UNEVEN = (U, ["node(s) didn't match pod topology spread constraints"])
MISSING = (UU, ["node(s) didn't match pod topology spread constraints (missing required label)"])


def spread(action: str = HARD, key: str = ZONE, max_skew: int = 1, **fields: object) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew, key, action, WEB, **fields)  # type: ignore[arg-type]


def node(name: str, zone: str | None) -> NodeBuilder:
    built = make_node(name).label({HOST: name})
    return built if zone is None else built.label({ZONE: zone})


def web(name: str, *constraints: TopologySpreadConstraint) -> PodBuilder:
    return make_pod(name).label(app="web").spread(*constraints)


def cluster(*objects: NodeBuilder | PodBuilder, services: tuple[Service, ...] = ()) -> tuple[ClusterState, Snapshot]:
    state = ClusterState()
    for service in services:
        state.objects.set(service)
    for built in (each.obj() for each in objects):
        if isinstance(built, Node):
            state.cache.add_node(built)
        else:
            state.cache.add_pod(parsed(built), built.spec.node_name or "")
    snapshot = Snapshot(state)
    snapshot.refresh()
    return state, snapshot


def plugin(state: ClusterState, args: PodTopologySpreadArgs | None = None) -> PodTopologySpread:
    return PodTopologySpread(args or PodTopologySpreadArgs(), no_api_server(state))


def test_a_domain_may_exceed_the_emptiest_by_max_skew() -> None:
    """Zone a has one pod and b none: with maxSkew 1 only b takes the next; a node without the label takes none."""
    state, snapshot = cluster(node("a", "a"), node("b", "b"), node("c", None), web("1").node("a"))
    found = rejections(plugin(state), web("2", spread()), snapshot)
    assert found == {"a": UNEVEN, "c": MISSING}


def test_fewer_domains_than_asked_count_as_an_empty_one() -> None:
    """minDomains 3 with two zones: the minimum is 0, so a zone that has a pod takes no more."""
    state, snapshot = cluster(node("a", "a"), node("b", "b"), web("1").node("a"), web("2").node("b"))
    assert rejections(plugin(state), web("3", spread(min_domains=2)), snapshot) == {}
    assert rejections(plugin(state), web("3", spread(min_domains=3)), snapshot) == {"a": UNEVEN, "b": UNEVEN}


def test_pods_being_deleted_and_of_other_namespaces_do_not_count() -> None:
    """Only live pods of the pod's own namespace are spread."""
    others = (web("1").node("a").terminating(), web("2").node("a").namespace("other"))
    state, snapshot = cluster(node("a", "a"), node("b", "b"), *others)
    assert rejections(plugin(state), web("3", spread()), snapshot) == {}


@pytest.mark.parametrize(("policy", "expected"), [(None, {"a": UNEVEN, "c": UNEVEN}), ("Honor", {})])
def test_tainted_domains_count_unless_taints_are_honored(policy: str | None, expected: dict[str, object]) -> None:
    """The empty tainted zone keeps the minimum at 0, unless the constraint looks at tolerated nodes alone."""
    tainted = node("b", "b").taint("k")
    state, snapshot = cluster(node("a", "a"), tainted, node("c", "c"), web("1").node("a"), web("2").node("c"))
    assert rejections(plugin(state), web("3", spread(node_taints_policy=policy)), snapshot) == expected


def test_services_give_constraints_to_pods_without_their_own() -> None:
    """System defaults score by host and zone for pods behind a service, and not at all for others."""
    service = Service(ObjectMeta("s", "default"), ServiceSpec({"app": "web"}))
    state, snapshot = cluster(node("a", "a"), node("b", "b"), web("1").node("a"), services=(service,))
    asked = plugin(state)
    pod, stranger = parsed(web("2")), parsed(make_pod("3"))
    assert asked.score_signature(stranger, snapshot) is None
    assert asked.score_signature(pod, snapshot) is not None
    rows = slice(0, snapshot.nodes.count)
    cycle = CycleState()
    raw = asked.score(cycle, pod, snapshot, rows, snapshot.nodes.exists)
    scores = asked.normalize(cycle, raw, snapshot.nodes.exists).tolist()
    assert scores[snapshot.nodes.row_of("b") or 0] == 100 > scores[0]
    state.objects.remove(service)
    assert asked.score_signature(pod, snapshot) is None


def test_constraints_of_the_args_may_be_hard() -> None:
    """Defaulting type List with DoNotSchedule rejects, by the selector of the pod's service."""
    service = Service(ObjectMeta("s", "default"), ServiceSpec({"app": "web"}))
    state, snapshot = cluster(node("a", "a"), node("b", "b"), web("1").node("a"), services=(service,))
    args = PodTopologySpreadArgs(
        default_constraints=(TopologySpreadConstraint(1, ZONE, HARD),), defaulting_type=DefaultingType.LIST
    )
    assert rejections(plugin(state, args), web("2"), snapshot) == {"a": UNEVEN}


EVENTS = st.lists(
    st.tuples(st.sampled_from(["pod", "remove", "node"]), st.integers(0, 4), st.sampled_from([None, "x", "y", "z"])),
    max_size=25,
)


@given(EVENTS)
def test_the_filter_equals_a_plain_recount(events: list[tuple[str, int, str | None]]) -> None:
    """After any events, each node is refused exactly where counting all pods anew refuses it; overlays included."""
    state = ClusterState()
    snapshot = Snapshot(state)
    asked = plugin(state)
    zones: dict[str, str | None] = {}
    placed: dict[str, str] = {}
    for step, (kind, number, zone) in enumerate(events):
        name = f"n{number}"
        if kind == "node":
            state.cache.add_node(node(name, zone).obj())
            zones[name] = zone
        elif kind == "pod":
            pod = parsed(web(f"p{step}").node(name))
            state.cache.add_pod(pod, name)
            placed[pod.uid] = name
        elif placed:
            uid, _ = placed.popitem()
            state.cache.remove_pod(uid)
        snapshot.refresh()
        counts = Counter({zone: 0 for zone in zones.values() if zone is not None})
        counts.update(zone for name in placed.values() if (zone := zones.get(name)) is not None)
        lowest = min(counts.values(), default=2**31)
        expected = {
            name: MISSING if zone is None else UNEVEN
            for name, zone in zones.items()
            if zone is None or counts[zone] + 1 - lowest > 1
        }
        found = rejections(asked, web("new", spread()), snapshot)
        assert {name: status for name, status in found.items() if name in zones} == expected


def woken(resource: EventResource, action: Action, old: object | None, new: object | None) -> bool:
    """Whether an event wakes a pod with a hard zone constraint that honours affinity and taints."""
    state, _ = cluster(node("a", "a"), node("b", "b"))
    waiting = parsed(web("p", spread(node_taints_policy="Honor")).node_selector(disk="ssd"))
    happened = ClusterEvent(resource, action)
    return any(
        registered.hint is None or registered.hint(QueuedPodInfo(waiting, 0.0), old, new)
        for registered in plugin(state).events_to_register()
        if happened.matches(registered.event)
    )


POD, NODE = EventResource.ASSIGNED_POD, EventResource.NODE
LABELS, TAINTS = Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "expected"),
    [
        (POD, Action.ADD, None, web("1").node("a"), True),
        (POD, Action.ADD, None, make_pod("1").node("a"), False),
        (POD, Action.ADD, None, web("1").node("a").namespace("other"), False),
        (POD, Action.DELETE, web("1").node("a"), None, True),
        (POD, Action.DELETE, web("1").node("a").terminating(), None, False),
        (POD, Action.UPDATE_OTHER, web("1").node("a"), web("1").node("a").terminating(), True),
        (POD, Action.UPDATE_POD_LABEL, web("1").node("a"), make_pod("1").node("a"), True),
        (POD, Action.UPDATE_POD_LABEL, web("1").node("a"), web("1").node("a").label(x="y"), False),
        (NODE, Action.ADD, None, node("c", "c"), True),
        (NODE, Action.ADD, None, node("c", None), False),
        (NODE, Action.DELETE, node("c", "c"), None, True),
        (NODE, LABELS, node("c", "c"), node("c", "b"), True),
        (NODE, LABELS, node("c", "c"), node("c", "c").label(x="y"), False),
        (NODE, LABELS, node("c", "c"), node("c", "c").label(disk="ssd"), True),
        (NODE, LABELS, node("c", None), node("c", None).label(disk="ssd"), False),
        (NODE, TAINTS, node("c", "c").taint("k"), node("c", "c"), True),
        (NODE, TAINTS, node("c", "c"), node("c", "c").taint("k", effect="PreferNoSchedule"), False),
        (EventResource.TARGET_POD, Action.UPDATE_POD_LABEL, web("p"), make_pod("p"), True),
        (EventResource.PERSISTENT_VOLUME, Action.ADD, None, None, False),
    ],
)
def test_what_wakes_a_rejected_pod(
    resource: EventResource,
    action: Action,
    old: PodBuilder | NodeBuilder | None,
    new: PodBuilder | NodeBuilder | None,
    expected: bool,
) -> None:
    """Whatever changes a count or the topology, and nothing else."""
    seen = [None if each is None else _seen(each.obj()) for each in (old, new)]
    assert woken(resource, action, *seen) is expected


def _seen(built: Pod | Node) -> object:
    return parsed(built) if isinstance(built, Pod) else built


def test_soft_constraints_reject_nobody() -> None:
    """ScheduleAnyway leaves the filter out of the cycle."""
    state, snapshot = cluster(node("a", "a"))
    assert plugin(state).filter_signature(parsed(web("p", spread(SOFT))), snapshot) is None

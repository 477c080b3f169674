"""Where each watch event leads, and which waiting pods it wakes."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from scheduler.api.types import Node, Pod
from scheduler.core.framework.events import ClusterEvent
from scheduler.core.framework.types import PodInfo
from scheduler.core.queue.entry import Place
from scheduler.event_handlers import node_update_events, same_for_scheduling
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.shell import Shell

_NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
_UID = "uid-of-default-web"
_NODE = make_node("n1").capacity(cpu="1")
_POD = make_pod("web").req(cpu="1")


@pytest.fixture
async def shell() -> Shell:
    """Nothing was seen yet."""
    return Shell()


def finished(pod: PodBuilder, phase: str) -> Pod:
    """The pod after it ended."""
    made = pod.obj()
    return replace(made, status=replace(made.status, phase=phase))


async def test_pending_pods_of_ours_are_queued(shell: Shell) -> None:
    """And are not in the cache."""
    shell.see(_POD.obj())
    assert shell.place_of("web") is Place.ACTIVE
    assert shell.cache.sizes()["pods"] == 0


async def test_pending_pods_of_others_are_not_ours(shell: Shell) -> None:
    """Neither when they appear nor when they change."""
    theirs = _POD.scheduler_name("default-scheduler")
    shell.see(theirs.obj())
    shell.handlers.pod_updated(theirs.obj(), theirs.label(a="b").obj())
    assert shell.place_of("web") is None
    assert shell.cache.sizes()["pods"] == 0


async def test_placed_pods_of_anyone_count_on_their_node(shell: Shell) -> None:
    """Also when the node is not known yet."""
    shell.see(
        _POD.scheduler_name("default-scheduler").node("n1").obj(), _NODE.obj(), make_pod("next").req(cpu="1").obj()
    )
    shell.decide_next()
    assert shell.reports.told() == [("failed", "next", f"0/1 nodes are available: 1 Insufficient cpu. {_NO_VICTIMS}")]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_finished_pods_hold_nothing(shell: Shell, phase: str) -> None:
    """One that is seen finished is passed over, one that finishes frees its room and wakes who waits for it."""
    shell.see(finished(make_pod("old").node("n1"), phase), _NODE.obj(), _POD.node("n1").obj())
    assert shell.cache.sizes()["pods"] == 1
    shell.see(make_pod("next").req(cpu="1").obj())
    shell.decide_next()
    shell.handlers.pod_updated(_POD.node("n1").obj(), finished(_POD.node("n1"), phase))
    assert shell.cache.sizes()["pods"] == 0
    assert shell.place_of("next") is Place.BACKOFF


async def test_an_update_of_a_waiting_pod_reaches_the_queue(shell: Shell) -> None:
    """The next attempt sees the new pod."""
    shell.see(_POD.obj())
    changed = _POD.label(tier="web").obj()
    shell.handlers.pod_updated(_POD.obj(), changed)
    (queued,) = shell.queue.snapshot()[Place.ACTIVE]
    assert queued.pod_info.pod is changed


async def test_the_echo_of_a_binding_confirms_it(shell: Shell) -> None:
    """The pod is assumed no more, and counts once."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.decide_next()
    await shell.finish_binding()
    shell.handlers.pod_updated(_POD.obj(), _POD.node("n1").obj())
    assert shell.cache.sizes() == {"nodes": 1, "pods": 1, "assumed_pods": 0}


async def test_late_news_of_an_assumed_pod_does_not_requeue_it(shell: Shell) -> None:
    """Bound, its echo still to come: an update from before, or a list that still shows it unplaced, changes nothing."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.decide_next()
    await shell.finish_binding()
    shell.handlers.pod_updated(_POD.obj(), _POD.label(tier="web").obj())
    shell.see(_POD.resource_version("3").obj())
    assert shell.place_of("web") is None
    assert shell.queue.pop() is None
    assert shell.cache.is_assumed(_UID)


async def test_late_news_of_a_pod_in_its_binding_does_not_requeue_it(shell: Shell) -> None:
    """It stays in flight; the cycle under way decides."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.decide_next()
    shell.handlers.pod_updated(_POD.obj(), _POD.label(tier="web").obj())
    shell.see(_POD.resource_version("3").obj())
    assert shell.place_of("web") is Place.IN_FLIGHT
    assert shell.queue.pop() is None
    await shell.finish_binding()
    assert shell.binder.asked == [("web", "n1")]


async def test_a_pod_placed_by_another_leaves_the_queue(shell: Shell) -> None:
    """Whoever bound it: it must not be tried any more."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.handlers.pod_updated(_POD.obj(), _POD.node("n9").obj())
    assert shell.place_of("web") is None
    state = shell.cache.pod_state(_UID)
    assert state is not None
    assert (state.node_name, state.assumed) == ("n9", False)


async def test_a_deleted_pod_leaves_everything(shell: Shell) -> None:
    """Waiting, assumed or placed."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.handlers.pod_deleted(_POD.obj())
    assert shell.place_of("web") is None
    shell.see(_POD.obj())
    shell.decide_next()
    shell.handlers.pod_deleted(_POD.obj())
    assert shell.cache.sizes()["pods"] == 0
    await shell.finish_binding()
    shell.see(_POD.node("n1").obj())
    shell.handlers.pod_deleted(_POD.node("n1").obj())
    assert shell.cache.sizes()["pods"] == 0


async def test_a_shrunk_pod_wakes_those_who_wait_for_room(shell: Shell) -> None:
    """A resize in place frees room as a delete does."""
    shell.see(_NODE.obj(), _POD.node("n1").obj(), make_pod("next").req(cpu="500m").obj())
    shell.decide_next()
    shell.handlers.pod_updated(_POD.node("n1").obj(), make_pod("web").req(cpu="500m").node("n1").obj())
    assert shell.place_of("next") is Place.BACKOFF


@pytest.mark.parametrize(
    ("changed", "wakes"),
    [
        (_NODE.capacity(cpu="4"), True),
        (_NODE.resource_version("7"), False),
        (_NODE.condition("Ready", "True"), False),
    ],
)
async def test_only_changes_that_help_wake_a_waiting_pod(shell: Shell, changed: NodeBuilder, wakes: bool) -> None:
    """A pod without room waits for a larger node, not for a heartbeat."""
    shell.see(_NODE.obj(), make_pod("large").req(cpu="2").obj())
    shell.decide_next()
    shell.handlers.node_updated(_NODE.obj(), changed.obj())
    assert shell.place_of("large") is (Place.BACKOFF if wakes else Place.UNSCHEDULABLE)


async def test_a_heartbeat_leaves_what_was_computed_valid(shell: Shell) -> None:
    """No row counts as changed, so that nothing kept about the node is computed again."""
    shell.see(_NODE.obj())
    shell.cache.take_changes()
    shell.handlers.node_updated(_NODE.obj(), _NODE.resource_version("7").obj())
    changes = shell.cache.take_changes()
    assert (changes.nodes, changes.usage) == ({}, {})
    shell.handlers.node_updated(_NODE.obj(), _NODE.label(zone="a").obj())
    assert len(shell.cache.take_changes().nodes) == 1


async def test_a_recreated_node_is_what_it_is_now(shell: Shell) -> None:
    """Pods that outlived it count on its successor, whose labels and size are new."""
    shell.see(_NODE.label(disk="ssd").obj(), _POD.node("n1").obj())
    shell.handlers.node_deleted(_NODE.obj())
    shell.see(make_pod("first").obj())
    shell.decide_next()
    assert shell.reports.told()[-1] == ("failed", "first", "no nodes available to schedule pods")
    shell.see(_NODE.capacity(cpu="2").label(disk="hdd").obj())
    shell.see(make_pod("on-ssd").node_selector(disk="ssd").obj(), make_pod("large").req(cpu="2").obj())
    shell.end_backoff()
    for _ in range(3):
        shell.decide_next()
    told = shell.reports.told()
    assert ("failed", "large", f"0/1 nodes are available: 1 Insufficient cpu. {_NO_VICTIMS}") in told
    reason = "1 node(s) didn't match Pod's node affinity/selector"
    not_helpful = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert ("failed", "on-ssd", f"0/1 nodes are available: {reason}. {not_helpful}") in told
    await shell.finish_binding()
    assert shell.binder.asked == [("first", "n1")]


@pytest.mark.parametrize(
    ("changed", "labels"),
    [
        (_NODE, []),
        (_NODE.resource_version("9"), []),
        (_NODE.allocatable(cpu="2"), ["NodeUpdateNodeAllocatable"]),
        (_NODE.label(zone="a"), ["NodeUpdateNodeLabel"]),
        (_NODE.taint("k"), ["NodeUpdateNodeTaint"]),
        (_NODE.unschedulable(), ["NodeUpdateNodeTaint"]),
        (_NODE.condition("Ready", "False"), ["NodeUpdateNodeCondition"]),
        (_NODE.declared_features("F"), ["NodeUpdateNodeDeclaredFeature"]),
        (_NODE.label(zone="a").taint("k"), ["NodeUpdateNodeLabel", "NodeUpdateNodeTaint"]),
    ],
)
def test_node_updates_have_an_event_for_each_property(changed: NodeBuilder, labels: list[str]) -> None:
    """Named as in kube-scheduler's metrics."""
    old: Node = _NODE.obj()
    assert [event.label for event in node_update_events(old, changed.obj())] == labels
    assert same_for_scheduling(old, changed.obj()) is (not labels)


async def test_each_handled_event_is_counted(shell: Shell) -> None:
    """Under the event's label."""
    shell.see(_NODE.obj(), _POD.obj(), make_pod("placed").node("n1").obj())
    shell.handlers.pod_deleted(make_pod("placed").node("n1").obj())
    shell.handlers.node_deleted(_NODE.obj())
    assert shell.handled == [
        "NodeAdd",
        "UnscheduledPodAdd",
        "AssignedPodAdd",
        "AssignedPodDelete",
        "NodeDelete",
    ]


# --- nominations

_ANNOTATION = "scheduler.kubernetes.io/nominated-node-name"
_BOSS = make_pod("boss").req(cpu="1").priority(5)
_BOSS_UID = "uid-of-default-boss"


def waiting_shell() -> Shell:
    """A node whose room is held for a nominated pod that is gated, and a pod that waits for it."""
    shell = Shell()
    shell.see(_NODE.obj(), gated(_BOSS.nominated_node("n1")), _POD.obj())
    shell.decide_next()
    assert shell.place_of("web") is Place.UNSCHEDULABLE
    return shell


def gated(pod: PodBuilder) -> Pod:
    """The pod, kept from being tried."""
    return pod.scheduling_gate("later").obj()


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (_BOSS, None),
        (_BOSS.nominated_node("n1"), "n1"),
        (_BOSS.annotation(_ANNOTATION, "n2"), None),
        (_BOSS.nominated_node("n1").annotation(_ANNOTATION, "n2"), "n1"),
        (_BOSS.nominated_node("n1").scheduler_name("default-scheduler"), None),
        (_BOSS.nominated_node("n1").node("n2"), None),
        (_BOSS.nominated_node("n1").phase("Failed"), None),
    ],
    ids=["none", "status", "annotation alone", "status before annotation", "of another scheduler", "bound", "finished"],
)
async def test_nominations_are_found_on_pods(shell: Shell, pod: PodBuilder, expected: str | None) -> None:
    """After a restart they are known from what the watch shows first, whatever comes first, node or pod."""
    shell.see(pod.obj())
    assert shell.nominator.node_of(_BOSS_UID) == expected


async def test_a_nomination_counts_as_soon_as_it_is_seen() -> None:
    """The pod that is kept out says why."""
    shell = waiting_shell()
    assert shell.reports.told() == [("failed", "web", f"0/1 nodes are available: 1 Insufficient cpu. {_NO_VICTIMS}")]


async def test_a_nomination_follows_the_status(shell: Shell) -> None:
    """Set, changed, taken back, by whomever."""
    states = [_BOSS, _BOSS.nominated_node("n1"), _BOSS.nominated_node("n2"), _BOSS]
    shell.see(states[0].obj())
    held = []
    for old, new in pairwise(states):
        shell.handlers.pod_updated(old.obj(), new.obj())
        held.append(shell.nominator.node_of(_BOSS_UID))
    assert held == ["n1", "n2", None]


async def test_the_nominated_pod_is_the_newest_one(shell: Shell) -> None:
    """What is held is what it asks now."""
    shell.see(_BOSS.nominated_node("n1").obj())
    newer = make_pod("boss").req(cpu="500m").priority(5).nominated_node("n1").obj()
    shell.handlers.pod_updated(_BOSS.nominated_node("n1").obj(), newer)
    assert [info.pod for info in shell.nominator.on_node("n1")] == [newer]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (_BOSS, _BOSS.label(a="b"), "n2"),
        (_BOSS.nominated_node("n1"), _BOSS.nominated_node("n1").label(a="b"), "n2"),
        (_BOSS.nominated_node("n1"), _BOSS, "n2"),
        (_BOSS, _BOSS.nominated_node("n2"), "n2"),
        (_BOSS.nominated_node("n1"), _BOSS.nominated_node("n2"), "n2"),
        (_BOSS.nominated_node("n2"), _BOSS, None),
        (_BOSS.nominated_node("n1"), _BOSS.nominated_node("n3"), "n3"),
    ],
    ids=["never said", "still old", "old one cleared", "echo", "echo after old", "cleared", "set by another"],
)
async def test_what_a_cycle_nominated_stands_until_there_is_news(
    shell: Shell, old: PodBuilder, new: PodBuilder, expected: str | None
) -> None:
    """Updates that are older than the cycle's nomination to n2, or about other things, do not end it."""
    shell.see(old.obj())
    queued = shell.queue.pop()
    assert queued is not None
    shell.nominator.add(queued.pod_info, "n2")
    shell.handlers.pod_updated(old.obj(), new.obj())
    assert shell.nominator.node_of(_BOSS_UID) == expected


async def test_what_a_cycle_withdrew_stays_withdrawn(shell: Shell) -> None:
    """The pod's status still says so, until the patch is through: that is no news."""
    shell.see(_BOSS.nominated_node("n1").obj())
    shell.nominator.remove(_BOSS_UID)
    shell.handlers.pod_updated(_BOSS.nominated_node("n1").obj(), _BOSS.nominated_node("n1").label(a="b").obj())
    assert shell.nominator.node_of(_BOSS_UID) is None
    shell.handlers.pod_updated(_BOSS.nominated_node("n1").obj(), _BOSS.obj())
    assert shell.nominator.node_of(_BOSS_UID) is None


async def test_a_pod_seen_anew_keeps_what_a_cycle_nominated(shell: Shell) -> None:
    """The watch was interrupted and lists again, with the pod as it was before."""
    shell.see(_BOSS.obj())
    queued = shell.queue.pop()
    assert queued is not None
    shell.nominator.add(queued.pod_info, "n2")
    shell.see(_BOSS.obj())
    assert shell.nominator.node_of(_BOSS_UID) == "n2"


async def test_an_assumed_pod_holds_no_second_room(shell: Shell) -> None:
    """Placed on its node by a cycle, its echo still to come: late news of its nomination changes nothing."""
    shell.see(_NODE.obj(), _BOSS.nominated_node("n1").obj())
    shell.decide_next()
    shell.handlers.pod_updated(_BOSS.obj(), _BOSS.nominated_node("n1").obj())
    shell.see(_BOSS.nominated_node("n1").obj())
    assert shell.nominator.node_of(_BOSS_UID) is None
    await shell.finish_binding()


_HELD = gated(_BOSS.nominated_node("n1"))
_ENDS: dict[str, Callable[[Shell], None]] = {
    "deleted": lambda shell: shell.handlers.pod_deleted(_HELD),
    "finished": lambda shell: shell.handlers.pod_updated(_HELD, gated(_BOSS.nominated_node("n1").phase("Failed"))),
    "being deleted": lambda shell: shell.handlers.pod_updated(_HELD, gated(_BOSS.nominated_node("n1").terminating())),
    "cleared": lambda shell: shell.handlers.pod_updated(_HELD, gated(_BOSS)),
    "re-targeted": lambda shell: shell.handlers.pod_updated(_HELD, gated(_BOSS.nominated_node("n2"))),
    "bound elsewhere": lambda shell: shell.handlers.pod_updated(_HELD, _BOSS.nominated_node("n1").node("n2").obj()),
}


@pytest.mark.parametrize("end", _ENDS.values(), ids=_ENDS)
async def test_the_end_of_a_nomination_wakes_others(end: Callable[[Shell], None]) -> None:
    """Its room may be had: a pod that waited for it gets it."""
    shell = waiting_shell()
    end(shell)
    assert list(shell.nominator.on_node("n1")) == []
    assert shell.place_of("web") is Place.BACKOFF
    shell.end_backoff()
    shell.decide_next()
    await shell.finish_binding()
    assert shell.binder.asked == [("web", "n1")]


async def test_a_nominated_pod_that_is_bound_there_wakes_nobody() -> None:
    """The room is taken as it was held."""
    shell = waiting_shell()
    shell.handlers.pod_updated(_HELD, _BOSS.nominated_node("n1").node("n1").obj())
    assert list(shell.nominator.on_node("n1")) == []
    assert shell.place_of("web") is Place.UNSCHEDULABLE


@pytest.mark.parametrize("changed", [_BOSS.nominated_node("n1").label(a="b"), _BOSS.nominated_node("n1")])
async def test_news_about_other_things_wake_nobody(changed: PodBuilder) -> None:
    """The room is held as before."""
    shell = waiting_shell()
    shell.handlers.pod_updated(_HELD, gated(changed))
    assert shell.nominator.node_of(_BOSS_UID) == "n1"
    assert shell.place_of("web") is Place.UNSCHEDULABLE


async def test_a_pod_without_nomination_that_is_deleted_wakes_nobody(shell: Shell) -> None:
    """It held nothing."""
    shell.see(_NODE.obj(), _POD.node("n1").obj(), make_pod("next").req(cpu="1").obj(), gated(_BOSS))
    shell.decide_next()
    shell.handlers.pod_deleted(gated(_BOSS))
    assert shell.place_of("next") is Place.UNSCHEDULABLE


async def test_a_node_that_vanishes_takes_its_nominations_along(shell: Shell) -> None:
    """Those who waited for room there are tried again at once: their victims may never be seen leaving."""
    shell.see(_NODE.obj(), _POD.node("n1").obj(), _BOSS.obj())
    shell.decide_next()
    await shell.finish_binding()
    assert shell.nominator.node_of(_BOSS_UID) == "n1"
    assert shell.place_of("boss") is Place.UNSCHEDULABLE
    shell.see(make_node("n2").capacity(cpu="1").obj(), make_pod("other").req(cpu="1").node("n2").obj())
    shell.end_backoff()
    shell.decide_next()
    assert shell.place_of("boss") is Place.UNSCHEDULABLE
    shell.handlers.node_deleted(_NODE.obj())
    assert list(shell.nominator.nodes()) == []
    assert shell.place_of("boss") is Place.ACTIVE
    shell.decide_next()
    assert shell.nominator.node_of(_BOSS_UID) == "n2"
    await shell.finish_binding()


# --- what events tell of a pod that held room

_MOVED: dict[str, tuple[Callable[[Shell], None], list[tuple[str, str | None]]]] = {
    "deleted from its node": (
        lambda shell: shell.handlers.pod_deleted(_POD.node("n1").obj()),
        [("AssignedPodDelete", "n1")],
    ),
    "deleted, though it names another node": (
        lambda shell: shell.handlers.pod_deleted(_POD.obj()),
        [("AssignedPodDelete", "n1")],
    ),
    "bound by another to another node": (
        lambda shell: shell.handlers.pod_updated(_POD.obj(), _POD.node("n2").obj()),
        [("AssignedPodAdd", "n2"), ("AssignedPodDelete", "n1")],
    ),
    "bound as it was assumed": (
        lambda shell: shell.handlers.pod_updated(_POD.obj(), _POD.node("n1").obj()),
        [("AssignedPodAdd", "n1")],
    ),
    "bound with labels that are newer": (
        lambda shell: shell.handlers.pod_updated(_POD.obj(), _POD.label(a="b").node("n1").obj()),
        [("AssignedPodAdd", "n1"), ("AssignedPodUpdatePodLabel", "n1")],
    ),
}


@pytest.mark.parametrize(("happen", "expected"), _MOVED.values(), ids=_MOVED)
async def test_events_name_the_node_that_an_assumed_pod_held(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    happen: Callable[[Shell], None],
    expected: list[tuple[str, str | None]],
) -> None:
    """Also where the pod itself does not name it: who waits for that node's room must be able to tell."""
    shell.see(_NODE.obj(), _POD.obj())
    shell.decide_next()
    await shell.finish_binding()
    told = moves(shell, monkeypatch)
    happen(shell)
    assert told == expected


@pytest.mark.parametrize("end", _ENDS.values(), ids=_ENDS)
async def test_events_name_the_node_that_a_nominated_pod_held(
    monkeypatch: pytest.MonkeyPatch, end: Callable[[Shell], None]
) -> None:
    """Whatever its status says by then, and wherever it is."""
    shell = waiting_shell()
    told = moves(shell, monkeypatch)
    end(shell)
    assert ("AssignedPodDelete", "n1") in told


def moves(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """The events about pods from now on: label, and the node that the event says was or is held."""
    told: list[tuple[str, str | None]] = []
    move = shell.queue.move_all_to_active_or_backoff

    def watched(event: ClusterEvent, old: object, new: object, now: float) -> None:
        pod = new or old
        assert isinstance(pod, PodInfo)
        told.append((event.label, pod.held_node))
        move(event, old, new, now)

    monkeypatch.setattr(shell.queue, "move_all_to_active_or_backoff", watched)
    return told

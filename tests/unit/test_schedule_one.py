"""Scheduling and binding cycle: what becomes of a pod, step by step, and when a step fails."""

import pytest
from structlog.testing import capture_logs

from scheduler.api.types import LabelSelector, TopologySpreadConstraint
from scheduler.client.errors import Unreachable
from scheduler.core.framework.interface import FailedAttempt, PostFilterResult
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.status import Code, Status
from scheduler.core.queue.entry import Place
from scheduler.telemetry.logging import verbosity
from scheduler.testing import make_node, make_pod
from tests.unit.client.fakes import settle
from tests.unit.shell import Shell

_UID = "uid-of-default-web"
_NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
_NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
_NO = Status.of(Code.UNSCHEDULABLE, "no room in the rack")
_BROKEN = Status.of(Code.ERROR, "binding rejected: 500")


@pytest.fixture
async def shell() -> Shell:
    """A node of one cpu and a pod that asks for it."""
    made = Shell()
    made.see(make_node("n1").capacity(cpu="1").obj(), make_pod("web").req(cpu="1").obj())
    return made


@pytest.mark.parametrize(("level", "told"), [(1, []), (2, [("web", "n1"), ("huge", None)])])
async def test_verbosity_2_tells_what_became_of_each_pod(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, level: int, told: list[tuple[str, str | None]]
) -> None:
    """One line for a pod that is bound and one for a failed attempt; below that the log is silent about pods."""
    monkeypatch.setattr(verbosity, "level", level)
    shell.see(make_pod("huge").req(cpu="99").obj())
    with capture_logs() as logs:
        shell.decide_next()
        await shell.finish_binding()
        shell.decide_next()
    assert [(line["pod"], line.get("node")) for line in logs] == [(f"default/{name}", node) for name, node in told]


async def test_a_pod_is_assumed_bound_and_reported(shell: Shell) -> None:
    """It counts on its node before the binding ends, and is reported and counted once after it."""
    shell.decide_next()
    assert shell.cache.is_assumed(_UID)
    assert shell.place_of("web") is Place.IN_FLIGHT
    assert shell.reports.told() == []
    shell.clock.advance(2.0)
    await shell.finish_binding()
    assert shell.binder.asked == [("web", "n1")]
    assert shell.reports.told() == [("scheduled", "web", "n1")]
    assert shell.reports.conditions == []
    assert shell.place_of("web") is None
    assert shell.cache.is_assumed(_UID)
    assert shell.attempts("scheduled") == 1
    assert shell.counted("scheduler_pod_scheduling_attempts_sum") == 1
    seconds = shell.metrics.registry.get_sample_value(
        "scheduler_pod_scheduling_sli_duration_seconds_sum", {"attempts": "1"}
    )
    assert seconds == 2.0


async def test_the_room_of_an_assumed_pod_is_taken(shell: Shell) -> None:
    """The next pod does not get it, although nothing is bound yet."""
    shell.decide_next()
    shell.see(make_pod("late").req(cpu="1").obj())
    shell.decide_next()
    assert shell.reports.told() == [("failed", "late", f"0/1 nodes are available: 1 Insufficient cpu. {_NO_VICTIMS}")]
    await shell.finish_binding()


async def test_a_pod_that_fits_nowhere_waits_and_is_told(shell: Shell) -> None:
    """Event and condition say why; it waits for an event that can help."""
    shell.handlers.pod_deleted(make_pod("web").obj())
    shell.see(make_pod("huge").req(cpu="8").obj())
    shell.decide_next()
    message = f"0/1 nodes are available: 1 Insufficient cpu. {_NOT_HELPFUL}"
    assert shell.reports.told() == [("failed", "huge", message)]
    (condition,) = shell.reports.conditions
    assert (condition.type, condition.status) == ("PodScheduled", "False")
    assert (condition.reason, condition.message) == ("Unschedulable", message)
    assert shell.place_of("huge") is Place.UNSCHEDULABLE
    assert shell.attempts("unschedulable") == 1
    assert shell.cache.sizes()["pods"] == 0
    shell.see(make_node("n2").capacity(cpu="8").obj())
    assert shell.place_of("huge") is Place.BACKOFF


async def test_a_pod_being_deleted_is_skipped() -> None:
    """It gets an event, and no attempt is counted."""
    shell = Shell()
    shell.see(make_node("n1").obj(), make_pod("web").terminating().obj())
    shell.decide_next()
    assert shell.reports.told() == [("failed", "web", "skip schedule deleting pod: default/web")]
    assert shell.place_of("web") is None
    assert shell.attempts("scheduled") + shell.attempts("unschedulable") + shell.attempts("error") == 0


async def test_a_pod_that_is_assumed_already_is_skipped(shell: Shell) -> None:
    """It leaves the queue without a word."""
    queued = shell.queue.pop()
    assert queued is not None
    shell.cache.assume_pod(queued.pod_info, "n1")
    shell.schedule_one.schedule_one(queued)
    assert shell.reports.told() == []
    assert shell.place_of("web") is None
    assert shell.binding == []


async def test_a_failed_binding_frees_the_room_and_is_tried_again(shell: Shell) -> None:
    """The assumption is taken back, the pod backs off, the cluster is told, and whoever waited for room is woken."""
    shell.decide_next()
    shell.see(make_pod("late").req(cpu="1").obj())
    shell.decide_next()
    shell.binder.answer = _BROKEN
    shell.clock.advance(20.0)
    await shell.finish_binding()
    assert not shell.cache.is_assumed(_UID)
    assert shell.place_of("web") is Place.BACKOFF
    assert shell.place_of("late") is Place.ACTIVE
    assert shell.reports.told()[-1] == ("failed", "web", "binding rejected: 500")
    assert shell.reports.conditions[-1].reason == "SchedulerError"
    assert shell.attempts("error") == 1
    assert ("Unreserve", "web") in shell.scripted.calls


async def test_a_pod_is_not_bound_to_a_node_that_is_gone(shell: Shell) -> None:
    """Deleted between the decision and the Binding: nothing is sent, and the pod is tried again."""
    shell.decide_next()
    shell.handlers.node_deleted(make_node("n1").obj())
    await shell.finish_binding()
    assert shell.binder.asked == []
    assert shell.reports.told() == [("failed", "web", 'node "n1" not found')]
    assert shell.place_of("web") is Place.BACKOFF
    assert shell.cache.sizes() == {"nodes": 0, "pods": 0, "assumed_pods": 0}


async def test_a_pod_deleted_during_its_binding_is_not_put_back(shell: Shell) -> None:
    """The late failure of its binding changes nothing and is told to nobody; its room was free at once."""
    shell.decide_next()
    shell.binder.gate.clear()
    shell.binder.answer = _BROKEN
    binding = shell.start_binding()
    await settle()
    shell.handlers.pod_deleted(make_pod("web").obj())
    assert shell.cache.sizes()["pods"] == 0
    shell.see(make_pod("web").uid("second-life").req(cpu="500m").obj())
    shell.binder.gate.set()
    await binding
    assert shell.reports.told() == []
    assert shell.reports.conditions == []
    assert [queued.uid for queued in shell.queue.snapshot()[Place.ACTIVE]] == ["second-life"]
    shell.binder.answer = None
    shell.decide_next()
    await shell.finish_binding()
    assert [report.pod.uid for report in shell.reports.all] == ["second-life"]


async def test_a_binding_that_ends_after_its_echo_is_a_success(shell: Shell) -> None:
    """The watch was faster than the answer: the pod is reported once and stays confirmed."""
    shell.decide_next()
    shell.handlers.pod_updated(make_pod("web").obj(), make_pod("web").req(cpu="1").node("n1").obj())
    await shell.finish_binding()
    assert shell.reports.told() == [("scheduled", "web", "n1")]
    assert not shell.cache.is_assumed(_UID)
    assert shell.cache.sizes()["pods"] == 1


async def test_a_pod_bound_elsewhere_during_its_binding_stays_there(shell: Shell) -> None:
    """Another scheduler was faster: our refusal takes nothing away and puts nothing back."""
    shell.see(make_node("n2").obj())
    shell.decide_next()
    shell.handlers.pod_updated(make_pod("web").obj(), make_pod("web").req(cpu="1").node("n2").obj())
    shell.binder.answer = _BROKEN
    await shell.finish_binding()
    state = shell.cache.pod_state(_UID)
    assert state is not None
    assert (state.node_name, state.assumed) == ("n2", False)
    assert shell.place_of("web") is None
    assert shell.reports.told() == []


async def test_an_update_during_the_binding_counts_for_the_next_attempt(shell: Shell) -> None:
    """What failed is tried again with the pod as it is by then."""
    shell.decide_next()
    changed = make_pod("web").req(cpu="1").label(tier="new").resource_version("2").obj()
    shell.handlers.pod_updated(make_pod("web").req(cpu="1").obj(), changed)
    shell.binder.answer = _BROKEN
    await shell.finish_binding()
    (queued,) = shell.queue.snapshot()[Place.BACKOFF]
    assert queued.pod_info.pod is changed
    assert shell.reports.all[-1].pod.pod is changed


@pytest.mark.parametrize("point", ["PreFilter", "Reserve", "PreBind"])
async def test_a_plugin_that_raises_is_logged_counted_and_retried(shell: Shell, point: str) -> None:
    """The pod is not lost, nothing stays assumed, and the loop goes on."""
    shell.scripted.answers[point] = RuntimeError("plugin bug")
    with capture_logs() as logs:
        shell.decide_next()
        await shell.finish_binding()
    assert [(line["event"], line["pod"], line["log_level"]) for line in logs] == [
        ("scheduling failed", "default/web", "error")
    ]
    assert shell.counted("podium_cycle_errors_total") == 1
    assert shell.attempts("error") == 1
    assert shell.cache.sizes()["pods"] == 0
    assert shell.reports.told() == [("failed", "web", "plugin bug")]
    assert shell.reports.conditions[0].reason == "SchedulerError"
    assert shell.place_of("web") is Place.BACKOFF
    shell.scripted.answers.clear()
    shell.end_backoff()
    shell.decide_next()
    await shell.finish_binding()
    assert shell.reports.told()[-1] == ("scheduled", "web", "n1")


async def test_a_fault_without_words_is_named(shell: Shell) -> None:
    """The message is never empty."""
    shell.scripted.answers["Reserve"] = KeyError()
    with capture_logs():
        shell.decide_next()
    assert shell.reports.told() == [("failed", "web", "KeyError")]


@pytest.mark.parametrize("point", ["Reserve", "PreBind"])
async def test_a_rejection_after_the_choice_counts_for_that_node(shell: Shell, point: str) -> None:
    """The pod is unschedulable because of the plugin, and its own freed room does not wake it."""
    shell.scripted.answers[point] = _NO
    shell.decide_next()
    await shell.finish_binding()
    assert shell.reports.told() == [("failed", "web", "0/1 nodes are available: 1 no room in the rack.")]
    assert shell.reports.conditions[0].reason == "Unschedulable"
    assert shell.attempts("unschedulable") == 1
    assert shell.place_of("web") is Place.UNSCHEDULABLE
    assert shell.cache.sizes()["pods"] == 0


async def test_an_unreserve_that_raises_does_not_keep_the_room(shell: Shell) -> None:
    """It is logged, and the assumption is taken back all the same."""
    shell.scripted.answers |= {"Unreserve": RuntimeError("cannot give back"), "PreBind": _NO}
    shell.decide_next()
    with capture_logs() as logs:
        await shell.finish_binding()
    assert [line["event"] for line in logs] == ["unreserve failed"]
    assert shell.cache.sizes()["pods"] == 0
    assert shell.place_of("web") is Place.UNSCHEDULABLE


async def test_a_post_bind_that_raises_unbinds_nothing(shell: Shell) -> None:
    """The pod is bound, reported and counted; the fault is logged."""
    shell.scripted.answers["PostBind"] = RuntimeError("too late")
    shell.decide_next()
    with capture_logs() as logs:
        await shell.finish_binding()
    assert [line["event"] for line in logs] == ["post-bind failed"]
    assert shell.reports.told() == [("scheduled", "web", "n1")]
    assert shell.cache.is_assumed(_UID)
    assert shell.attempts("scheduled") == 1


async def test_a_pod_that_cannot_be_assumed_is_retried(shell: Shell) -> None:
    """A cache that knows the pod already is a fault of ours, and ends neither the loop nor the pod."""
    queued = shell.queue.pop()
    assert queued is not None
    shell.cache.add_pod(queued.pod_info, "elsewhere")
    with capture_logs() as logs:
        shell.schedule_one.schedule_one(queued)
    assert [line["event"] for line in logs] == ["scheduling failed"]
    assert shell.place_of("web") is Place.BACKOFF
    assert shell.cache.pod_state(_UID) is not None


async def test_a_pre_enqueue_that_raises_holds_the_pod() -> None:
    """The fault is reported, and the pod stays known instead of falling between the places."""
    shell = Shell()
    shell.scripted.answers["PreEnqueue"] = ValueError("odd label")
    shell.see(make_pod("web").obj())
    assert [str(fault) for fault in shell.faults] == ["running PreEnqueue plugin 'Scripted': ValueError('odd label')"]
    assert shell.place_of("web") is Place.GATED


async def test_a_pod_put_aside_before_any_node_was_looked_at_is_pending(shell: Shell) -> None:
    """The plugin that waits for something is told apart from those that rejected the pod."""
    shell.scripted.answers["PreFilter"] = Status.of(Code.PENDING, "waiting for the rest of the job")
    shell.decide_next()
    (queued,) = shell.queue.snapshot()[Place.UNSCHEDULABLE]
    assert (queued.pending_plugins, queued.unschedulable_plugins) == (frozenset({"Scripted"}), frozenset())


# --- preemption

_FOUND = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
_WAITS = "preemption: not eligible due to a terminating pod on the nominated node."
_FULL = "0/1 nodes are available: 1 Insufficient cpu."
_BOSS = make_pod("boss").req(cpu="1").priority(5)
_LOW = make_pod("low").req(cpu="1").node("n1")
_BOSS_UID = "uid-of-default-boss"


@pytest.fixture
async def full() -> Shell:
    """A node that is full with a pod of low priority, and a pod that may evict it."""
    made = Shell()
    made.see(make_node("n1").capacity(cpu="1").obj(), _LOW.obj(), _BOSS.obj())
    return made


async def test_a_preemptor_stays_in_flight_until_the_deletes_are_out(full: Shell) -> None:
    """Nominated in memory at once; told and requeued when its victims are on their way."""
    full.decide_next()
    assert full.nominator.node_of(_BOSS_UID) == "n1"
    assert full.place_of("boss") is Place.IN_FLIGHT
    assert full.evictions.done == []
    assert full.reports.told() == []
    await full.finish_binding()
    assert full.evictions.done == [("read", "boss"), ("nominate", "boss"), ("evict", "low")]
    assert full.place_of("boss") is Place.UNSCHEDULABLE
    assert full.reports.told() == [("failed", "boss", f"{_FULL} {_FOUND}")]
    (condition,) = full.reports.conditions
    assert (condition.reason, condition.message) == ("Unschedulable", f"{_FULL} {_FOUND}")
    assert full.evictions.conditions["boss"] == condition
    assert full.reports.cleared == []
    assert full.attempts("unschedulable") == 1
    assert full.counted("scheduler_preemption_attempts_total") == 1
    assert full.counted("scheduler_preemption_victims_sum") == 1


async def test_victims_wake_their_own_preemptor_only_and_once() -> None:
    """Not the preemptors that wait for other victims, and not for each victim: once there is room."""
    shell = Shell()
    for node in ("n1", "n2"):
        shell.see(make_node(node).capacity(cpu="2").obj())
        shell.see(*(make_pod(f"{half}-{node}").req(cpu="1").node(node).obj() for half in ("left", "right")))
    shell.see(*(make_pod(name).req(cpu="2").priority(5).obj() for name in ("boss", "chief")))
    shell.decide_next()
    shell.decide_next()
    await shell.finish_binding()
    victims_of = shell.nominator.node_of(_BOSS_UID)
    shell.handlers.pod_deleted(make_pod(f"left-{victims_of}").req(cpu="1").node(f"{victims_of}").obj())
    assert shell.queue.pending_counts()["unschedulable"] == 2
    shell.handlers.pod_deleted(make_pod(f"right-{victims_of}").req(cpu="1").node(f"{victims_of}").obj())
    assert shell.place_of("boss") is Place.BACKOFF
    assert shell.place_of("chief") is Place.UNSCHEDULABLE


@pytest.mark.parametrize("nominated_by_annotation_alone", [False, True])
async def test_a_preemptor_whose_room_was_taken_looks_elsewhere_when_its_victims_are_gone(
    nominated_by_annotation_alone: bool,
) -> None:
    """Though it does not fit: it waits for nobody any more, and no other event may come."""
    shell = Shell()
    shell.see(make_node("n1").capacity(cpu="1").obj())
    if nominated_by_annotation_alone:
        leaving = _LOW.condition("DisruptionTarget", "True", "PreemptionByScheduler").terminating()
        shell.see(leaving.obj(), _BOSS.annotation("scheduler.kubernetes.io/nominated-node-name", "n1").obj())
    else:
        shell.see(_LOW.obj(), _BOSS.obj())
    shell.decide_next()
    await shell.finish_binding()
    shell.see(make_pod("thief").req(cpu="1").priority(9).node("n1").obj())
    assert shell.place_of("boss") is Place.UNSCHEDULABLE
    shell.handlers.pod_deleted(_LOW.obj())
    assert shell.place_of("boss") is Place.BACKOFF


async def test_a_preemptor_whose_nomination_is_taken_back_looks_elsewhere(full: Shell) -> None:
    """It need not wait for those victims any more, and may evict others."""
    full.decide_next()
    await full.finish_binding()
    nominated = _BOSS.nominated_node("n1")
    full.handlers.pod_updated(_BOSS.obj(), nominated.obj())
    assert full.place_of("boss") is Place.UNSCHEDULABLE
    full.handlers.pod_updated(nominated.obj(), _BOSS.obj())
    assert full.place_of("boss") is Place.BACKOFF


async def test_victims_on_their_way_out_are_told_of() -> None:
    """A preemptor that had only to wait for spreading, which does not count them, is tried again at once."""
    over_hosts = TopologySpreadConstraint(1, "kubernetes.io/hostname", "DoNotSchedule", LabelSelector({"app": "web"}))
    web = make_pod("web").label(app="web").spread(over_hosts)
    shell = Shell()
    shell.see(make_node("n1").obj(), make_node("n2").taint("a").obj(), _LOW.label(app="web").obj())
    shell.see(web.priority(5).obj())
    shell.decide_next()
    assert shell.place_of("web") is Place.IN_FLIGHT
    await shell.finish_binding()
    assert shell.evictions.done[-1] == ("evict", "low")
    assert shell.place_of("web") is Place.BACKOFF


async def test_a_preemptor_gets_the_room_of_its_victims(full: Shell) -> None:
    """Nobody of its priority gets it meanwhile; its nomination ends as it is placed."""
    full.decide_next()
    await full.finish_binding()
    full.see(make_pod("thief").req(cpu="1").priority(5).obj())
    full.handlers.pod_deleted(_LOW.obj())
    full.decide_next()
    full.end_backoff()
    full.decide_next()
    await full.finish_binding()
    assert full.binder.asked == [("boss", "n1")]
    assert full.nominator.node_of(_BOSS_UID) is None
    assert full.place_of("thief") is Place.UNSCHEDULABLE


async def test_a_preemptor_waits_for_victims_that_are_leaving(full: Shell) -> None:
    """Tried again while they end their grace period: nobody else is evicted, the nomination stays, and it is said."""
    full.decide_next()
    await full.finish_binding()
    full.queue.activate([_BOSS_UID], full.clock.now())
    full.decide_next()
    await full.finish_binding()
    assert [what for what, _ in full.evictions.done] == ["read", "nominate", "evict"]
    assert full.nominator.node_of(_BOSS_UID) == "n1"
    assert full.reports.told()[-1] == ("failed", "boss", f"{_FULL} {_WAITS}")
    assert full.reports.cleared == []
    assert full.place_of("boss") is Place.UNSCHEDULABLE


async def test_a_victim_that_leaves_during_the_preemption_wakes_the_preemptor(full: Shell) -> None:
    """The delete event comes before the preemptor is requeued: it must not wait for another."""
    full.decide_next()
    full.evictions.before_evict = lambda victim: full.handlers.pod_deleted(victim.pod)
    await full.finish_binding()
    assert full.place_of("boss") is Place.BACKOFF
    full.end_backoff()
    full.decide_next()
    await full.finish_binding()
    assert full.binder.asked == [("boss", "n1")]


@pytest.mark.parametrize("write", [("read", "boss"), ("nominate", "boss"), ("evict", "low")], ids=lambda w: w[0])
async def test_a_preemptor_whose_write_fails_backs_off_and_tries_again(full: Shell, write: tuple[str, str]) -> None:
    """Counted, logged and told; the nomination stands, and the next attempt completes what is left."""
    full.decide_next()
    full.evictions.faults[write] = Unreachable("refused")
    with capture_logs() as logs:
        await full.finish_binding()
    assert [(line["event"], line["pod"], line["node"]) for line in logs] == [
        ("preemption failed", "default/boss", "n1")
    ]
    assert full.counted("podium_cycle_errors_total") == 1
    assert full.place_of("boss") is Place.BACKOFF
    assert full.nominator.node_of(_BOSS_UID) == "n1"
    assert full.reports.told() == [("failed", "boss", f"{_FULL} {_FOUND}")]
    full.evictions.faults.clear()
    full.end_backoff()
    full.decide_next()
    await full.finish_binding()
    assert full.evictions.done[-3:] == [("read", "boss"), ("nominate", "boss"), ("evict", "low")]
    assert full.nominator.node_of(_BOSS_UID) == "n1"


async def test_a_preemptor_deleted_during_its_preemption_is_not_put_back(full: Shell) -> None:
    """Its victims stay, its room is open to others, and nobody is told anything."""
    full.decide_next()
    full.see(make_pod("next").req(cpu="1").priority(5).obj())
    full.handlers.pod_deleted(_BOSS.obj())
    await full.finish_binding()
    assert full.evictions.done == [("read", "boss")]
    assert full.place_of("boss") is None
    assert full.reports.told() == []
    full.decide_next()
    assert full.nominator.node_of("uid-of-default-next") == "n1"
    await full.finish_binding()


async def test_a_preemptor_found_gone_frees_the_room_for_others(full: Shell) -> None:
    """The API server knows before the watch: those who were kept out, here from evicting, are woken all the same."""
    full.decide_next()
    full.see(make_pod("small").req(cpu="1").priority(1).obj())
    full.decide_next()
    assert full.place_of("small") is Place.UNSCHEDULABLE
    full.evictions.pods["boss"] = None
    await full.finish_binding()
    assert full.nominator.node_of(_BOSS_UID) is None
    assert full.place_of("small") is Place.BACKOFF
    full.handlers.pod_deleted(_BOSS.obj())
    assert full.place_of("boss") is None


async def test_a_pod_that_needs_no_victims_backs_off() -> None:
    """Rejected in PreFilter though it fits beside all that it might evict: no event will wake it, and nothing spins."""
    shell = Shell()
    shell.see(make_node("n1").capacity(cpu="2").obj(), _LOW.obj(), _BOSS.obj())
    shell.scripted.answers["PreFilter"] = Status.of(Code.UNSCHEDULABLE, "not now")
    shell.decide_next()
    await shell.finish_binding()
    assert shell.evictions.done == [("read", "boss"), ("nominate", "boss")]
    assert shell.nominator.node_of(_BOSS_UID) == "n1"
    assert shell.place_of("boss") is Place.BACKOFF


async def test_lower_nominations_are_withdrawn_and_their_pods_tried_at_once(full: Shell) -> None:
    """Their room is gone; they may find other."""
    middle = make_pod("middle").req(cpu="1").priority(3)
    full.handlers.pod_deleted(_BOSS.obj())
    full.see(middle.obj())
    full.decide_next()
    await full.finish_binding()
    assert full.nominator.node_of("uid-of-default-middle") == "n1"
    full.see(_BOSS.obj())
    full.decide_next()
    assert full.nominator.node_of("uid-of-default-middle") is None
    assert full.place_of("middle") is Place.ACTIVE
    await full.finish_binding()
    assert ("clear", "middle") in full.evictions.done
    assert full.nominator.node_of(_BOSS_UID) == "n1"


async def test_of_two_preemptors_at_once_the_higher_has_the_room(full: Shell) -> None:
    """The lower one's plan stops wherever it is, and it backs off."""
    full.decide_next()
    full.see(make_pod("bigger").req(cpu="1").priority(9).obj())
    full.decide_next()
    await full.finish_binding()
    assert ("nominate", "boss") not in full.evictions.done
    assert [pod.name for pod in full.nominator.on_node("n1")] == ["bigger"]
    assert full.evictions.done.count(("evict", "low")) == 1
    assert full.place_of("boss") is Place.BACKOFF
    assert full.place_of("bigger") is Place.UNSCHEDULABLE


async def test_a_nomination_that_is_void_is_cleared(full: Shell) -> None:
    """The node it was for is of no use, and there is no other; its room is open to those it kept out."""
    full.handlers.pod_deleted(_BOSS.obj())
    full.handlers.pod_deleted(_LOW.obj())
    full.see(_BOSS.nominated_node("n1").obj())
    queued = full.queue.pop()
    assert queued is not None
    full.see(make_pod("small").req(cpu="1").toleration("a", "Exists").obj())
    full.decide_next()
    assert full.place_of("small") is Place.UNSCHEDULABLE
    node = make_node("n1").capacity(cpu="1")
    full.handlers.node_updated(node.obj(), node.taint("a").obj())
    assert full.place_of("small") is Place.UNSCHEDULABLE
    full.schedule_one.schedule_one(queued)
    assert full.nominator.node_of(_BOSS_UID) is None
    assert full.reports.cleared[-1] == "boss"
    assert full.place_of("small") is Place.BACKOFF
    full.end_backoff()
    full.decide_next()
    await full.finish_binding()
    assert full.binder.asked == [("small", "n1")]


async def test_room_held_on_another_node_than_the_chosen_one_is_free() -> None:
    """A nominated pod that fits elsewhere: those it kept out of its old node are woken."""
    shell = Shell()
    shell.see(
        make_node("n1").capacity(cpu="2").obj(),
        _LOW.obj(),
        make_pod("half").req(cpu="1").node("n1").obj(),
        make_pod("boss").req(cpu="2").priority(5).nominated_node("n1").obj(),
    )
    queued = shell.queue.pop()
    assert queued is not None
    shell.handlers.pod_deleted(_LOW.obj())
    shell.see(make_pod("small").req(cpu="1").toleration("a", "Exists").obj())
    shell.decide_next()
    assert shell.place_of("small") is Place.UNSCHEDULABLE
    shell.cache.add_node(make_node("n2").capacity(cpu="2").obj())
    shell.schedule_one.schedule_one(queued)
    assert shell.place_of("small") is Place.BACKOFF
    await shell.finish_binding()
    assert shell.binder.asked == [("boss", "n2")]


async def test_a_failed_binding_brings_the_nomination_back(full: Shell) -> None:
    """The room is its own still, if its status says so; a pod that is gone has none."""
    full.handlers.pod_deleted(_LOW.obj())
    full.handlers.pod_updated(_BOSS.obj(), _BOSS.nominated_node("n1").obj())
    full.binder.answer = _BROKEN
    full.decide_next()
    assert full.nominator.node_of(_BOSS_UID) is None
    await full.finish_binding()
    assert full.nominator.node_of(_BOSS_UID) == "n1"
    full.end_backoff()
    full.decide_next()
    full.handlers.pod_deleted(_BOSS.obj())
    await full.finish_binding()
    assert full.nominator.node_of(_BOSS_UID) is None


async def test_a_preemption_that_raises_fails_the_attempt(full: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """As any other fault of a plugin: logged, counted, told, retried."""

    def broken(attempt: FailedAttempt) -> PostFilterResult:
        raise RuntimeError("plugin bug")

    monkeypatch.setattr(full.profiles.framework(parse_pod(_BOSS.obj())), "post_filter", broken)
    with capture_logs() as logs:
        full.decide_next()
    assert [line["event"] for line in logs] == ["scheduling failed"]
    assert full.reports.told() == [("failed", "boss", "plugin bug")]
    assert full.place_of("boss") is Place.BACKOFF
    assert full.attempts("error") == 1

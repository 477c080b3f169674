"""Scheduling and binding cycle: what becomes of a pod, step by step, and when a step fails."""

import pytest
from structlog.testing import capture_logs

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

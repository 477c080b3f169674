"""Updates of pods that wait, and what an update is taken to change."""

from __future__ import annotations

import pytest

from scheduler.api.types import Toleration
from scheduler.core.framework.events import EventResource
from scheduler.core.framework.types import PodInfo
from scheduler.core.queue.entry import Place
from scheduler.core.queue.pod_changes import pod_update_events
from tests.unit.core.queue.harness import FIT, HOLDER, TAINTS, Harness, pod_info

TOLERANT = (Toleration(key="dedicated"),)


@pytest.mark.parametrize("place", [Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED])
def test_an_update_replaces_the_object_where_the_pod_is(place: Place) -> None:
    """A change that helps nothing leaves the pod in its place, with the new object and nothing counted."""
    harness = Harness()
    harness.in_place(place)
    new = pod_info("pod", labels={"a": "b"})

    harness.queue.update(new, harness.now)

    assert harness.place_of() is place
    (queued,) = harness.queue.snapshot()[place]
    assert queued.pod_info is new
    assert harness.incoming == []


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    """A pod first heard of by an update is treated as new."""
    harness = Harness()

    harness.queue.update(pod_info("pod"), harness.now)

    assert harness.place_of() is Place.ACTIVE
    assert harness.incoming == [("active", "UnscheduledPodAdd")]


def test_an_update_that_answers_the_rejection_wakes_the_pod() -> None:
    """A pod rejected for taints that gains a toleration is requeued under the label of that change."""
    harness = Harness()
    harness.add("pod", "other")
    harness.fail(harness.pop(), TAINTS)
    harness.fail(harness.pop(), TAINTS)
    harness.incoming.clear()

    harness.queue.update(pod_info("pod", tolerations=TOLERANT, labels={"also": "labels"}), harness.now)

    assert harness.place_of() is Place.BACKOFF
    assert harness.place_of("other") is Place.UNSCHEDULABLE
    assert harness.incoming == [("backoff", "TargetPodUpdatePodToleration")]


def test_a_gated_pod_is_released_when_its_last_gate_is_removed() -> None:
    """Removing one of two scheduling gates changes nothing; removing the last makes the pod active."""
    harness = Harness()
    harness.queue.add(pod_info("pod", gates=("a", "b")), harness.now)
    harness.incoming.clear()
    calls = harness.pre_enqueue_calls

    harness.queue.update(pod_info("pod", gates=("b",)), harness.now)
    assert harness.place_of() is Place.GATED
    assert harness.pre_enqueue_calls == calls
    harness.queue.update(pod_info("pod"), harness.now)

    assert harness.place_of() is Place.ACTIVE
    assert harness.incoming == [("active", "TargetPodUpdatePodSchedulingGatesEliminated")]


def test_another_gate_may_take_over() -> None:
    """A pod whose scheduling gates are gone but which another plugin holds stays gated, under that plugin."""
    harness = Harness(held={"pod": HOLDER})
    harness.queue.add(pod_info("pod", gates=("a",)), harness.now)

    harness.queue.update(pod_info("pod"), harness.now)

    (queued,) = harness.queue.snapshot()[Place.GATED]
    assert queued.gating_plugin == HOLDER


def test_an_update_a_gate_did_not_ask_for_does_not_look_at_it() -> None:
    """A gated pod that earlier failed for taints is not looked at again because its tolerations changed."""
    harness = Harness()
    harness.add("pod")
    queued = harness.pop()
    harness.held["pod"] = HOLDER
    harness.fail(queued, TAINTS)
    harness.queue.activate(["uid-pod"], harness.now)
    assert harness.place_of() is Place.GATED
    calls = harness.pre_enqueue_calls

    harness.queue.update(pod_info("pod", tolerations=TOLERANT), harness.now)

    assert harness.place_of() is Place.GATED
    assert harness.pre_enqueue_calls == calls


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (pod_info(), pod_info(), ["TargetPodUpdate"]),
        (pod_info(labels={}), pod_info(labels=None), ["TargetPodUpdate"]),
        (pod_info(), pod_info(labels={"a": "b"}), ["TargetPodUpdatePodLabel"]),
        (pod_info(tolerations=TOLERANT), pod_info(tolerations=TOLERANT), ["TargetPodUpdate"]),
        (pod_info(), pod_info(tolerations=TOLERANT), ["TargetPodUpdatePodToleration"]),
        (pod_info(cpu="200m"), pod_info(cpu="100m"), ["TargetPodUpdatePodScaleDown"]),
        (pod_info(cpu="100m"), pod_info(cpu="200m"), ["TargetPodUpdatePodScaleUp"]),
        (pod_info(gates=("a",)), pod_info(), ["TargetPodUpdatePodSchedulingGatesEliminated"]),
        (pod_info(gates=("a", "b")), pod_info(gates=("a",)), ["TargetPodUpdate"]),
        (
            pod_info(gates=("a",), cpu="200m"),
            pod_info(labels={"a": "b"}, tolerations=TOLERANT, cpu="100m"),
            [
                "TargetPodUpdatePodLabel",
                "TargetPodUpdatePodScaleDown",
                "TargetPodUpdatePodSchedulingGatesEliminated",
                "TargetPodUpdatePodToleration",
            ],
        ),
    ],
)
def test_an_update_is_named_by_what_it_changed(old: PodInfo, new: PodInfo, labels: list[str]) -> None:
    """Each scheduling property that changed gives one event; a change of anything else gives the general one."""
    assert [event.label for event in pod_update_events(old, new, EventResource.TARGET_POD)] == labels


def test_an_update_of_an_assigned_pod_has_its_own_labels() -> None:
    """The same changes of a pod that has a node are events of assigned pods."""
    (event,) = pod_update_events(pod_info(), pod_info(labels={"a": "b"}), EventResource.ASSIGNED_POD)
    assert event.label == "AssignedPodUpdatePodLabel"


def test_scale_down_of_a_vanished_resource_is_seen() -> None:
    """A resource that the pod no longer asks for at all counts as scaled down."""
    (event,) = pod_update_events(pod_info(), pod_info(cpu=None), EventResource.ASSIGNED_POD)
    assert event.label == "AssignedPodUpdatePodScaleDown"


def test_a_fitting_change_wakes_once() -> None:
    """A pod that two of its own changes would wake is moved once and counted once."""
    harness = Harness()
    harness.add("pod")
    harness.fail(harness.pop(), "Unknown")
    harness.incoming.clear()

    harness.queue.update(pod_info("pod", labels={"a": "b"}, tolerations=TOLERANT), harness.now)

    assert harness.incoming == [("backoff", "TargetPodUpdatePodLabel")]
    assert harness.queue.pending_counts()["backoff"] == 1
    assert FIT not in harness.pop().unschedulable_plugins

"""What scheduling tells of itself: which extension points and plugins are timed, and how often each was asked."""

from collections import Counter

import pytest
from msgspec.structs import replace

from scheduler.core.framework.status import Code, Status
from scheduler.testing import make_node, make_pod
from tests.unit.shell import Shell


@pytest.fixture
def shell() -> Shell:
    """Two nodes."""
    shell = Shell()
    shell.see(*(make_node(f"n{number}").capacity(cpu="4").obj() for number in range(2)))
    return shell


def timed(shell: Shell) -> dict[tuple[str, str], float]:
    """How often each extension point was timed, by status."""
    family = shell.metrics.framework_extension_point_duration
    samples = (sample for metric in family.collect() for sample in metric.samples if sample.name.endswith("_count"))
    return {(sample.labels["extension_point"], sample.labels["status"]): sample.value for sample in samples}


def timed_plugins(shell: Shell) -> Counter[tuple[str, str, str]]:
    """How often a plugin was timed, by plugin, extension point and status."""
    family = shell.metrics.plugin_execution_duration
    samples = (sample for metric in family.collect() for sample in metric.samples if sample.name.endswith("_count"))
    keyed = (((each.labels["plugin"], each.labels["extension_point"], each.labels["status"]), each) for each in samples)
    return Counter({key: int(sample.value) for key, sample in keyed})


async def test_each_extension_point_that_a_pod_passes_is_timed(shell: Shell) -> None:
    """From its gate to what follows its binding, whether or not a plugin has something to do there."""
    shell.see(make_pod("p").obj())
    shell.decide_next()
    await shell.finish_binding()
    points = ("PreEnqueue", "PreFilter", "Filter", "Score", "Reserve", "PreBind", "Bind", "PostBind")
    assert timed(shell) == {(point, "Success"): 1 for point in points}


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("PreEnqueue", {"PreEnqueue"}),
        ("PreFilter", {"PreFilter", "PostFilter"}),
        ("Reserve", {"Reserve"}),
        ("PreBind", {"PreBind"}),
    ],
)
async def test_a_rejection_is_timed_as_such(shell: Shell, point: str, expected: set[str]) -> None:
    """What it ends is not timed; what was set aside for the pod is given back, which always succeeds."""
    shell.scripted.answers[point] = Status.of(Code.UNSCHEDULABLE, "no")
    shell.see(make_pod("p").obj())
    if point != "PreEnqueue":
        shell.decide_next()
    await shell.finish_binding()
    assert {name for name, status in timed(shell) if status == "Unschedulable"} == expected
    assert (("Unreserve", "Success") in timed(shell)) == (point in ("Reserve", "PreBind"))


async def test_every_tenth_cycle_times_each_plugin(shell: Shell) -> None:
    """And one in ten entries into the queue."""
    for number in range(10):
        shell.see(make_pod(f"p{number}").obj())
        shell.decide_next()
        await shell.finish_binding()
    timings = timed_plugins(shell)
    points = ("PreEnqueue", "PreFilter", "Reserve", "PreBind", "PostBind")
    assert {key[1] for key in timings if key[0] == "Scripted"} == set(points)
    assert all(timings["Scripted", point, "Success"] == 1 for point in points)
    assert timings["DefaultBinder", "Bind", "Success"] == 1
    assert timings["NodeResourcesFit", "Filter", "Success"] >= 1
    assert timings["NodeResourcesFit", "Score", "Success"] >= 1


async def test_plugins_count_what_they_are_asked_about(shell: Shell) -> None:
    """Nodes for Filter and Score, pods for PreFilter: once all of them, then what the first pod changed."""
    first = make_pod("p0").node_selector({"kubernetes.io/os": "linux"}).obj()
    second = replace(first, metadata=replace(first.metadata, name="p1", uid="p1"))
    shell.see(first, second)
    shell.see(make_node("n2").label({"kubernetes.io/os": "linux"}).capacity(cpu="4").obj())
    shell.decide_next()
    asked = shell.profiles.plugin_evaluations()
    assert asked["NodeResourcesFit", "Filter", "podium"] == asked["NodeAffinity", "Filter", "podium"] == 3
    assert asked["ImageLocality", "Score", "podium"] == 0
    shell.decide_next()
    asked = shell.profiles.plugin_evaluations()
    assert asked["NodeAffinity", "Filter", "podium"] == 3
    assert asked["NodeResourcesFit", "Filter", "podium"] == 4
    assert asked["NodeAffinity", "PreFilter", "podium"] == asked["Scripted", "PreFilter", "podium"] == 2
    assert asked["NodePorts", "Filter", "podium"] == 0
    await shell.finish_binding()


async def test_pods_are_binding_while_their_binding_cycle_runs(shell: Shell) -> None:
    """From its first step to its end, whatever that is."""
    during: list[int] = []

    async def refuse(*asked: object) -> Status:
        during.append(shell.schedule_one.binding)
        return Status.of(Code.UNSCHEDULABLE, "no")

    shell.scripted.pre_bind = refuse  # type: ignore[method-assign, assignment]
    shell.see(make_pod("p").obj())
    shell.decide_next()
    await shell.finish_binding()
    assert during == [1]
    assert shell.schedule_one.binding == 0

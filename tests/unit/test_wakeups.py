"""Every plugin, every event: a pod that was turned away is woken by what helps it, and by as little else as may be.

All goes the real way: event handlers, queue, scheduling cycle. The table is `tests/unit/wakeups/scenes.py`.
"""

import pytest

from scheduler.config.plugin_names import IN_TREE_PLUGINS, ExtensionPoint
from scheduler.core.framework.cycle_state import CycleState
from tests.unit.shell import Shell
from tests.unit.wakeups.random_life import NODES
from tests.unit.wakeups.scene import Event, Scene, decide_as_now
from tests.unit.wakeups.scenes import SCENES

HELPS = {f"{scene}: {name}": (SCENES[scene], event) for scene in SCENES for name, event in SCENES[scene].helps.items()}
IDLE = {f"{scene}: {name}": (SCENES[scene], event) for scene in SCENES for name, event in SCENES[scene].idle.items()}
NODE_SHAPES = [shape.obj() for shape in NODES]


def may_preempt(scene: Scene, shell: Shell) -> bool:
    """Whether the pod could make room by evicting others."""
    decision = decide_as_now(shell, scene.pod.obj())
    return next(shell.profiles.algorithm("podium").preempt(CycleState(), decision), None) is not None


@pytest.mark.parametrize(("scene", "event"), HELPS.values(), ids=HELPS)
async def test_what_helps_wakes_the_pod(scene: Scene, event: Event) -> None:
    """The table's own claim, that the event helps, is checked as well."""
    shell = scene.turned_away()
    assert not scene.is_schedulable(shell)
    event(shell)
    assert scene.is_awake(shell)
    assert scene.is_schedulable(shell) is not scene.preempts
    if scene.preempts:
        assert may_preempt(scene, shell)


@pytest.mark.parametrize(("scene", "event"), HELPS.values(), ids=HELPS)
async def test_what_helps_during_the_attempt_is_not_missed(scene: Scene, event: Event) -> None:
    """The attempt decided without it; at its end it counts."""
    assert scene.is_awake(scene.during_the_attempt(event))


@pytest.mark.parametrize(("scene", "event"), IDLE.values(), ids=IDLE)
async def test_what_does_not_help_wakes_nobody(scene: Scene, event: Event) -> None:
    """Neither while the pod waits nor at the end of an attempt."""
    shell = scene.turned_away()
    event(shell)
    assert not scene.is_schedulable(shell)
    assert not scene.is_awake(shell)
    assert not scene.is_awake(scene.during_the_attempt(event))


@pytest.mark.parametrize("name", SCENES)
async def test_whatever_makes_the_pod_schedulable_wakes_it(name: str) -> None:
    """Whatever may happen to what is in the cluster; its first node may become any other."""
    scene = SCENES[name]
    missed = []
    for event_name, event in scene.derived_events(NODE_SHAPES):
        shell = scene.turned_away()
        event(shell)
        if scene.is_schedulable(shell) and not scene.is_awake(shell):
            missed.append(event_name)
    assert missed == []


def test_every_plugin_that_turns_pods_away_has_a_scene() -> None:
    """So that no new plugin's hints stay untested."""
    named = {plugin for scene in SCENES.values() for plugin in scene.plugin.split("+")}
    points = {ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER, ExtensionPoint.RESERVE}
    turning_away = {name for name, info in IN_TREE_PLUGINS.items() if info.supported and info.points & points}
    assert turning_away - named == {"NodeName"}, "pods that name a node are not scheduled; all others need scenes"

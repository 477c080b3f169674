"""A pod that someone holds back."""

from tests.controlplane.client import PatchType
from tests.demo.stage import NAMESPACE, SCHEDULED, Stage
from tests.demo.story import Story

_GATE = "example.com/quota"


def tell(stage: Stage, story: Story) -> None:
    """Others that came later pass it by; once the gate is lifted it is scheduled."""
    gated = stage.create_pod("billing", schedulingGates=[{"name": _GATE}])
    passer_by = stage.create_pod("passer-by")
    stage.await_scheduled(passer_by)
    held, passed = stage.pod(gated), stage.pod(passer_by)
    tried = stage.events(gated)
    counted = stage.podium.scrape().number("scheduler_pending_pods", queue="gated")
    story.say(f"Pod {held.name} has the scheduling gate {_GATE}; it is on {held.node_name or 'no node'}.")
    story.quote("its condition PodScheduled", held.reason)
    story.say(f"Pod {passed.name}, created later, is on {passed.node_name or 'no node'} meanwhile.")
    story.say(f"Podium counts {counted:g} gated pod, and wrote {len(tried) or 'no'} events about it.")
    stage.client.patch("pods", gated, {"spec": {"schedulingGates": None}}, NAMESPACE, patch_type=PatchType.MERGE)
    stage.await_scheduled(gated)
    released, events = stage.pod(gated), stage.events(gated)
    story.say(f"The gate is lifted; now {released.name} is on {released.node_name or 'no node'}.")
    story.check("the gated pod stayed on no node", (held.node_name, held.reason), ("", "SchedulingGated"))
    story.check("it was not tried, only counted as gated", (tried, counted), ([], 1.0))
    story.check("a pod created after it was not held up", bool(passed.node_name))
    story.check("it was scheduled when its gate was lifted", [event.reason for event in events], [SCHEDULED])

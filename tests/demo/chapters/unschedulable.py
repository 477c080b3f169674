"""A pod too big for every node there is."""

from tests.demo.stage import FAILED, NOT_HELPFUL, SCHEDULED, Stage
from tests.demo.story import Story

_NODE = "large-a1"


def tell(stage: Stage, story: Story) -> None:
    """It waits with its reason, without being tried over and over, until a node comes that may take it."""
    name = stage.create_pod("simulation", {"cpu": "16", "memory": "4Gi"})
    stage.await_refused(name)
    waiting, refusals = stage.pod(name), stage.events(name, FAILED)
    story.say(f"Pod {waiting.name} requests {waiting.requests['cpu'] // 1000} cpu; no node has as much.")
    story.quote(f"its condition PodScheduled, {waiting.reason}", waiting.message)
    for event in refusals:
        story.quote(f"event {event.reason}, {_time_of_day(event.time)}", event.note)
    count = len(stage.nodes())
    stage.add_node(_NODE, zone="a", cpu="32", memory="64Gi")
    stage.await_scheduled(name)
    placed, events = stage.pod(name), stage.events(name, SCHEDULED)
    story.say(f"Node {_NODE} with {stage.node(_NODE).allocatable['cpu'] // 1000} cpu is added.")
    for event in events:
        story.quote(f"event {event.reason}, {_time_of_day(event.time)}", event.note)
    message = f"0/{count} nodes are available: {count} Insufficient cpu. {NOT_HELPFUL.format(count)}"
    story.check(
        "condition and event gave the reason why it fits nowhere",
        (waiting.node_name, waiting.reason, waiting.message, [event.note for event in refusals]),
        ("", "Unschedulable", message, [message]),
    )
    story.check("it went to the new node", placed.node_name, _NODE)
    story.check("its condition does not say Unschedulable any more", placed.message, "")


def _time_of_day(time: str) -> str:
    """Hours to milliseconds of a time such as 2026-01-31T10:20:30.123456Z."""
    return time.partition("T")[2][:12]

"""A pod that is more important than others, where all nodes it may run on are full."""

from collections.abc import Iterable

from tests.demo.seen import SeenNode, SeenPod
from tests.demo.stage import FAILED, PREEMPTED, SCHEDULED, Stage
from tests.demo.story import Story

_PRIORITIES = {"nightly": 10, "batch": 100, "standard": 200, "service": 500, "urgent": 1000, "vital": 10_000}
_POOL = {"pool": "shop"}
# Name, priority class and cpu of the pods that fill each node.
_FULL = {
    "shop-a1": (("backup", "standard", "2"), ("report", "batch", "1"), ("index", "nightly", "1")),
    "shop-b1": (("stream", "service", "3"), ("probe", "nightly", "1")),
    "shop-c1": (("database", "vital", "4"),),
}
_CHOSEN, _NEW = "shop-a1", "shop-d1"
_REPRIEVED, _VICTIMS = "backup", ["index", "report"]
_PREEMPTOR, _THIEF = "checkout", "thief"
_MARK = "podium: preempting to accommodate a higher priority pod"


def tell(stage: Stage, story: Story) -> None:
    """Two pods fall for it, one is reprieved, and a thief that comes while there is room does not get it."""
    _fill_the_pool(stage)
    with stage.slow_kubelets():
        _tell_who_falls(stage, story)
        _tell_of_the_thief(stage, story)
    _tell_the_end(stage, story)


def _fill_the_pool(stage: Stage) -> None:
    for name, value in _PRIORITIES.items():
        stage.add_priority(name, value)
    for node, pods in _FULL.items():
        stage.add_node(node, zone=node[-2], labels=_POOL)
        for name, priority, cpu in pods:
            place = {"kubernetes.io/hostname": node}
            stage.create_pod(name, {"cpu": cpu}, nodeSelector=place, priorityClassName=priority)
    count = sum(map(len, _FULL.values()))
    stage.await_(lambda: sum(pod.phase == "Running" for node in _FULL for pod in _on(node, stage)) == count)


def _tell_who_falls(stage: Stage, story: Story) -> None:
    before = {node: _on(node, stage) for node in _FULL}
    stage.create_pod(_PREEMPTOR, {"cpu": "2"}, nodeSelector=_POOL, priorityClassName="urgent")
    stage.await_refused(_PREEMPTOR)
    stage.await_(lambda: len(stage.events(reason=PREEMPTED)) == len(_VICTIMS))
    preemptor = stage.pod(_PREEMPTOR)
    story.say(
        f"Pod {_PREEMPTOR} has priority {preemptor.priority} and requests {preemptor.requests['cpu'] // 1000} cpu."
    )
    story.say("Nodes that it may run on, all full, with the priorities of the pods there in brackets:")
    falling = {node: _who_falls(stage.node(node), pods, preemptor) for node, pods in before.items()}
    story.table(
        ("node", "pods", "would stay", "would fall", "the highest of them"),
        [
            (node, _listed(pods), _listed(pod for pod in pods if pod not in falls), _listed(falls), _highest(falls))
            for node, pods in before.items()
            for falls in [falling[node]]
        ],
    )
    story.say("The highest priority among those that would fall counts first, how many they are comes later.")
    story.quote(f"condition PodScheduled of {_PREEMPTOR}, {preemptor.reason}", preemptor.message)
    story.quote("its status.nominatedNodeName", preemptor.nominated_node)
    events = stage.events(reason=PREEMPTED)
    for event in events:
        story.quote(f"event {event.reason} of {event.pod}", event.note)
    after = {node: _on(node, stage) for node in _FULL}
    reprieved = [pod.name for pod in after[_CHOSEN] if pod.priority < preemptor.priority and not pod.is_leaving]
    story.say(
        f"Reprieved on {_CHOSEN}: {', '.join(reprieved)}; less important than {_PREEMPTOR}, but it fits beside it."
    )
    story.check(
        "the important pod is nominated, by status and annotation, to the node where the least important pods fall",
        (preemptor.node_name, preemptor.nominated_node, preemptor.annotated_node),
        ("", _CHOSEN, _CHOSEN),
    )
    leaving = {pod.name: pod.disruption for pods in after.values() for pod in pods if pod.is_leaving or pod.disruption}
    story.check("two pods are marked and being deleted, and nobody else", leaving, dict.fromkeys(_VICTIMS, _MARK))
    by_hand = sorted(pod.name for pod in falling[_CHOSEN])
    story.check("they are those whom the rule names, worked out by hand", sorted(leaving), by_hand)
    story.check("the third one that is less important was reprieved", reprieved, [_REPRIEVED])
    notes = sorted((event.pod, event.note, event.reporter) for event in events)
    note = f"Preempted by pod {preemptor.uid} on node {_CHOSEN}"
    story.check("each has an event that names its preemptor", notes, [(name, note, "podium") for name in _VICTIMS])


def _tell_of_the_thief(stage: Stage, story: Story) -> None:
    """One victim has ended, the other one not yet: there is room, but not enough for the preemptor."""
    gone, staying = _VICTIMS
    stage.end_pod(gone)
    stage.create_pod(_THIEF, {"cpu": "1"}, nodeSelector=_POOL)
    stage.await_refused(_THIEF)
    node, thief, preemptor = stage.node(_CHOSEN), stage.pod(_THIEF), stage.pod(_PREEMPTOR)
    held, free = _on(_CHOSEN, stage), node.allocatable["cpu"] - _cpu_milli(_on(_CHOSEN, stage))
    story.say(f"{gone} has ended, {staying} has not: {_CHOSEN} holds {_listed(held)}, and {free}m cpu are free.")
    story.say(f"Pod {_THIEF} comes, with priority {thief.priority}; it requests {thief.requests['cpu']}m cpu.")
    story.quote(f"its condition PodScheduled, {thief.reason}", thief.message)
    story.quote(f"{_PREEMPTOR} waits meanwhile", preemptor.message)
    fits = thief.requests["cpu"] <= free
    story.check("there was room for the thief", ([pod.name for pod in held], fits), ([_REPRIEVED, staying], True))
    story.check(
        "it was refused, for the room is the preemptor's", (thief.node_name, thief.reason), ("", "Unschedulable")
    )
    waiting = (preemptor.node_name, preemptor.nominated_node)
    story.check("the preemptor waited for the other victim", waiting, ("", _CHOSEN))


def _tell_the_end(stage: Stage, story: Story) -> None:
    stage.await_scheduled(_PREEMPTOR)
    preemptor, thief, held = stage.pod(_PREEMPTOR), stage.pod(_THIEF), _on(_CHOSEN, stage)
    story.say(
        f"{_VICTIMS[1]} has ended, too: {_CHOSEN} holds {_listed(held)}; {_THIEF} is on {thief.node_name or 'no node'}."
    )
    stage.add_node(_NEW, zone="a", labels=_POOL)
    stage.await_scheduled(_THIEF)
    story.say(f"Node {_NEW} is added; now {_THIEF} is on {stage.pod(_THIEF).node_name or 'no node'}.")
    story.check("the preemptor got the room", (preemptor.node_name, thief.node_name), (_CHOSEN, ""))
    reasons = [event.reason for event in stage.events(_PREEMPTOR)]
    story.check("it was refused before it was scheduled", reasons[:1] + reasons[-1:], [FAILED, SCHEDULED])
    story.check("it runs beside the one reprieved", [pod.name for pod in held], [_REPRIEVED, _PREEMPTOR])
    story.check("the thief found another place when there was one", stage.pod(_THIEF).node_name, _NEW)


def _who_falls(node: SeenNode, pods: list[SeenPod], newcomer: SeenPod) -> list[SeenPod]:
    """The rule by hand: all less important pods go, then the more important of them come back as long as there is room.

    Empty when it would not even help if all went.
    """
    lower = [pod for pod in pods if pod.priority < newcomer.priority]
    free = node.allocatable["cpu"] - _cpu_milli(pods) + _cpu_milli(lower) - newcomer.requests["cpu"]
    falls = []
    for pod in sorted(lower if free >= 0 else (), key=lambda pod: -pod.priority):
        if pod.requests["cpu"] <= free:
            free -= pod.requests["cpu"]
        else:
            falls.append(pod)
    return falls


def _on(node: str, stage: Stage) -> list[SeenPod]:
    return [pod for pod in stage.pods() if pod.node_name == node]


def _cpu_milli(pods: Iterable[SeenPod]) -> int:
    return sum(pod.requests["cpu"] for pod in pods)


def _highest(pods: list[SeenPod]) -> str:
    return str(max((pod.priority for pod in pods), default="none"))


def _listed(pods: Iterable[SeenPod]) -> str:
    return ", ".join(f"{pod.name} {pod.requests['cpu'] // 1000} cpu ({pod.priority})" for pod in pods) or "-"

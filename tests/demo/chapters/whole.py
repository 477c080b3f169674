"""What must be true of all pods and nodes together."""

from collections import Counter

from tests.controlplane.credentials import User
from tests.demo.stage import PREEMPTED, SCHEDULED, Stage
from tests.demo.story import Story


def tell(stage: Stage, story: Story) -> None:
    """Every pod was bound once, no node holds more than it has, and it took no more rights than a scheduler's."""
    stage.await_(lambda: all(pod.phase == "Running" for pod in stage.pods()))
    pods, nodes = stage.pods(), stage.nodes()
    requested: dict[str, Counter[str]] = {node.name: Counter() for node in nodes}
    for pod in pods:
        requested.setdefault(pod.node_name, Counter()).update(pod.requests)
    rows = []
    for node in nodes:
        names = [pod.name for pod in pods if pod.node_name == node.name]
        cpu = f"{requested[node.name]['cpu']}m of {node.allocatable['cpu']}m"
        rows.append((node.name, node.zone, cpu, " ".join(names)))
    story.table(("node", "zone", "cpu requested", "pods"), rows)
    story.say(f"Podium did all that with these rights: {', '.join(_rights(stage))}.")
    story.check("every pod is on a node", [pod.name for pod in pods if not pod.node_name], [])
    story.check("KWOK runs every pod where it was bound", {pod.phase for pod in pods}, {"Running"})
    announced = Counter(event.pod for event in stage.events(reason=SCHEDULED))
    ever = [*(pod.name for pod in pods), *(event.pod for event in stage.events(reason=PREEMPTED))]
    story.check("every pod, also an evicted one, has exactly one Scheduled event", announced, Counter(ever))
    too_full = [
        (node.name, resource)
        for node in nodes
        for resource, amount in requested[node.name].items()
        if amount > node.allocatable.get(resource, 0)
    ]
    story.check("no node holds more than it has", too_full, [])
    beyond = [verb for verb in ("create", "update", "patch") if stage.client.may(User.PODIUM, verb, "pods")]
    story.check("Podium's user may not create or change pods", beyond, [])


def _rights(stage: Stage) -> list[str]:
    """Resource and verbs of each right that the roles bound to Podium's user give."""
    bindings = stage.client.list("clusterrolebindings")
    roles = [
        binding["roleRef"]["name"]
        for binding in bindings
        if any(subject["name"] == User.PODIUM for subject in binding.get("subjects") or ())
    ]
    verbs: dict[str, list[str]] = {}
    for rule in (rule for role in roles for rule in stage.client.get("clusterroles", role)["rules"]):
        for resource in rule["resources"]:
            verbs.setdefault(resource, []).extend(rule["verbs"])
    return [f"{resource} ({' '.join(allowed)})" for resource, allowed in verbs.items()]

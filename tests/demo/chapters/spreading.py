"""Equal pods on equal nodes."""

from collections import Counter

from tests.controlplane.resources import pod_manifest
from tests.demo.stage import NAMESPACE, SCHEDULED, Stage
from tests.demo.story import Story

_PODS = 16


def tell(stage: Stage, story: Story) -> None:
    """Sixteen pods go out evenly over the eight nodes that have no taint."""
    names = [f"web-{number:02}" for number in range(_PODS)]
    requests = {"cpu": "500m", "memory": "1Gi"}
    stage.create_pods(pod_manifest(name, NAMESPACE, requests=requests) for name in names)
    story.say(f"{_PODS} pods that request {requests['cpu']} cpu and {requests['memory']} memory are created at once.")
    stage.await_(lambda: len(stage.events(reason=SCHEDULED)) >= _PODS)
    pods = [pod for pod in stage.pods() if pod.name in names]
    taken = Counter(pod.node_name for pod in pods if pod.node_name)
    nodes = stage.nodes()
    rows = []
    for node in nodes:
        used = sum(pod.requests["cpu"] for pod in pods if pod.node_name == node.name)
        rows.append((node.name, taken[node.name], f"{used}m of {node.allocatable['cpu']}m", ", ".join(node.taints)))
    story.table(("node", "pods", "cpu requested", "taints"), rows)
    events = {event.pod: event for event in stage.events(reason=SCHEDULED)}
    if pods and (event := events.get(pods[0].name)):
        story.quote(f"event {event.reason} from {event.reporter}", event.note)
    story.check(f"all {_PODS} pods are on a node", seen=taken.total(), expected=_PODS)
    open_nodes = [node.name for node in nodes if not node.taints]
    even = dict.fromkeys(open_nodes, _PODS // len(open_nodes))
    story.check("the nodes without a taint took equally many, the tainted one none", dict(taken), even)
    notes = {f"Successfully assigned {NAMESPACE}/{pod.name} to {pod.node_name}" for pod in pods}
    seen_notes = {event.note for event in events.values() if event.reporter == "podium"}
    story.check("each has a Scheduled event by podium that names its node", seen_notes, notes)

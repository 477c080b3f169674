"""What the API server says became of pods: the only thing that tests of the scheduler believe."""

from collections.abc import Iterable

from tests.controlplane.client import Client, wait_until
from tests.controlplane.resources import Manifest, Manifests

PATIENCE_SECONDS = 120.0
"""For whatever must come true; far longer than it takes, for the machine may be busy."""


def node_of(client: Client, name: str, namespace: str) -> str | None:
    """The node that a pod is bound to."""
    node_name: str | None = client.get("pods", name, namespace)["spec"].get("nodeName")
    return node_name


def wait_until_bound(
    client: Client, namespace: str, names: Iterable[str], timeout_seconds: float = PATIENCE_SECONDS
) -> dict[str, str]:
    """Wait until all these pods are bound; the node of each."""
    awaited = set(names)
    unbound = set(awaited)

    def nodes_of_all() -> dict[str, str] | None:
        pods = client.list("pods", namespace)
        nodes = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]}
        unbound.clear()
        unbound.update(awaited - nodes.keys())
        return {name: nodes[name] for name in awaited} if not unbound else None

    return wait_until(
        nodes_of_all, timeout_seconds, what=lambda: f"binding of {len(unbound)} pods ({sorted(unbound)[:5]} …)"
    )


def scheduled_condition(pod: Manifest) -> Manifest | None:
    """The pod's condition PodScheduled."""
    conditions = pod["status"].get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "PodScheduled"), None)


def wait_until_refused(client: Client, name: str, namespace: str, text: str = "") -> Manifest:
    """Wait until the condition PodScheduled is False with a message that contains `text`; the condition."""

    def refusal() -> Manifest | None:
        condition = scheduled_condition(client.get("pods", name, namespace))
        refused = condition is not None and condition["status"] == "False" and text in condition["message"]
        return condition if refused else None

    return wait_until(refusal, PATIENCE_SECONDS, what=f"refusal of {name} because of {text!r}")


def events_of(client: Client, pod: Manifest, reason: str) -> Manifests:
    """The events with this reason about a pod, by its UID."""
    events = client.list("events", pod["metadata"]["namespace"])
    return [
        event for event in events if event["regarding"]["uid"] == pod["metadata"]["uid"] and event["reason"] == reason
    ]


def wait_for_event(client: Client, pod: Manifest, reason: str, text: str = "") -> Manifest:
    """Wait for an event about the pod whose note contains `text`; the event."""
    return wait_until(
        lambda: next((event for event in events_of(client, pod, reason) if text in event["note"]), None),
        PATIENCE_SECONDS,
        what=f"event {reason} about {pod['metadata']['name']} with {text!r}",
    )

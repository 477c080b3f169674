"""Whom a node lets in."""

from tests.controlplane.client import PatchType
from tests.demo.stage import FAILED, NOT_HELPFUL, SCHEDULED, Stage
from tests.demo.story import Story

_NODE = "gpu-c1"
_SELECTOR = {"accelerator": "gpu"}


def tell(stage: Stage, story: Story) -> None:
    """A pod that tolerates the taint gets in; one that does not must wait until the taint is gone."""
    tainted = stage.node(_NODE)
    label = tainted.labels.get("accelerator", "")
    story.say(f"Node {_NODE} has the label accelerator={label} and the taint {', '.join(tainted.taints)}.")
    toleration = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    tolerant = stage.create_pod("train-tolerant", nodeSelector=_SELECTOR, tolerations=[toleration])
    intolerant = stage.create_pod("train-plain", nodeSelector=_SELECTOR)
    stage.await_scheduled(tolerant)
    stage.await_refused(intolerant)
    placed, waiting = stage.pod(tolerant), stage.pod(intolerant)
    story.say(f"Pod {placed.name}, which tolerates it, is on {placed.node_name or 'no node'}.")
    story.say(f"Pod {waiting.name}, which does not, is on {waiting.node_name or 'no node'}.")
    story.quote(f"its condition PodScheduled, {waiting.reason}", waiting.message)
    stage.client.patch("nodes", _NODE, {"spec": {"taints": None}}, patch_type=PatchType.MERGE)
    stage.await_scheduled(intolerant)
    later, now = stage.node(_NODE), stage.pod(intolerant)
    story.say(
        f"The taint is removed (left: {', '.join(later.taints) or 'none'}); now {now.name} is on {now.node_name}."
    )
    story.check("the pod that tolerates the taint runs on the tainted node", placed.node_name, _NODE)
    total = len(stage.nodes())
    reasons = f"1 node(s) had untolerated taint(s), {total - 1} node(s) didn't match Pod's node affinity/selector"
    message = f"0/{total} nodes are available: {reasons}. {NOT_HELPFUL.format(total)}"
    story.check(
        "the other one was kept out, and told of the taint and of the nodes without the label",
        (waiting.node_name, waiting.reason, waiting.message),
        ("", "Unschedulable", message),
    )
    order = [event.reason for event in stage.events(intolerant)]
    story.check("it came to that node when the taint was gone", (now.node_name, order), (_NODE, [FAILED, SCHEDULED]))

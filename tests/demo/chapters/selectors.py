"""What a pod asks of its node."""

from tests.demo.stage import Stage
from tests.demo.story import Story

_ZONE = "topology.kubernetes.io/zone"
_REQUESTS = {"cpu": "500m", "memory": "1Gi"}


def _zone_is(zone: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}


def tell(stage: Stage, story: Story) -> None:
    """A selector and a required affinity leave few nodes; a preferred affinity outweighs free room."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_zone_is("b")]}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": _zone_is("c")}]}
    asked = {
        stage.create_pod("cache-0", _REQUESTS, nodeSelector={"disktype": "ssd"}): "nodeSelector disktype=ssd",
        stage.create_pod("cache-1", _REQUESTS, nodeSelector={"disktype": "ssd"}): "nodeSelector disktype=ssd",
        stage.create_pod("ledger", _REQUESTS, affinity={"nodeAffinity": required}): "required node affinity: zone b",
        stage.create_pod("search", _REQUESTS, affinity={"nodeAffinity": preferred}): "preferred node affinity: zone c",
    }
    stage.await_scheduled(*asked)
    nodes = {node.name: node for node in stage.nodes()}
    found = {name: nodes.get(stage.pod(name).node_name) for name in asked}
    story.table(
        ("pod", "asks for", "went to", "which has"),
        [
            (name, wish, node.name, f"zone={node.zone} disktype={node.labels.get('disktype', '-')}")
            for name, wish in asked.items()
            if (node := found[name]) is not None
        ],
    )
    disks = [node and node.labels.get("disktype") for node in (found["cache-0"], found["cache-1"])]
    zones = [node and node.zone for node in (found["ledger"], found["search"])]
    story.check("both pods with the node selector run on nodes labelled disktype=ssd", disks, ["ssd", "ssd"])
    story.check("they do not share one of the two such nodes", found["cache-0"] != found["cache-1"])
    story.check("the required affinity put its pod into zone b, the preferred one into zone c", zones, ["b", "c"])

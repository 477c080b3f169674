"""NodeName: a pod that names its node."""

from scheduler.core.plugins.node_name import NodeName
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import UU, rejections, snapshot_of

PLUGIN = NodeName()
OTHER = (UU, ["node(s) didn't match the requested node name"])


def test_only_the_named_node_passes() -> None:
    """All others are refused, all of them when there is no such node, none when no node is named."""
    snapshot = snapshot_of(make_node("n1"), make_node("n2"))
    assert rejections(PLUGIN, make_pod("p").node("n2"), snapshot) == {"n1": OTHER}
    assert rejections(PLUGIN, make_pod("p").node("n3"), snapshot) == {"n1": OTHER, "n2": OTHER}
    assert rejections(PLUGIN, make_pod("p"), snapshot) == {}

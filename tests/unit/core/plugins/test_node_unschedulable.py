"""NodeUnschedulable: cordoned nodes."""

import pytest
from msgspec.structs import replace

from scheduler.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler.testing import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, parsed, rejections, snapshot_of

PLUGIN = NodeUnschedulable()
CORDONED = (UU, ["node(s) were unschedulable"])
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        (make_pod("p"), False),
        (make_pod("p").toleration(KEY, "Exists"), True),
        (make_pod("p").toleration(KEY, "Exists", None, "NoSchedule"), True),
        (make_pod("p").toleration(KEY, "Equal", ""), True),
        (make_pod("p").toleration(KEY, "Equal", "true"), False),
        (make_pod("p").toleration(KEY, "Exists", None, "NoExecute"), False),
        (make_pod("p").toleration(None, "Exists"), True),
    ],
)
def test_a_cordon_is_borne_as_its_taint_is(pod: PodBuilder, fits: bool) -> None:
    """Whoever tolerates the taint that stands for it may go there, even while the taint is not on the node yet."""
    node = make_node("n1").obj()
    cordoned = NodeBuilder(replace(node, spec=replace(node.spec, unschedulable=True)))
    snapshot = snapshot_of(cordoned, make_node("n2"), make_node("n3").taint(KEY))
    assert rejections(PLUGIN, pod, snapshot) == ({} if fits else {"n1": CORDONED})


def test_all_that_do_not_bear_a_cordon_read_alike() -> None:
    """Other tolerations and requests make no difference."""
    snapshot = snapshot_of(make_node("n1"))
    one, other = make_pod("a").req(cpu="1"), make_pod("b").toleration("gpu", "Exists")
    assert PLUGIN.filter_signature(parsed(one), snapshot) == PLUGIN.filter_signature(parsed(other), snapshot)

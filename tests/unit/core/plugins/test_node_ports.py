"""NodePorts: which host ports collide."""

import pytest

from scheduler.core.plugins.node_ports import NodePorts
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import U, parsed, rejections, snapshot_of

PLUGIN = NodePorts()
TAKEN = (U, ["node(s) didn't have free ports for the requested pod ports"])


@pytest.mark.parametrize(
    ("used", "wanted", "collides"),
    [
        ((80, "TCP", None), (80, "TCP", None), True),
        ((80, "TCP", None), (80, None, None), True),
        ((80, "TCP", None), (81, "TCP", None), False),
        ((80, "TCP", None), (80, "UDP", None), False),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.1"), True),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.2"), False),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", None), True),
        ((80, "TCP", "0.0.0.0"), (80, "TCP", "10.0.0.2"), True),
        ((80, "TCP", ""), (80, "TCP", "10.0.0.2"), True),
        ((80, "TCP", "::1"), (80, "TCP", "0.0.0.0"), True),
    ],
)
def test_ports_collide_by_protocol_number_and_address(
    used: tuple[int, str | None, str | None], wanted: tuple[int, str | None, str | None], collides: bool
) -> None:
    """The protocol is TCP unless said, and 0.0.0.0, or none, is every address."""
    snapshot = snapshot_of(make_node("n1"), make_node("n2"), make_pod("b").host_port(*used).node("n1"))
    assert rejections(PLUGIN, make_pod("p").host_port(*wanted), snapshot) == ({"n1": TAKEN} if collides else {})


def test_one_taken_port_of_several_is_enough() -> None:
    """All ports of the pod must be free."""
    snapshot = snapshot_of(make_node("n1"), make_pod("b").host_port(82).node("n1"))
    assert rejections(PLUGIN, make_pod("p").host_port(81).host_port(82), snapshot) == {"n1": TAKEN}
    assert rejections(PLUGIN, make_pod("p").host_port(81).host_port(83), snapshot) == {}


def test_a_port_shared_by_force_stays_taken_until_the_last_pod_leaves() -> None:
    """Pods bound by hand may share a port: one that is tried as a victim does not free what the other still uses."""
    snapshot = snapshot_of(make_node("n1"), *(make_pod(name).host_port(80).node("n1") for name in ("b", "c")))
    wanted, (row,) = make_pod("p").host_port(80), [snapshot.nodes.row_of("n1")]
    assert row is not None
    node = snapshot.node_info(row)
    assert node is not None
    with snapshot.overlay() as overlay:
        for pod, left in zip(list(node.pods.values()), ({"n1": TAKEN}, {}), strict=True):
            overlay.remove_pod(row, pod)
            assert rejections(PLUGIN, wanted, snapshot) == left
    assert rejections(PLUGIN, wanted, snapshot) == {"n1": TAKEN}


def test_pods_without_host_ports_are_not_looked_at() -> None:
    """They have no signature; others go by their ports."""
    snapshot = snapshot_of(make_node("n1"))
    assert PLUGIN.filter_signature(parsed(make_pod("a")), snapshot) is None
    assert PLUGIN.filter_signature(parsed(make_pod("a").host_port(0)), snapshot) is None
    one, same, other = (
        PLUGIN.filter_signature(parsed(make_pod(name).host_port(port)), snapshot)
        for name, port in (("a", 80), ("b", 80), ("c", 81))
    )
    assert one == same != other

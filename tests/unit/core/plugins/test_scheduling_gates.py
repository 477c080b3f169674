"""SchedulingGates: pods that wait for a gate."""

from scheduler.core.framework.status import Status
from scheduler.core.plugins.scheduling_gates import SchedulingGates
from scheduler.testing import make_pod
from tests.unit.core.plugins.asking import UU, parsed

PLUGIN = SchedulingGates()


def test_gates_hold_a_pod_back() -> None:
    """The status lists them in the pod's order; without gates the pod may go."""
    gated = make_pod("p").scheduling_gate("b.io/quota").scheduling_gate("a.io/x")
    assert PLUGIN.pre_enqueue(parsed(gated)) == Status.of(UU, "waiting for scheduling gates: [b.io/quota a.io/x]")
    assert PLUGIN.pre_enqueue(parsed(make_pod("p"))) is None

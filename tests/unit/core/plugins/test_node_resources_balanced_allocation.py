"""NodeResourcesBalancedAllocation: how much more even the pod makes the use of a node."""

import pytest

from scheduler.config.plugin_args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from scheduler.core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import raw_scores, snapshot_of

BALANCED = NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs())
GPU = "nvidia.com/gpu"


def balancing(*names: str) -> NodeResourcesBalancedAllocation:
    resources = tuple(ResourceSpec(name=name) for name in names)
    return NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(resources=resources))


@pytest.mark.parametrize(
    ("cpu", "memory", "score"),
    [
        ("50m", "5", 75),  # even before and after
        ("500m", "0", 62),  # deviation 0 -> 0.25: 100 -> 75
        ("1", "0", 50),  # deviation 0 -> 0.5: 100 -> 50
        ("3", "0", 50),  # a share is at most 1
    ],
)
def test_the_change_of_balance_is_scored(cpu: str, memory: str, score: int) -> None:
    """50 + (50 + balance after - balance before) / 2 in whole numbers; 75 leaves the balance as it is."""
    snapshot = snapshot_of(make_node("n1").capacity(cpu="1", memory="100"))
    pod = make_pod("p").req(cpu=cpu, memory=memory)
    assert raw_scores(BALANCED, pod, snapshot) == {"n1": score}


def test_a_pod_that_evens_out_scores_above_75() -> None:
    """Memory asked on a node whose cpu is used brings the deviation down."""
    snapshot = snapshot_of(
        make_node("n1").capacity(cpu="1", memory="100"), make_pod("b").req(cpu="1", memory=0).node("n1")
    )
    assert raw_scores(BALANCED, make_pod("p").req(memory="100"), snapshot) == {"n1": 100}


def test_pods_that_ask_none_of_the_resources_take_no_part() -> None:
    """Else all of them would be drawn to one node; no defaults count here."""
    snapshot = snapshot_of(make_node("n1"))
    assert raw_scores(BALANCED, make_pod("p"), snapshot) is None
    assert raw_scores(BALANCED, make_pod("p").req({GPU: 1}, cpu=0), snapshot) is None
    assert raw_scores(balancing(GPU), make_pod("p").req({GPU: 1}), snapshot) == {"n1": 75}


def test_resources_a_node_lacks_are_left_out_there() -> None:
    """With one resource left there is no deviation, with two it is half their distance."""
    plugin = balancing("cpu", "memory", GPU)
    snapshot = snapshot_of(
        make_node("three").capacity({GPU: 4}, cpu="4", memory="4"),
        make_node("two").capacity(cpu="4", memory="4"),
        make_node("one").capacity(cpu="4", memory="0"),
    )
    # three: shares 1/4, 0, 1/2: deviation 0.2041, 100 -> 79; two: 1/4 and 0: 0.125, 100 -> 87; one: none
    assert raw_scores(plugin, make_pod("p").req({GPU: 2}, cpu="1"), snapshot) == {"three": 64, "two": 68, "one": 75}


def test_requests_of_the_pod_as_a_whole_count() -> None:
    """They replace what the containers ask."""
    snapshot = snapshot_of(make_node("n1").capacity(cpu="10", memory="100"))
    assert raw_scores(BALANCED, make_pod("p").pod_level_req(cpu="1").container(), snapshot) == {"n1": 72}

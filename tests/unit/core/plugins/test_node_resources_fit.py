"""NodeResourcesFit: what is short, in which order it is said, and how the three strategies score."""

import pytest

from scheduler.config.plugin_args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import UU, U, parsed, raw_scores, rejections, snapshot_of, statuses

FIT = NodeResourcesFit(NodeResourcesFitArgs(), ClusterState())
GPU = "nvidia.com/gpu"


def strategy(
    kind: ScoringStrategyType, *resources: tuple[str, int], shape: dict[int, int] | None = None
) -> NodeResourcesFit:
    points = tuple(UtilizationShapePoint(utilization=u, score=s) for u, s in (shape or {}).items())
    scoring = ScoringStrategy(
        type=kind,
        resources=tuple(ResourceSpec(name=name, weight=weight) for name, weight in resources),
        requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=points) if points else None,
    )
    return NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=scoring), ClusterState())


def test_what_just_fits_passes_and_one_more_does_not() -> None:
    """The last free milli of cpu and byte of memory may be used, not one more."""
    node = make_node("n1").capacity(cpu="1", memory="100")
    on_it = make_pod("there").req(cpu="600m", memory="40").node("n1")
    snapshot = snapshot_of(node, on_it)
    assert rejections(FIT, make_pod("p").req(cpu="400m", memory="60"), snapshot) == {}
    assert rejections(FIT, make_pod("p").req(cpu="401m", memory="60"), snapshot) == {"n1": (U, ["Insufficient cpu"])}
    assert rejections(FIT, make_pod("p").req(cpu="400m", memory="61"), snapshot) == {"n1": (U, ["Insufficient memory"])}


def test_all_that_is_short_is_said_in_order() -> None:
    """Pods come first, then cpu, memory and ephemeral storage, then extended resources by name."""
    empty = {"cpu": 1, "memory": 1, "ephemeral-storage": 1, "b.com/x": 1, "a.com/x": 1, "hugepages-2Mi": 1}
    snapshot = snapshot_of(make_node("n1").capacity(empty, pods=1), make_pod("there").req(empty).node("n1"))
    assert rejections(FIT, make_pod("p").req(empty), snapshot) == {
        "n1": (
            U,
            [
                "Too many pods",
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient ephemeral-storage",
                "Insufficient a.com/x",
                "Insufficient b.com/x",
                "Insufficient hugepages-2Mi",
            ],
        )
    }


def test_a_request_that_no_eviction_could_grant_is_unresolvable() -> None:
    """One resource beyond the node's allocatable makes the whole verdict unresolvable; the pod count never does."""
    snapshot = snapshot_of(
        make_node("small").capacity(cpu="1", memory="1Gi"),
        make_node("full").capacity(cpu="4", memory="1Gi", pods=1),
        make_pod("a").req(cpu="4", memory="1Gi").node("full"),
    )
    assert rejections(FIT, make_pod("p").req(cpu="2", memory="1Gi"), snapshot) == {
        "small": (UU, ["Insufficient cpu"]),
        "full": (U, ["Too many pods", "Insufficient cpu", "Insufficient memory"]),
    }
    assert rejections(FIT, make_pod("p").req(cpu="2", memory="2Gi"), snapshot)["full"][0] is UU


def test_a_pod_that_asks_nothing_needs_a_slot_only() -> None:
    """Zero requests are not looked at, even where the node is over-committed."""
    snapshot = snapshot_of(
        make_node("n1").capacity(cpu="1", pods=3), *(make_pod(f"p{i}").req(cpu="1").node("n1") for i in range(2))
    )
    assert rejections(FIT, make_pod("p").req({GPU: 0}, cpu=0), snapshot) == {}
    assert rejections(FIT, make_pod("p"), snapshot) == {}
    assert rejections(FIT, make_pod("p").req(cpu="1m"), snapshot) == {"n1": (U, ["Insufficient cpu"])}


def test_a_resource_the_node_does_not_state_is_unresolvable() -> None:
    """An absent extended resource is an allocatable of 0."""
    assert rejections(FIT, make_pod("p").req({GPU: 1}), snapshot_of(make_node("n1"))) == {
        "n1": (UU, [f"Insufficient {GPU}"])
    }


def test_ignored_resources_are_extended_ones_only() -> None:
    """Names and groups of the args take extended resources out of the filter; huge pages can't be ignored."""
    args = NodeResourcesFitArgs(ignored_resources=("a.com/x", "hugepages-2Mi"), ignored_resource_groups=("b.com",))
    plugin = NodeResourcesFit(args, ClusterState())
    snapshot = snapshot_of(make_node("n1"))
    asked = {"a.com/x": 1, "a.com/y": 1, "b.com/x": 1, "hugepages-2Mi": 1}
    assert rejections(plugin, make_pod("p").req(asked), snapshot) == {
        "n1": (UU, ["Insufficient a.com/y", "Insufficient hugepages-2Mi"])
    }


def test_reasons_carry_their_numbers() -> None:
    """Each reason says which resource was short and how much was asked, cpu in milli."""
    status = statuses(FIT, make_pod("p").req({GPU: 3}, cpu="9"), snapshot_of(make_node("n1")))["n1"]
    assert status is not None
    assert [dict(reason.facts) for reason in status.reasons] == [
        {"resource": "cpu", "requested": 9000},
        {"resource": GPU, "requested": 3},
    ]


def test_a_pod_with_very_many_resources_is_still_refused() -> None:
    """A verdict has bits for thirty resources; the further ones share the last, none is overlooked."""
    names = [f"example.com/r{number:02}" for number in range(40)]
    node = make_node("n1").capacity(dict.fromkeys(names, 1))
    for short in (names[0], names[28], names[29], names[39]):
        asked = {**dict.fromkeys(names, 1), short: 2}
        ((code, reasons),) = rejections(FIT, make_pod("p").req(asked), snapshot_of(node)).values()
        assert code is UU
        assert f"Insufficient {short}" in reasons


def test_least_allocated_by_default() -> None:
    """The mean of the free shares of cpu and memory with the pod on the node, in whole percent."""
    snapshot = snapshot_of(
        make_node("n1").capacity(cpu="4", memory="8Gi"),
        make_node("n2").capacity(cpu="4", memory="8Gi"),
        make_pod("b").req(cpu="2", memory="2Gi").node("n2"),
    )
    # n1: cpu 75, memory 75; n2: cpu 25, memory 50
    assert raw_scores(FIT, make_pod("p").req(cpu="1", memory="2Gi"), snapshot) == {"n1": 75, "n2": 37}


def test_containers_without_requests_count_with_defaults_in_scoring() -> None:
    """100m and 200 MiB for each, on the node as for the pod; a request of 0 stands as it is."""
    snapshot = snapshot_of(
        make_node("n1").capacity(cpu="1", memory="2000Mi"),
        make_node("n2").capacity(cpu="1", memory="2000Mi"),
        make_pod("b").container().container().node("n2"),
    )
    assert raw_scores(FIT, make_pod("p"), snapshot) == {"n1": 90, "n2": 70}
    assert raw_scores(FIT, make_pod("p").req(cpu=0, memory=0), snapshot) == {"n1": 100, "n2": 80}


def test_requests_of_the_pod_as_a_whole_do_not_score() -> None:
    """The filter goes by them, the score by what the containers ask and the overhead."""
    snapshot = snapshot_of(make_node("n1").capacity({"hugepages-2Mi": "100Mi"}, cpu="10", memory="1000Mi"))
    pod = make_pod("p").pod_level_req(cpu="5", memory="500Mi").req(cpu="1", memory="300Mi").overhead(memory="100Mi")
    assert raw_scores(strategy(ScoringStrategyType.LEAST_ALLOCATED, ("memory", 1)), pod, snapshot) == {"n1": 60}
    huge = make_pod("p").pod_level_req({"hugepages-2Mi": "50Mi"}, cpu="1")
    assert raw_scores(strategy(ScoringStrategyType.LEAST_ALLOCATED, ("hugepages-2Mi", 1)), huge, snapshot) == {"n1": 0}
    assert rejections(FIT, make_pod("p").pod_level_req(cpu="11").req(cpu="1"), snapshot) == {
        "n1": (UU, ["Insufficient cpu"])
    }


def test_weights_and_resources_of_the_strategy() -> None:
    """Weights weigh; an extended resource counts only where it is asked and offered."""
    plugin = strategy(ScoringStrategyType.LEAST_ALLOCATED, ("cpu", 3), (GPU, 1))
    snapshot = snapshot_of(make_node("n1").capacity({GPU: 4}, cpu="4"), make_node("n2").capacity(cpu="4"))
    assert raw_scores(plugin, make_pod("p").req({GPU: 2}, cpu="1"), snapshot) == {"n1": (3 * 75 + 50) // 4, "n2": 75}
    assert raw_scores(plugin, make_pod("p").req(cpu="1"), snapshot) == {"n1": 75, "n2": 75}


@pytest.mark.parametrize("kind", ScoringStrategyType)
def test_nothing_to_score_by_gives_zero(kind: ScoringStrategyType) -> None:
    """Where no resource of the strategy is asked or offered, every node has 0."""
    plugin = strategy(kind, (GPU, 1), shape={0: 5, 100: 10})
    snapshot = snapshot_of(make_node("n1"), make_node("n2").capacity({GPU: 1}))
    assert raw_scores(plugin, make_pod("p").req(cpu="1"), snapshot) == {"n1": 0, "n2": 0}


def test_overcommitted_nodes_score_as_full() -> None:
    """A resource asked beyond what there is gives 0 to LeastAllocated and 100 to MostAllocated."""
    snapshot = snapshot_of(make_node("n1").capacity(cpu="1"))
    pod = make_pod("p").req(cpu="3")
    assert raw_scores(strategy(ScoringStrategyType.LEAST_ALLOCATED, ("cpu", 1)), pod, snapshot) == {"n1": 0}
    assert raw_scores(strategy(ScoringStrategyType.MOST_ALLOCATED, ("cpu", 1)), pod, snapshot) == {"n1": 100}


def test_most_allocated() -> None:
    """The used share with the pod on the node."""
    snapshot = snapshot_of(make_node("n1").capacity(cpu="3"), make_pod("b").req(cpu="1").node("n1"))
    assert raw_scores(
        strategy(ScoringStrategyType.MOST_ALLOCATED, ("cpu", 1)), make_pod("p").req(cpu="1"), snapshot
    ) == {"n1": 66}


@pytest.mark.parametrize(
    ("cpu", "score"),
    [
        ("1m", 30),
        ("100m", 30),
        ("101m", 30),
        ("200m", 43),
        ("399m", 68),
        ("400m", 70),
        ("500m", 47),
        ("700m", 0),
        ("2", 0),
    ],
)
def test_requested_to_capacity_ratio_interpolates(cpu: str, score: int) -> None:
    """A broken line between the points, in whole numbers that truncate towards zero, flat outside."""
    plugin = strategy(ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO, ("cpu", 1), shape={10: 3, 40: 7, 70: 0})
    assert raw_scores(plugin, make_pod("p").req(cpu=cpu), snapshot_of(make_node("n1").capacity(cpu="1"))) == {
        "n1": score
    }


def test_requested_to_capacity_ratio_leaves_out_zero_scores_and_rounds() -> None:
    """Only resources that score above 0 have a weight, and the mean is rounded half up."""
    plugin = strategy(
        ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO, ("cpu", 1), ("memory", 1), (GPU, 5), shape={0: 0, 100: 10}
    )
    snapshot = snapshot_of(make_node("n1").capacity({GPU: 100}, cpu="1", memory="100"))
    assert raw_scores(plugin, make_pod("p").req(cpu="500m", memory="51"), snapshot) == {"n1": 51}  # 50.5
    assert raw_scores(plugin, make_pod("p").req({GPU: 0}, cpu="500m", memory=0), snapshot) == {"n1": 50}


def test_pods_that_ask_the_same_read_alike() -> None:
    """Signatures go by the amounts, however they are spelled and spread over containers."""
    snapshot = snapshot_of(make_node("n1"))
    one = FIT.filter_signature(parsed(make_pod("a").req(cpu="1", memory="1Gi").label(app="a")), snapshot)
    same = FIT.filter_signature(parsed(make_pod("b").req(cpu="1000m", memory="1024Mi")), snapshot)
    spread = FIT.filter_signature(
        parsed(make_pod("c").req(cpu="500m", memory="1Gi").req(cpu="500m", memory=0)), snapshot
    )
    other = FIT.filter_signature(parsed(make_pod("d").req(cpu="1", memory="2Gi")), snapshot)
    assert one == same == spread
    assert one != other

"""What constrained pods demand, and the judges of where they are."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.bench import constraints
from tests.bench.constraints import Check, Placement
from tests.bench.errors import BenchError
from tests.bench.pods import PodShape, Variation, bound_pods, pods
from tests.controlplane.resources import Manifest

NODES = 6
"""Of the zones 0, 1, 2, 0, 1, 2."""


@pytest.mark.parametrize("is_realistic", [False, True])
@pytest.mark.parametrize(
    ("vary", "kind", "requirement"),
    [
        (constraints.anti_affinity, "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
        (constraints.preferred_affinity, "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"),
        (constraints.node_affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
    ],
)
def test_affinity_of_the_kind_wanted(vary: Variation, kind: str, requirement: str, is_realistic: bool) -> None:
    """A pod has this one demand and no other, whatever its size."""
    (pod,) = pods(PodShape(is_realistic), "run1", 1, "podium", vary)
    assert list(pod["spec"]["affinity"]) == [kind]
    assert list(pod["spec"]["affinity"][kind]) == [requirement]
    assert "topologySpreadConstraints" not in pod["spec"]


@pytest.mark.parametrize("is_realistic", [False, True])
def test_a_spread_pod_counts_itself(is_realistic: bool) -> None:
    """The selector finds the pods of the backlog, which keep what labels they have besides."""
    plain, spread = (
        next(pods(PodShape(is_realistic), "run1", 1, "podium", vary)) for vary in (None, constraints.spread)
    )
    (constraint,) = spread["spec"]["topologySpreadConstraints"]
    selected = constraint["labelSelector"]["matchLabels"]
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"
    assert spread["metadata"]["labels"] == plain["metadata"]["labels"] | selected


def test_no_two_pods_share_a_selector_and_bound_pods_match_each() -> None:
    """2,000 pods have as many selectors, each of which finds the bound pods of one application."""
    belong = constraints.belong_to_selected_applications
    found = [pod["metadata"]["labels"] for pod in bound_pods(PodShape(), "kept", 2000, 5, belong)]
    selected = [selector(pod) for pod in pods(PodShape(), "run1", 2000, "podium", constraints.own_selector)]
    assert len({tuple(labels.items()) for labels in selected}) == 2000
    assert all(labels.items() <= own.items() for labels, own in zip(selected, found, strict=True))


def selector(pod: Manifest) -> dict[str, str]:
    """The labels that the pod's only demand selects."""
    (term,) = pod["spec"].get("topologySpreadConstraints") or only(only(pod["spec"]["affinity"]))
    labels: dict[str, str] = term.get("podAffinityTerm", term)["labelSelector"]["matchLabels"]
    return labels


def only(mapping: dict[str, Any]) -> Any:
    """The single value."""
    (value,) = mapping.values()
    return value


@pytest.mark.parametrize(
    ("check", "node_of"),
    [
        (constraints.check_spread, [0, 3, 0, 3, 0]),
        (constraints.check_anti_affinity, [0, 1, 2, 3]),
        (constraints.check_node_affinity, [0, 1, 3, 4]),
        (constraints.check_preferred_affinity, [2, 5, 2, 5]),
        # The bound pods of the applications 0 to 3 are on the nodes 0 to 3.
        (constraints.check_own_selector, [1, 0, 5, 0]),
    ],
)
def test_a_right_placement_is_accepted(check: Check, node_of: Sequence[int]) -> None:
    """Nothing is raised."""
    check(Placement(node_of, NODES))


@pytest.mark.parametrize(
    ("check", "node_of", "message"),
    [
        (constraints.check_spread, [0, 3, 0, 3, 0, 3], "the zones have .6, 0, 0. pods"),
        (constraints.check_anti_affinity, [0, 1, 4, 4], "node 4 has 2 pods"),
        (constraints.check_node_affinity, [0, 5], "zones .0, 2., and only .0, 1. are allowed"),
        (constraints.check_preferred_affinity, [2, 5, 1], "zones .1, 2."),
        (constraints.check_own_selector, [3, 0, 5, 0], "pod 0 is on node 3 in spite of its spread; .* finds .0."),
        (constraints.check_own_selector, [1, 1, 5, 0], "pod 1 is on node 1 in spite of its anti-affinity"),
        (constraints.check_own_selector, [1, 0, 4, 0], "pod 2 is on node 4 in spite of its affinity"),
        (constraints.check_own_selector, [1, 0, 5, 1], "pod 3 is on node 1 in spite of its preferred affinity"),
    ],
)
def test_a_wrong_placement_fails_the_run(check: Check, node_of: Sequence[int], message: str) -> None:
    """The message tells which pods are where."""
    with pytest.raises(BenchError, match=message):
        check(Placement(node_of, NODES))


def test_the_first_pod_of_an_application_finds_company_anywhere() -> None:
    """Where its selector finds nobody, a pod that demands the company of its own kind may be anywhere."""
    constraints.check_own_selector(Placement([1, 0, 0, 1, 0, 0, 1], 2))

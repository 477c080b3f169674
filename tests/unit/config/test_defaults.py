"""What an absent field means."""

from typing import Any

import pytest
import yaml

from scheduler.config.duration import Duration
from scheduler.config.plugin_args import (
    DefaultPreemptionArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategyType,
    VolumeBindingArgs,
)
from scheduler.config.types import ClientConnectionConfiguration
from scheduler.config.view import configuration_view
from tests.unit.config.configurations import ALL_SUPPORTED, KUBE_SCHEDULER_DEFAULTS, load, profile, with_args


def test_defaults_are_kube_schedulers_but_for_the_documented_differences() -> None:
    """With every plugin there, our defaults are what kube-scheduler itself writes, apart from five named fields."""
    theirs = yaml.safe_load(KUBE_SCHEDULER_DEFAULTS.read_text())
    ours = configuration_view(load(known=ALL_SUPPORTED).configuration)
    assert ours.pop("delayCacheUntilActive") is False
    assert theirs["profiles"][0].pop("schedulerName") == "default-scheduler"
    assert ours["profiles"][0].pop("schedulerName") == "podium"
    assert theirs["leaderElection"].pop("resourceName") == "kube-scheduler"
    assert ours["leaderElection"].pop("resourceName") == "podium"
    client = theirs.pop("clientConnection")
    assert client == {**ours.pop("clientConnection"), "qps": 50, "burst": 100, "contentType": client["contentType"]}
    assert theirs.pop("percentageOfNodesToScore") == 0
    preemption = theirs["profiles"][0]["pluginConfig"][0]["args"]
    assert preemption.pop("minCandidateNodesAbsolute") == 100
    assert preemption.pop("minCandidateNodesPercentage") == 10
    assert ours == _without_empty(theirs)


def _without_empty(value: Any) -> Any:
    """Upstream writes empty plugin sets and the weight 0 for none."""
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items() if not (key == "weight" and item == 0)}
        return {key: item for key, item in kept.items() if item not in ({}, [])}
    return value


def test_only_a_single_profile_gets_a_name() -> None:
    """One profile without a name is podium; a name that is written stays."""
    assert list(load({"profiles": [{}]}).plugins) == ["podium"]
    assert list(load(profile()).plugins) == ["test"]


def test_all_nodes_unless_written() -> None:
    """An absent percentage means all nodes, and is kept apart from every written one."""
    assert load().configuration.percentage_of_nodes_to_score is None
    assert load({"percentageOfNodesToScore": 0}).configuration.percentage_of_nodes_to_score == 0


def test_a_profiles_percentage_goes_before_that_of_all() -> None:
    """Also when it is 0, which adapts."""
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}]
    configuration = load({"percentageOfNodesToScore": 30, "profiles": profiles}).configuration
    assert [configuration.percentage_for(profile) for profile in configuration.profiles] == [30, 0]


def client_limits(**written: Any) -> tuple[float | None, int | None]:
    """The effective qps and burst for these written fields."""
    client: ClientConnectionConfiguration = load({"clientConnection": written}).configuration.client_connection
    return client.qps, client.burst


def test_the_client_is_limited_only_when_asked() -> None:
    """Without qps and burst there is no limit; when one is written the other takes kube-scheduler's default."""
    assert client_limits() == (None, None)
    assert client_limits(qps=0, burst=0) == (None, None)
    assert client_limits(qps=5.5) == (5.5, 100)
    assert client_limits(burst=7) == (50.0, 7)
    assert client_limits(qps=-1, burst=3) == (-1, 3)


@pytest.mark.parametrize(("written", "limit"), [({}, None), ({"qps": -1, "burst": 3}, None), ({"burst": 3}, 50.0)])
def test_a_negative_qps_means_no_limit(written: dict[str, int], limit: float | None) -> None:
    """As for kube-scheduler's client; the file may say so."""
    assert load({"clientConnection": written}).configuration.client_connection.calls_per_second() == limit


def test_zero_values_mean_absent_where_kubernetes_says_so() -> None:
    """Empty text and zero durations of the leader election are filled as if they were absent."""
    election = load(
        {"leaderElection": {"leaderElect": False, "leaseDuration": "0s", "resourceName": "", "retryPeriod": "3s"}}
    ).configuration.leader_election
    assert election.lease_duration == Duration.of_seconds(15)
    assert election.resource_name == "podium"
    assert election.retry_period == Duration.of_seconds(3)


def test_contention_profiling_follows_profiling() -> None:
    """It is on when profiling is, unless it is written."""
    assert load().configuration.enable_contention_profiling is True
    assert load({"enableProfiling": False}).configuration.enable_contention_profiling is False
    assert load({"enableContentionProfiling": False}).configuration.enable_contention_profiling is False


def test_scoring_resources_are_filled() -> None:
    """No resources means cpu and memory, a weight of 0 means 1, and written ones stay."""
    (only,) = load(with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})).configuration.profiles
    strategy = only.args(NodeResourcesFitArgs).scoring_strategy
    assert strategy.type is ScoringStrategyType.MOST_ALLOCATED
    assert [(resource.name, resource.weight) for resource in strategy.resources] == [("cpu", 1), ("memory", 1)]
    resources = [{"name": "cpu", "weight": 0}, {"name": "nvidia.com/gpu", "weight": 5}]
    written = with_args("NodeResourcesFit", scoringStrategy={"type": "LeastAllocated", "resources": resources})
    (only,) = load(written).configuration.profiles
    strategy = only.args(NodeResourcesFitArgs).scoring_strategy
    assert [(resource.name, resource.weight) for resource in strategy.resources] == [("cpu", 1), ("nvidia.com/gpu", 5)]
    (only,) = load(with_args("NodeResourcesBalancedAllocation", resources=[])).configuration.profiles
    balanced = only.args(NodeResourcesBalancedAllocationArgs)
    assert [resource.name for resource in balanced.resources] == ["cpu", "memory"]


def test_preemption_limits_are_kept_apart_from_absent() -> None:
    """Neither written means all nodes; when one is written the other takes kube-scheduler's default."""

    def limits(**written: int) -> tuple[int | None, int | None]:
        loaded = load(with_args("DefaultPreemption", **written), known=ALL_SUPPORTED)
        args = loaded.configuration.profiles[0].args(DefaultPreemptionArgs)
        return args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute

    assert limits() == (None, None)
    assert limits(minCandidateNodesPercentage=0) == (0, 100)
    assert limits(minCandidateNodesAbsolute=5) == (10, 5)


def test_an_empty_shape_is_the_default_one() -> None:
    """The score function of VolumeBinding is filled when no point is written."""
    loaded = load(with_args("VolumeBinding", shape=[]), known=ALL_SUPPORTED)
    assert loaded.configuration.profiles[0].args(VolumeBindingArgs) == VolumeBindingArgs()


def test_an_entry_without_args_means_the_defaults() -> None:
    """A plugin named in pluginConfig without args has its defaults, one that has no args is fine too."""
    loaded = load(profile(pluginConfig=[{"name": "NodeResourcesFit"}, {"name": "NodeName"}]))
    (only,) = loaded.configuration.profiles
    assert only.plugin_config[0].args == NodeResourcesFitArgs()
    assert only.plugin_config[1].args is None


def test_args_of_a_plugin_that_is_off_are_still_at_hand() -> None:
    """A profile answers with the defaults for a plugin that it does not configure."""
    loaded = load(profile(plugins={"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}))
    (only,) = loaded.configuration.profiles
    assert all(entry.name != "NodeResourcesFit" for entry in only.plugin_config)
    assert only.args(NodeResourcesFitArgs) == NodeResourcesFitArgs()

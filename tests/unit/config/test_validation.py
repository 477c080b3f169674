"""kube-scheduler's rules: each broken once, each met once at its border.

The verdicts (taken or refused) were held against kube-scheduler 1.37.2 itself.
"""

from typing import Any

import pytest

from tests.unit.config.configurations import ALL_SUPPORTED, faults, profile, with_args

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
ARGS = "profiles[0].pluginConfig[0].args"


def strategy(**fields: Any) -> dict[str, Any]:
    """A profile with this scoring strategy."""
    return with_args("NodeResourcesFit", scoringStrategy=fields)


def ratio(*shape: dict[str, int]) -> dict[str, Any]:
    """A profile with a strategy of this shape."""
    return strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": list(shape)})


def affinity(**requirement: Any) -> dict[str, Any]:
    """A profile whose added affinity requires this of the node's labels."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return with_args("NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": terms})


def fields_affinity(**requirement: Any) -> dict[str, Any]:
    """A profile whose added affinity requires this of the node's fields."""
    terms = {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
    return with_args("NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": terms})


def preferred(weight: int) -> dict[str, Any]:
    """A profile whose added affinity has a wish with a bad operator and this weight."""
    wish = {"weight": weight, "preference": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}}
    return with_args("NodeAffinity", addedAffinity={"preferredDuringSchedulingIgnoredDuringExecution": [wish]})


def spread(*constraints: dict[str, Any], defaulting: str = "List") -> dict[str, Any]:
    """A profile with these default spread constraints."""
    return with_args("PodTopologySpread", defaultConstraints=list(constraints), defaultingType=defaulting)


SELECTOR = f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
STRATEGY = f"{ARGS}.scoringStrategy"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"parallelism": 0}, "parallelism"),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore"),
        ({"percentageOfNodesToScore": -1}, "percentageOfNodesToScore"),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds"),
        ({"podInitialBackoffSeconds": 11}, "podMaxBackoffSeconds"),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst"),
        (profile(schedulerName=""), "profiles[0].schedulerName"),
        ({"profiles": [{}, {"schedulerName": "a"}]}, "profiles[0].schedulerName"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "profiles[1].schedulerName"),
        (profile(percentageOfNodesToScore=101), "profiles[0].percentageOfNodesToScore"),
        (profile(plugins={"queueSort": {"disabled": [{"name": "*"}]}}), "profiles[0].plugins.queueSort"),
        (profile(plugins={"bind": {"disabled": [{"name": "DefaultBinder"}]}}), "profiles[0].plugins.bind"),
        (
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}},
                ]
            },
            "profiles[1].plugins.queueSort",
        ),
        (
            profile(pluginConfig=[{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]),
            "profiles[0].pluginConfig[1].name",
        ),
        (with_args("NodeResourcesFit", ignoredResources=["a b"]), f"{ARGS}.ignoredResources[0]"),
        (with_args("NodeResourcesFit", ignoredResources=["/a"]), f"{ARGS}.ignoredResources[0]"),
        (with_args("NodeResourcesFit", ignoredResources=["Ex.com/a"]), f"{ARGS}.ignoredResources[0]"),
        (with_args("NodeResourcesFit", ignoredResources=["a" * 64]), f"{ARGS}.ignoredResources[0]"),
        (with_args("NodeResourcesFit", ignoredResourceGroups=["example.com/a"]), f"{ARGS}.ignoredResourceGroups[0]"),
        (with_args("NodeResourcesFit", ignoredResourceGroups=["-a"]), f"{ARGS}.ignoredResourceGroups[0]"),
        (strategy(type="MostAllocated", resources=[{"name": "cpu", "weight": 101}]), f"{STRATEGY}.resources[0].weight"),
        (strategy(type="MostAllocated", resources=[{"name": "cpu", "weight": -1}]), f"{STRATEGY}.resources[0].weight"),
        (strategy(type="RequestedToCapacityRatio"), f"{STRATEGY}.requestedToCapacityRatio"),
        (ratio(), f"{STRATEGY}.requestedToCapacityRatio.shape"),
        (ratio({"utilization": 0, "score": 11}), f"{STRATEGY}.requestedToCapacityRatio.shape[0].score"),
        (ratio({"utilization": 101, "score": 1}), f"{STRATEGY}.requestedToCapacityRatio.shape[0].utilization"),
        (
            ratio({"utilization": 5, "score": 1}, {"utilization": 5, "score": 2}),
            f"{STRATEGY}.requestedToCapacityRatio.shape[1].utilization",
        ),
        (
            strategy(type="LeastAllocated", requestedToCapacityRatio={"shape": [{"score": 1}]}),
            f"{STRATEGY}.requestedToCapacityRatio",
        ),
        (
            with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
            f"{ARGS}.resources[0].weight",
        ),
        (
            with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "cpu"}]),
            f"{ARGS}.resources[1].name",
        ),
        (with_args("InterPodAffinity", hardPodAffinityWeight=101), f"{ARGS}.hardPodAffinityWeight"),
        (with_args("InterPodAffinity", hardPodAffinityWeight=-1), f"{ARGS}.hardPodAffinityWeight"),
        (with_args("DefaultPreemption", minCandidateNodesPercentage=101), f"{ARGS}.minCandidateNodesPercentage"),
        (with_args("DefaultPreemption", minCandidateNodesAbsolute=-1), f"{ARGS}.minCandidateNodesAbsolute"),
        (
            with_args("DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0),
            f"{ARGS}.minCandidateNodesPercentage",
        ),
        (with_args("VolumeBinding", bindTimeoutSeconds=-1), f"{ARGS}.bindTimeoutSeconds"),
        (with_args("VolumeBinding", shape=[{"score": 11}]), f"{ARGS}.shape[0].score"),
        (with_args("DynamicResources", filterTimeout="-1s"), f"{ARGS}.filterTimeout"),
        (with_args("DynamicResources", bindingTimeout="999ms"), f"{ARGS}.bindingTimeout"),
        (spread({**SPREAD, "maxSkew": 0}), f"{ARGS}.defaultConstraints[0].maxSkew"),
        (spread({**SPREAD, "topologyKey": ""}), f"{ARGS}.defaultConstraints[0].topologyKey"),
        (spread({**SPREAD, "topologyKey": "a b"}), f"{ARGS}.defaultConstraints[0].topologyKey"),
        (spread({**SPREAD, "whenUnsatisfiable": "X"}), f"{ARGS}.defaultConstraints[0].whenUnsatisfiable"),
        (spread({**SPREAD, "labelSelector": {}}), f"{ARGS}.defaultConstraints[0].labelSelector"),
        (spread(SPREAD, {**SPREAD, "maxSkew": 2}), f"{ARGS}.defaultConstraints"),
        (spread(SPREAD, defaulting="System"), f"{ARGS}.defaultingType"),
        (affinity(key="a", operator="In"), f"{SELECTOR}.matchExpressions[0].values"),
        (affinity(key="a", operator="In", values=["b c"]), f"{SELECTOR}.matchExpressions[0].values[0]"),
        (affinity(key="a b", operator="Exists"), f"{SELECTOR}.matchExpressions[0].key"),
        (affinity(key="a", operator="Exists", values=["x"]), f"{SELECTOR}.matchExpressions[0].values"),
        (affinity(key="a", operator="Gt", values=["x"]), f"{SELECTOR}.matchExpressions[0].values"),
        (affinity(key="a", operator="Lt", values=["3", "4"]), f"{SELECTOR}.matchExpressions[0].values"),
        (affinity(key="a", operator="Gt", values=["9223372036854775808"]), f"{SELECTOR}.matchExpressions[0].values"),
        (affinity(key="a", operator="Gt", values=["-3"]), f"{SELECTOR}.matchExpressions[0].values[0]"),
        (affinity(key="a", operator="Eq", values=["x"]), f"{SELECTOR}.matchExpressions[0].operator"),
        (fields_affinity(key="metadata.name", operator="In", values=["n", "m"]), f"{SELECTOR}.matchFields[0].values"),
        (fields_affinity(key="metadata.name", operator="Exists"), f"{SELECTOR}.matchFields[0].operator"),
        (
            preferred(weight=5),
            f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].operator",
        ),
    ],
)
def test_a_broken_rule_is_named_once(fields: dict[str, Any], path: str) -> None:
    """Each broken rule gives one fault, at its path, with a message."""
    (fault,) = faults(fields, known=ALL_SUPPORTED)
    assert fault.path == path
    assert fault.message


@pytest.mark.parametrize(
    "fields",
    [
        {"parallelism": 1},
        {"podInitialBackoffSeconds": 10},
        {"clientConnection": {"qps": -1}},
        {"profiles": []},
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]},
        with_args("NodeResourcesFit", ignoredResources=["example.com/a", "a" * 63]),
        with_args("NodeResourcesFit", ignoredResourceGroups=["example.com"]),
        strategy(type="MostAllocated", resources=[{"name": "cpu", "weight": 100}, {"name": "cpu"}]),
        ratio({"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}),
        ratio({"score": 1}),
        with_args("InterPodAffinity", hardPodAffinityWeight=0),
        with_args("DefaultPreemption", minCandidateNodesPercentage=0),
        with_args("VolumeBinding", bindTimeoutSeconds=0),
        with_args("DynamicResources", filterTimeout="0s", bindingTimeout="1s"),
        spread(SPREAD, {**SPREAD, "whenUnsatisfiable": "DoNotSchedule"}),
        spread(),
        affinity(key="example.com/a", operator="In", values=[""]),
        affinity(key="a", operator="Gt", values=["9223372036854775807"]),
        fields_affinity(key="metadata.name", operator="NotIn", values=["n"]),
        preferred(weight=0),
    ],
)
def test_the_border_is_inside(fields: dict[str, Any]) -> None:
    """What just meets a rule is taken."""
    assert faults(fields, known=ALL_SUPPORTED) == ()


@pytest.mark.parametrize(
    ("election", "paths"),
    [
        ({"leaseDuration": "10s"}, ["leaseDuration"]),
        ({"leaseDuration": "-1s"}, ["leaseDuration", "leaseDuration"]),
        ({"renewDeadline": "12s", "retryPeriod": "10s"}, ["renewDeadline"]),
        ({"retryPeriod": "-1s"}, ["retryPeriod"]),
        ({"resourceLock": "endpoints"}, ["resourceLock"]),
        ({"resourceLock": "", "leaseDuration": "13s", "renewDeadline": "12.5s", "retryPeriod": "10s"}, []),
    ],
)
def test_leader_election_rules(election: dict[str, str], paths: list[str]) -> None:
    """The lease outlives the renewal, which outlives the jittered retry; only leases are locks."""
    found = faults({"leaderElection": {"leaderElect": True, **election}})
    rules = [fault.path.removeprefix("leaderElection.") for fault in found if "not supported yet" not in fault.message]
    assert rules == paths


@pytest.mark.parametrize(
    ("extenders", "paths"),
    [
        ([{"urlPrefix": "http://e"}], []),
        ([{"urlPrefix": ""}], ["extenders[0].urlPrefix"]),
        ([{"urlPrefix": "http://e", "prioritizeVerb": "p"}], ["extenders[0].weight"]),
        ([{"urlPrefix": "http://e", "httpTimeout": "-1s"}], ["extenders[0].httpTimeout"]),
        ([{"urlPrefix": "http://e", "bindVerb": "b"}] * 2, ["extenders"]),
        (
            [
                {
                    "urlPrefix": "http://e",
                    "managedResources": [{"name": "cpu"}, {"name": "a b"}, {"name": "x.kubernetes.io/a"}],
                }
            ],
            [f"extenders[0].managedResources[{index}].name" for index in range(3)],
        ),
        (
            [{"urlPrefix": "http://e", "managedResources": [{"name": "example.com/a"}]}] * 2,
            ["extenders[1].managedResources[0].name"],
        ),
    ],
)
def test_extender_rules(extenders: list[dict[str, Any]], paths: list[str]) -> None:
    """Extenders need a URL, a weight to prioritise, one binder, and manage only extended resources, each once."""
    found = faults({"extenders": extenders})
    assert [fault.path for fault in found if "not supported yet" not in fault.message] == paths

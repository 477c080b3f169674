"""The arguments of kube-scheduler's plugins, `pluginConfig[].args`.

An args type is named after its plugin, as upstream: the args of `NodeResourcesFit` are `NodeResourcesFitArgs`. Its
`kind` may be left out of a file; when written it must be that name. Defaults are kube-scheduler 1.37's.
"""

from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import msgspec

from scheduler.api.pod import NodeAffinity, TopologySpreadConstraint
from scheduler.config.duration import Duration

GROUP_VERSION: Final = "kubescheduler.config.k8s.io/v1"

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all parts of a configuration: immutable; a field absent or null in the file has its default."""


class PluginArgsStruct(ConfigStruct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Base of all args types; `kind` is the name of the type."""

    api_version: str = GROUP_VERSION


class ResourceSpec(ConfigStruct, frozen=True, kw_only=True):
    """A resource that a score looks at.

    Attributes:
        name: of the resource.
        weight: 1 to 100; 0 stands for 1.
    """

    name: str
    weight: Int64 = 1


DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class UtilizationShapePoint(ConfigStruct, frozen=True, kw_only=True):
    """A corner of a score function.

    Attributes:
        utilization: 0 to 100 percent; higher than that of the point before.
        score: 0 to 10.
    """

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ConfigStruct, frozen=True, kw_only=True):
    """The score function of the strategy RequestedToCapacityRatio.

    Attributes:
        shape: its corners, at least one.
    """

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategyType(StrEnum):
    """How NodeResourcesFit scores nodes."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class ScoringStrategy(ConfigStruct, frozen=True, kw_only=True):
    """How NodeResourcesFit scores nodes.

    Attributes:
        type: by free room, by used room, or by a function of its own.
        resources: what is looked at; cpu and memory, each with weight 1, when none is written.
        requested_to_capacity_ratio: the function; with the type of that name, and only with it.
    """

    type: ScoringStrategyType
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """How resources are filtered and scored.

    Attributes:
        ignored_resources: names of extended resources that the filter does not look at.
        ignored_resource_groups: likewise all that begin with one of these and a `/`.
        scoring_strategy: how nodes are scored.
    """

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(
        type=ScoringStrategyType.LEAST_ALLOCATED, resources=DEFAULT_RESOURCES
    )


class NodeResourcesBalancedAllocationArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """What is to be used evenly.

    Attributes:
        resources: the resources, each once, with weight 1.
    """

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class NodeAffinityArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """Node affinity of the profile.

    Attributes:
        added_affinity: holds for every pod, in addition to the pod's own; as `spec.affinity.nodeAffinity` of a pod.
    """

    added_affinity: NodeAffinity | None = None


class InterPodAffinityArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """How the affinity of pods that are there already counts in the score.

    Attributes:
        hard_pod_affinity_weight: 0 to 100, of their required affinity.
        ignore_preferred_terms_of_existing_pods: whether their preferred terms do not count for pods without any.
    """

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class DefaultingType(StrEnum):
    """Where the default spread constraints come from."""

    SYSTEM = "System"
    LIST = "List"


class PodTopologySpreadArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """Spread constraints for pods that have none of their own.

    Attributes:
        default_constraints: as `spec.topologySpreadConstraints` of a pod, without `labelSelector`: that follows from
            the pod's Services and owners. Only with `List`.
        defaulting_type: `System` for a mild spread over zones and hosts, `List` for the constraints written here.
    """

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: DefaultingType = DefaultingType.SYSTEM


class VolumeBindingArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """How volumes are bound and their storage is scored.

    Attributes:
        bind_timeout_seconds: how long a pod waits for its volumes to be bound; not negative.
        shape: score by the share of the storage that is used.
    """

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] = (
        UtilizationShapePoint(utilization=0, score=10),
        UtilizationShapePoint(utilization=100, score=0),
    )


class DefaultPreemptionArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """How many nodes preemption tries: at least both of these. When neither is written it tries all.

    Attributes:
        min_candidate_nodes_percentage: 0 to 100 percent of the nodes; 10 when only the other is written.
        min_candidate_nodes_absolute: not negative, and not 0 together with the other; 100 when only that is written.
    """

    min_candidate_nodes_percentage: Int32 | None = None
    min_candidate_nodes_absolute: Int32 | None = None


class DynamicResourcesArgs(PluginArgsStruct, frozen=True, kw_only=True):
    """Limits of waiting for devices. No effect: the plugin is not supported yet.

    Attributes:
        filter_timeout: of the search for devices on a node; 0s means no limit.
        binding_timeout: of the wait for their binding conditions; at least 1s.
    """

    filter_timeout: Duration = Duration.of_seconds(10)
    binding_timeout: Duration = Duration.of_seconds(600)


PluginArgs: TypeAlias = (
    NodeResourcesFitArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeAffinityArgs
    | InterPodAffinityArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
    | DefaultPreemptionArgs
    | DynamicResourcesArgs
)

ARGS_TYPES: Final[dict[str, type[PluginArgsStruct]]] = {
    args_type.__name__.removesuffix("Args"): args_type
    for args_type in (
        NodeResourcesFitArgs,
        NodeResourcesBalancedAllocationArgs,
        NodeAffinityArgs,
        InterPodAffinityArgs,
        PodTopologySpreadArgs,
        VolumeBindingArgs,
        DefaultPreemptionArgs,
        DynamicResourcesArgs,
    )
}
"""The args type of each plugin that has one."""

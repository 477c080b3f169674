"""kube-scheduler's rules for plugin args, on effective args. Every function gives all faults under `path`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler.api.pod import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
)
from scheduler.config.duration import Duration
from scheduler.config.faults import Fault, show
from scheduler.config.label_syntax import label_value_problem, qualified_name_problem
from scheduler.config.plugin_args import (
    DefaultingType,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    PodTopologySpreadArgs,
    ScoringStrategyType,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

_MAXIMUM_WEIGHT: Final = 100
_MAXIMUM_UTILIZATION: Final = 100
_MAXIMUM_SHAPE_SCORE: Final = 10
_INT64: Final = range(-(2**63), 2**63)
_MAXIMUM_DIGITS: Final = 63


def validate_args(args: PluginArgs, path: str) -> Iterator[Fault]:
    """What is wrong with the args of a plugin."""
    match args:
        case NodeResourcesFitArgs():
            yield from _fit(args, path)
        case NodeResourcesBalancedAllocationArgs():
            yield from _balanced_allocation(args, path)
        case NodeAffinityArgs(added_affinity=affinity):
            if affinity is not None:
                yield from _node_affinity(affinity, f"{path}.addedAffinity")
        case InterPodAffinityArgs(hard_pod_affinity_weight=weight):
            yield from _outside(weight, 0, _MAXIMUM_WEIGHT, f"{path}.hardPodAffinityWeight")
        case PodTopologySpreadArgs():
            yield from _topology_spread(args, path)
        case VolumeBindingArgs(bind_timeout_seconds=seconds, shape=shape):
            if seconds < 0:
                yield Fault(f"{path}.bindTimeoutSeconds", f"{seconds} is negative", "0 means not to wait")
            yield from _shape(shape, f"{path}.shape")
        case DefaultPreemptionArgs():
            yield from _preemption(args, path)
        case DynamicResourcesArgs(filter_timeout=filter_timeout, binding_timeout=binding_timeout):
            if filter_timeout < Duration(0):
                yield Fault(f"{path}.filterTimeout", f"{filter_timeout} is negative", "0s means no limit")
            if binding_timeout < Duration.of_seconds(1):
                yield Fault(f"{path}.bindingTimeout", f"{binding_timeout} is less than 1s")


def _outside(value: int, low: int, high: int, path: str) -> Iterator[Fault]:
    if not low <= value <= high:
        yield Fault(path, f"{value} is not between {low} and {high}")


def _fit(args: NodeResourcesFitArgs, path: str) -> Iterator[Fault]:
    for index, resource in enumerate(args.ignored_resources):
        if problem := qualified_name_problem(resource):
            yield Fault(f"{path}.ignoredResources[{index}]", f"{show(resource)} is no resource name", problem)
    for index, group in enumerate(args.ignored_resource_groups):
        group_path = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield Fault(group_path, f"{show(group)} contains a /", "write only what stands before it")
        elif problem := qualified_name_problem(group):
            yield Fault(group_path, f"{show(group)} is no resource group", problem)
    strategy, path = args.scoring_strategy, f"{path}.scoringStrategy"
    for index, resource_spec in enumerate(strategy.resources):
        yield from _outside(resource_spec.weight, 1, _MAXIMUM_WEIGHT, f"{path}.resources[{index}].weight")
    ratio, path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type is ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield Fault(path, "required", "the strategy RequestedToCapacityRatio needs a shape")
        else:
            yield from _shape(ratio.shape, f"{path}.shape")
    elif ratio is not None:
        yield Fault(path, f"not allowed with the strategy {strategy.type}", "remove it or change type")


def _shape(shape: Sequence[UtilizationShapePoint], path: str) -> Iterator[Fault]:
    if not shape:
        yield Fault(path, "required", "give at least one point")
    for index, point in enumerate(shape):
        yield from _outside(point.utilization, 0, _MAXIMUM_UTILIZATION, f"{path}[{index}].utilization")
        yield from _outside(point.score, 0, _MAXIMUM_SHAPE_SCORE, f"{path}[{index}].score")
        if index > 0 and point.utilization <= shape[index - 1].utilization:
            message = f"{point.utilization} is not above that of the point before"
            yield Fault(f"{path}[{index}].utilization", message, "sort the points by utilization")


def _balanced_allocation(args: NodeResourcesBalancedAllocationArgs, path: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        if resource.name in seen:
            yield Fault(f"{path}.resources[{index}].name", f"{show(resource.name)} stands twice", "name it once")
        seen.add(resource.name)
        if resource.weight != 1:
            yield Fault(f"{path}.resources[{index}].weight", f"{resource.weight} is not 1", "all resources count alike")


def _preemption(args: DefaultPreemptionArgs, path: str) -> Iterator[Fault]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    if percentage is not None:
        yield from _outside(percentage, 0, 100, f"{path}.minCandidateNodesPercentage")
    if absolute is not None and absolute < 0:
        yield Fault(f"{path}.minCandidateNodesAbsolute", f"{absolute} is negative")
    if percentage == 0 and absolute == 0:
        message = "0 together with minCandidateNodesAbsolute 0 leaves no node to try"
        yield Fault(f"{path}.minCandidateNodesPercentage", message, "give one of them, or neither for all nodes")


def _topology_spread(args: PodTopologySpreadArgs, path: str) -> Iterator[Fault]:
    if args.default_constraints and args.defaulting_type is DefaultingType.SYSTEM:
        message = "System together with defaultConstraints"
        yield Fault(f"{path}.defaultingType", message, "write List, or remove the constraints")
    pairs = Counter((constraint.topology_key, constraint.when_unsatisfiable) for constraint in args.default_constraints)
    for index, constraint in enumerate(args.default_constraints):
        yield from _spread_constraint(constraint, f"{path}.defaultConstraints[{index}]")
    for (key, action), count in pairs.items():
        if count > 1:
            message = f"{count} constraints with topologyKey {show(key)} and whenUnsatisfiable {show(action)}"
            yield Fault(f"{path}.defaultConstraints", message, "keep one of them")


def _spread_constraint(constraint: TopologySpreadConstraint, path: str) -> Iterator[Fault]:
    if constraint.max_skew <= 0:
        yield Fault(f"{path}.maxSkew", f"{constraint.max_skew} is not above 0")
    if not constraint.topology_key:
        yield Fault(f"{path}.topologyKey", "required")
    elif problem := qualified_name_problem(constraint.topology_key):
        yield Fault(f"{path}.topologyKey", f"{show(constraint.topology_key)} is no label key", problem)
    if constraint.when_unsatisfiable not in {"DoNotSchedule", "ScheduleAnyway"}:
        message = f"{show(constraint.when_unsatisfiable)} is not one of DoNotSchedule, ScheduleAnyway"
        yield Fault(f"{path}.whenUnsatisfiable", message)
    if constraint.label_selector is not None:
        hint = "remove it; the selector of each pod follows from its Services and owners"
        yield Fault(f"{path}.labelSelector", "not allowed in a default constraint", hint)


def _node_affinity(affinity: NodeAffinity, path: str) -> Iterator[Fault]:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms_path = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms):
            yield from _node_selector_term(term, f"{terms_path}[{index}]")
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, wish in enumerate(preferred or ()):
        if wish.weight:
            wish_path = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from _node_selector_term(wish.preference, f"{wish_path}.preference")


def _node_selector_term(term: NodeSelectorTerm, path: str) -> Iterator[Fault]:
    for index, expression in enumerate(term.match_expressions or ()):
        yield from _label_requirement(expression, f"{path}.matchExpressions[{index}]")
    for index, expression in enumerate(term.match_fields or ()):
        yield from _field_requirement(expression, f"{path}.matchFields[{index}]")


def _label_requirement(requirement: NodeSelectorRequirement, path: str) -> Iterator[Fault]:
    if problem := qualified_name_problem(requirement.key):
        yield Fault(f"{path}.key", f"{show(requirement.key)} is no label key", problem)
    values = requirement.values or ()
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                yield Fault(f"{path}.values", f"required by the operator {requirement.operator}")
        case "Exists" | "DoesNotExist":
            if values:
                yield Fault(f"{path}.values", f"not allowed with the operator {requirement.operator}")
        case "Gt" | "Lt":
            if len(values) != 1 or not _is_int64(values[0]):
                yield Fault(f"{path}.values", f"the operator {requirement.operator} takes exactly one whole number")
        case operator:
            message = f"{show(operator)} is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt"
            yield Fault(f"{path}.operator", message)
    for index, value in enumerate(values):
        if problem := label_value_problem(value):
            yield Fault(f"{path}.values[{index}]", f"{show(value)} is no label value", problem)


def _field_requirement(requirement: NodeSelectorRequirement, path: str) -> Iterator[Fault]:
    if requirement.operator not in {"In", "NotIn"}:
        yield Fault(f"{path}.operator", f"{show(requirement.operator)} is not one of In, NotIn")
    elif len(requirement.values or ()) != 1:
        yield Fault(f"{path}.values", f"the operator {requirement.operator} on a field takes exactly one value")


def _is_int64(text: str) -> bool:
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return digits.isascii() and digits.isdigit() and len(digits) <= _MAXIMUM_DIGITS and int(text) in _INT64

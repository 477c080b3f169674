"""What the pods of a workload demand of their nodes, and whether they got it. Pure: manifests and numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.bench.errors import BenchError
from tests.bench.nodes import HOSTNAME_LABEL, ZONE_LABEL, ZONES, zone_name, zone_of
from tests.bench.pods import bound_to
from tests.controlplane.resources import Manifest

SELECTED_APPLICATIONS = 2000
"""So many applications the bound pods of the workload `selectors` belong to, in turn."""
SELECTED_PER_NODE = 2
"""So many of these stand on each node."""
_APPLICATION_LABEL = "bench/application"
_APPLICATION = "web"
# As in Kubernetes' own benchmark.
_MAX_SKEW = 5
_ALLOWED_ZONES = (0, 1)


@dataclass(frozen=True)
class Placement:
    """Where the pods of a run are."""

    node_of: Sequence[int]
    """The node of each pod, in order of the pods."""
    nodes: int
    """How many nodes there are."""


Check: TypeAlias = Callable[[Placement], None]
"""Raises BenchError when pods are where they must not be."""


def belong_to_selected_applications(pod: Manifest, index: int) -> None:
    """A Variation for bound pods: the selectors of the workload `selectors` find them."""
    _label(pod, _application(index % SELECTED_APPLICATIONS))


def spread(pod: Manifest, _: int) -> None:
    """A Variation: the zones must not differ much."""
    _demand_spread(pod, _APPLICATION, _MAX_SKEW)


def check_spread(placement: Placement) -> None:
    """A Check: no two zones differ by more than the pods of `spread` allow."""
    pods_in = Counter(map(zone_of, placement.node_of))
    counts = [pods_in[zone] for zone in _zones(placement.nodes)]
    if max(counts) - min(counts) > _MAX_SKEW:
        raise BenchError(f"the zones have {counts} pods, which differ by more than {_MAX_SKEW}")


def anti_affinity(pod: Manifest, _: int) -> None:
    """A Variation: one pod a node."""
    _demand_anti_affinity(pod, _APPLICATION)


def check_anti_affinity(placement: Placement) -> None:
    """A Check: no two pods share a node."""
    ((node, count),) = Counter(placement.node_of).most_common(1)
    if count > 1:
        raise BenchError(f"node {node} has {count} pods that repel one another")


def node_affinity(pod: Manifest, _: int) -> None:
    """A Variation: two zones of three."""
    zones = [zone_name(zone) for zone in _ALLOWED_ZONES]
    expression = {"key": ZONE_LABEL, "operator": "In", "values": zones}
    terms = [{"matchExpressions": [expression]}]
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }


def check_node_affinity(placement: Placement) -> None:
    """A Check: no pod is in the third zone."""
    zones = set(map(zone_of, placement.node_of))
    if not zones <= {*_ALLOWED_ZONES}:
        raise BenchError(f"pods are in the zones {sorted(zones)}, and only {[*_ALLOWED_ZONES]} are allowed")


def preferred_affinity(pod: Manifest, _: int) -> None:
    """A Variation: all pods in one zone, if possible."""
    _demand_preferred_affinity(pod, _APPLICATION)


def check_preferred_affinity(placement: Placement) -> None:
    """A Check: all pods are in the zone of the first."""
    zones = set(map(zone_of, placement.node_of))
    if len(zones) > 1:
        raise BenchError(f"pods are in the zones {sorted(zones)}, though each prefers the zone of the first")


def own_selector(pod: Manifest, index: int) -> None:
    """A Variation: each pod demands something of the pods of its own application: spread, distance or company."""
    _SELECTING[index % len(_SELECTING)].demand(pod, _application(index))


def check_own_selector(placement: Placement) -> None:
    """A Check: each pod is where it may be, given the bound pods of its application."""
    found: list[list[int]] = [[] for _ in range(max(SELECTED_APPLICATIONS, len(placement.node_of)))]
    for bound in range(SELECTED_PER_NODE * placement.nodes):
        found[bound % SELECTED_APPLICATIONS].append(bound_to(bound, placement.nodes))
    for index, node in enumerate(placement.node_of):
        selecting = _SELECTING[index % len(_SELECTING)]
        if not selecting.is_met(node, found[index], placement.nodes):
            raise BenchError(
                f"pod {index} is on node {node} in spite of its {selecting.name}; its selector finds {found[index]}"
            )


@dataclass(frozen=True)
class _Selecting:
    """A demand with a selector, made by a pod whose application has pods on some nodes already."""

    name: str
    demand: Callable[[Manifest, str], None]
    is_met: Callable[[int, Sequence[int], int], bool]
    """Whether the pod may be on a node, given the nodes of the pods found and the number of nodes."""


def _keeps_skew(node: int, found: Sequence[int], nodes: int) -> bool:
    counts = _by_zone(found, nodes)
    return counts[zone_of(node)] + 1 - min(counts) <= 1


def _is_alone(node: int, found: Sequence[int], _: int) -> bool:
    return node not in found


def _has_company(node: int, found: Sequence[int], _: int) -> bool:
    # The first pod of an application that demands its own company may be anywhere.
    return not found or zone_of(node) in map(zone_of, found)


def _has_most_company(node: int, found: Sequence[int], nodes: int) -> bool:
    counts = _by_zone(found, nodes)
    return counts[zone_of(node)] == max(counts)


def _demand_spread(pod: Manifest, application: str, max_skew: int = 1) -> None:
    constraint = {"maxSkew": max_skew, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule"}
    pod["spec"]["topologySpreadConstraints"] = [constraint | _label(pod, application)]


def _demand_anti_affinity(pod: Manifest, application: str) -> None:
    _demand_of_pods(pod, "podAntiAffinity", [{"topologyKey": HOSTNAME_LABEL} | _label(pod, application)])


def _demand_affinity(pod: Manifest, application: str) -> None:
    _demand_of_pods(pod, "podAffinity", [{"topologyKey": ZONE_LABEL} | _label(pod, application)])


def _demand_preferred_affinity(pod: Manifest, application: str) -> None:
    term = {"topologyKey": ZONE_LABEL} | _label(pod, application)
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    pod["spec"]["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _demand_of_pods(pod: Manifest, kind: str, terms: list[Manifest]) -> None:
    pod["spec"]["affinity"] = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _label(pod: Manifest, application: str) -> dict[str, Any]:
    """Let the pod belong to the application; returns the selector of its pods."""
    labels = {_APPLICATION_LABEL: application}
    pod["metadata"]["labels"] |= labels
    return {"labelSelector": {"matchLabels": labels}}


def _application(index: int) -> str:
    return f"application-{index}"


def _by_zone(nodes_of_pods: Iterable[int], nodes: int) -> list[int]:
    pods_in = Counter(map(zone_of, nodes_of_pods))
    return [pods_in[zone] for zone in _zones(nodes)]


def _zones(nodes: int) -> range:
    """The zones that have a node."""
    return range(min(ZONES, nodes))


_SELECTING = (
    _Selecting("spread", _demand_spread, _keeps_skew),
    _Selecting("anti-affinity", _demand_anti_affinity, _is_alone),
    _Selecting("affinity", _demand_affinity, _has_company),
    _Selecting("preferred affinity", _demand_preferred_affinity, _has_most_company),
)

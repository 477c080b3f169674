"""What the API server would refuse to store, as far as a scheduler would stumble over it or read it in a wrong way.

Whatever passes here could stand in a cluster, however odd it is; the simulation then deals with it as the scheduler
does. Each function yields the path of a field and what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Any, Final

from scheduler.api.quantity import nano_value
from scheduler.api.selectors import SelectorError, compile_node_term
from scheduler.api.types import (
    Affinity,
    Container,
    Node,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.simulator.object_validity import object_problems
from scheduler.simulator.validity_rules import (
    INT32,
    POLICIES,
    Problems,
    amounts,
    label_selector,
    labels,
    namespace,
    node_selector,
    one_of,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME: Final = 253
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_PORTS: Final = range(1, 65_536)
_WEIGHTS: Final = range(1, 101)


class Validity:
    """Checks objects. Parts that pods share are checked once: it remembers the good ones."""

    def __init__(self) -> None:
        self._good: dict[tuple[str, int], object] = {}

    def problems(self, obj: ApiObject) -> Problems:
        """What is wrong with a decoded object."""
        if not _NAME.fullmatch(obj.metadata.name) or len(obj.metadata.name) > _LONGEST_NAME:
            rule = "a name has lower-case letters, digits, - and ., and begins and ends with a letter or digit"
            yield "metadata.name", f'"{obj.metadata.name}": {rule}'
        if obj.metadata.namespace:
            yield from namespace(obj.metadata.namespace, "metadata.namespace")
        yield from self._once(labels, obj.metadata.labels, "metadata.labels")
        if isinstance(obj, Pod):
            yield from self._pod(obj)
        elif isinstance(obj, Node):
            yield from _taints(obj.spec.taints or ())
            yield from amounts(obj.status.capacity, "status.capacity")
            yield from amounts(obj.status.allocatable, "status.allocatable")
        else:
            yield from object_problems(obj)

    def _once(self, check: Callable[[Any], Problems], part: object, path: str) -> Problems:
        """The check of a part, left out for a part (the same object) that was good before."""
        if part is None:
            return
        key = (path, id(part))
        if key in self._good:
            return
        found = list(check(part))
        if not found:
            self._good[key] = part  # held, so that the identity stays taken
        for inner, message in found:
            yield (f"{path}{inner}" if inner.startswith("[") else f"{path}.{inner}"), message

    def _pod(self, pod: Pod) -> Problems:
        spec = pod.spec
        if not spec.containers:
            yield "spec.containers", "a pod has at least one container"
        yield from self._once(_containers, spec.containers, "spec.containers")
        yield from self._once(_containers, spec.init_containers, "spec.initContainers")
        yield from self._once(labels, spec.node_selector, "spec.nodeSelector")
        yield from self._once(_affinity, spec.affinity, "spec.affinity")
        yield from self._once(_tolerations, spec.tolerations, "spec.tolerations")
        yield from self._once(_constraints, spec.topology_spread_constraints, "spec.topologySpreadConstraints")
        yield from self._once(_resources, spec.resources, "spec.resources")
        yield from amounts(spec.overhead, "spec.overhead")
        yield from one_of(spec.preemption_policy, POLICIES, "spec.preemptionPolicy")
        if spec.priority is not None and spec.priority not in INT32:
            yield "spec.priority", f"{spec.priority} is not between -2147483648 and 2147483647"
        gates = [gate.name for gate in spec.scheduling_gates or ()]
        if gates and spec.node_name:
            yield "spec.schedulingGates", "a pod that is on a node can't be held back"


def _containers(containers: tuple[Container, ...]) -> Problems:
    for index, container in enumerate(containers):
        if container.resources is not None:
            for path, message in _resources(container.resources):
                yield f"[{index}].resources.{path}", message
        for number, port in enumerate(container.ports or ()):
            at = f"[{index}].ports[{number}]"
            if port.container_port not in _PORTS:
                yield f"{at}.containerPort", f"{port.container_port} is not between 1 and 65535"
            if port.host_port and port.host_port not in _PORTS:
                yield f"{at}.hostPort", f"{port.host_port} is not between 1 and 65535"
            yield from one_of(port.protocol, _PROTOCOLS, f"{at}.protocol")


def _resources(resources: ResourceRequirements) -> Problems:
    yield from amounts(resources.requests, "requests")
    yield from amounts(resources.limits, "limits")
    limits = resources.limits or {}
    for name, amount in (resources.requests or {}).items():
        if name in limits and nano_value(amount) > nano_value(limits[name]):
            yield f"requests.{name}", f"{amount} is more than the limit of {limits[name]}"


def _taints(taints: tuple[Taint, ...]) -> Problems:
    for index, taint in enumerate(taints):
        path = f"spec.taints[{index}]"
        if not taint.key:
            yield f"{path}.key", "is missing"
        yield from one_of(taint.effect, _EFFECTS, f"{path}.effect")


def _tolerations(tolerations: tuple[Toleration, ...]) -> Problems:
    for index, toleration in enumerate(tolerations):
        yield from one_of(toleration.operator or None, ("Equal", "Exists"), f"[{index}].operator")
        yield from one_of(toleration.effect or None, _EFFECTS, f"[{index}].effect")
        if not toleration.key and toleration.operator != "Exists":
            yield f"[{index}].operator", "must be Exists where there is no key"
        if toleration.operator == "Exists" and toleration.value:
            yield f"[{index}].value", "must be empty where the operator is Exists"


def _constraints(constraints: tuple[TopologySpreadConstraint, ...]) -> Problems:
    seen: set[Hashable] = set()
    for index, constraint in enumerate(constraints):
        path = f"[{index}]"
        if constraint.max_skew <= 0:
            yield f"{path}.maxSkew", f"{constraint.max_skew} is not above 0"
        if not constraint.topology_key:
            yield f"{path}.topologyKey", "is missing"
        action = constraint.when_unsatisfiable
        yield from one_of(action, ("DoNotSchedule", "ScheduleAnyway"), f"{path}.whenUnsatisfiable")
        if constraint.min_domains is not None and (constraint.min_domains <= 0 or action != "DoNotSchedule"):
            yield f"{path}.minDomains", "must be above 0, and whenUnsatisfiable DoNotSchedule"
        for name, policy in (
            ("nodeAffinityPolicy", constraint.node_affinity_policy),
            ("nodeTaintsPolicy", constraint.node_taints_policy),
        ):
            yield from one_of(policy, ("Honor", "Ignore"), f"{path}.{name}")
        if (constraint.topology_key, action) in seen:
            yield path, f"topologyKey {constraint.topology_key} with {action} stands twice"
        seen.add((constraint.topology_key, action))
        yield from label_selector(constraint.label_selector, f"{path}.labelSelector")


def _affinity(affinity: Affinity) -> Problems:
    if affinity.node_affinity is not None:
        yield from _node_affinity(affinity.node_affinity)
    for name, part in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if part is not None:
            yield from _pod_affinity(part, name)


def _node_affinity(affinity: NodeAffinity) -> Problems:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        path = f"nodeAffinity.{_REQUIRED}"
        if not required.node_selector_terms:
            yield f"{path}.nodeSelectorTerms", "has at least one term"
        yield from node_selector(required, path)
    for index, wish in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        path = f"nodeAffinity.{_PREFERRED}[{index}]"
        yield from _weight(wish.weight, path)
        try:
            compile_node_term(wish.preference)
        except SelectorError as error:
            at, _, message = str(error).partition(": ")
            yield f"{path}.preference.{at}", message


def _pod_affinity(affinity: PodAffinity | PodAntiAffinity, name: str) -> Problems:
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution or ()):
        yield from _term(term, f"{name}.{_REQUIRED}[{index}]")
    for index, wish in enumerate(affinity.preferred_during_scheduling_ignored_during_execution or ()):
        path = f"{name}.{_PREFERRED}[{index}]"
        yield from _weight(wish.weight, path)
        yield from _term(wish.pod_affinity_term, f"{path}.podAffinityTerm")


def _term(term: PodAffinityTerm, path: str) -> Problems:
    if not term.topology_key:
        yield f"{path}.topologyKey", "is missing"
    yield from label_selector(term.label_selector, f"{path}.labelSelector")
    yield from label_selector(term.namespace_selector, f"{path}.namespaceSelector")


def _weight(weight: int, path: str) -> Problems:
    if weight not in _WEIGHTS:
        yield f"{path}.weight", f"{weight} is not between 1 and 100"

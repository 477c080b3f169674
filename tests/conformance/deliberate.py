"""Where Podium deliberately decides otherwise than kube-scheduler, by name.

The name of a rule is the heading of its entry in docs/differences.md. A difference that a rule explains is counted
under the name and is none; whatever no rule explains fails the comparison.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from tests.conformance.case import Case, Step

_NOT_FOUND = " not found"
_MOST_SORTED_IN_ORDER = 12
"""Go sorts so many elements by insertion, which keeps equal ones in their order; more of them by other means."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A deliberate difference.

    Attributes:
        name: the heading in docs/differences.md.
        explains: whether it may be why the step at this index of the case differs.
        in_preemption_only: whether it explains nothing beyond what preemption found.
    """

    name: str
    explains: Callable[[Case, int], bool]
    in_preemption_only: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """A deliberate difference that shows in so small a place that the golden is corrected and the rest compared.

    Attributes:
        name: the heading in docs/differences.md.
        correct: the golden step as Podium would have it; None where the rule has nothing to do with it.
    """

    name: str
    correct: Callable[[Step], Step | None]


class _Port(msgspec.Struct, rename={"host_port": "hostPort", "host_ip": "hostIP"}):
    host_port: int = 0
    host_ip: str = "0.0.0.0"
    protocol: str = "TCP"


class _Container(msgspec.Struct, rename="camel"):
    ports: tuple[_Port, ...] = ()
    restart_policy: str = ""


class _Constraint(msgspec.Struct, rename="camel"):
    when_unsatisfiable: str
    label_selector: dict[str, object] | None = None


class _Volume(msgspec.Struct, rename="camel"):
    persistent_volume_claim: dict[str, object] | None = None
    ephemeral: dict[str, object] | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""
    volumes: tuple[_Volume, ...] = ()
    priority: int = 0
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    topology_spread_constraints: tuple[_Constraint, ...] = ()


class _Status(msgspec.Struct, rename="camel"):
    nominated_node_name: str = ""
    start_time: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status

    def has_claims(self) -> bool:
        """Whether it mounts a PersistentVolumeClaim."""
        return any(volume.persistent_volume_claim or volume.ephemeral for volume in self.spec.volumes)

    def host_ports(self) -> Iterator[tuple[str, str, int]]:
        """Address, protocol and number of each that the pod holds while it runs."""
        for container in (*self.spec.containers, *self.spec.init_containers):
            for port in container.ports:
                if port.host_port and (container in self.spec.containers or container.restart_policy == "Always"):
                    yield port.host_ip, port.protocol, port.host_port


def _pods(case: Case) -> dict[str, _Pod]:
    pods = [msgspec.json.decode(raw, type=_Pod) for raw in case.objects if b'"kind":"Pod"' in bytes(raw)]
    return {f"{pod.metadata.namespace}/{pod.metadata.name}": pod for pod in pods}


def _placed(case: Case, index: int) -> dict[str, str]:
    """Node by pod before the step at this index, evicted pods included."""
    nodes = {name: pod.spec.node_name for name, pod in _pods(case).items() if pod.spec.node_name}
    return nodes | {step.pod: step.assumed for step in case.steps[:index] if step.assumed}


def _port_is_shared(case: Case, index: int) -> bool:
    """The pod wants a host port, several pods on a node have the same one, and one of these left or may be evicted."""
    before = [step for step in case.steps[:index] if step.preemption is not None]
    evicted = any(step.preemption is not None and step.preemption.victims for step in before)
    pods = _pods(case)
    if not any(pods[case.steps[index].pod].host_ports()) or not (evicted or case.steps[index].preemption is not None):
        return False
    placed = _placed(case, index)
    nominated = {step.pod: step.preemption.chosen for step in before if step.preemption is not None}
    seen: set[tuple[str, tuple[str, str, int]]] = set()
    shared = False
    for name, pod in pods.items():
        for node in {placed.get(name, ""), nominated.get(name, ""), pod.status.nominated_node_name} - {""}:
            places = {(node, port) for port in pod.host_ports()}
            shared = shared or not places.isdisjoint(seen)
            seen |= places
    return shared


def _claims_in_two_profiles(case: Case, index: int) -> bool:
    """The pod mounts a claim, and so does one of another profile that was placed before it."""
    pods = _pods(case)
    pod = pods[case.steps[index].pod]
    others = [pods[step.pod] for step in case.steps[:index] if step.assumed]
    elsewhere = any(each.has_claims() and each.spec.scheduler_name != pod.spec.scheduler_name for each in others)
    return pod.has_claims() and elsewhere


def _leaving_pods_and_spread(case: Case, index: int) -> bool:
    """The pod must be spread, and pods that are being deleted are on nodes."""
    pods = _pods(case)
    constraints = pods[case.steps[index].pod].spec.topology_spread_constraints
    hard = any(constraint.when_unsatisfiable == "DoNotSchedule" for constraint in constraints)
    by_default = b"defaultConstraints" in msgspec.json.encode(case.config)
    leaving = any(pod.metadata.deletion_timestamp and pod.spec.node_name for pod in pods.values())
    return (hard or by_default) and leaving


def _empty_selector_and_nominations(case: Case, index: int) -> bool:
    """The pod must be spread among pods that an empty selector selects, and pods may be nominated or evicted."""
    pods = _pods(case)
    constraints = pods[case.steps[index].pod].spec.topology_spread_constraints
    empty = any(each.when_unsatisfiable == "DoNotSchedule" and each.label_selector == {} for each in constraints)
    nominated = any(pod.status.nominated_node_name for pod in pods.values())
    return empty and (nominated or any(step.preemption is not None for step in case.steps[: index + 1]))


def _many_equal_victims(case: Case, index: int) -> bool:
    """On a node there are more pods of lower priority than Go sorts in order, and equal ones are among them."""
    pods = _pods(case)
    priority = pods[case.steps[index].pod].spec.priority
    by_node: dict[str, list[tuple[int, str]]] = {}
    for name, node in _placed(case, index).items():
        if pods[name].spec.priority < priority:
            by_node.setdefault(node, []).append((pods[name].spec.priority, pods[name].status.start_time))
    return any(len(set(keys)) < len(keys) and len(keys) > _MOST_SORTED_IN_ORDER for keys in by_node.values())


def _without_not_found(step: Step) -> Step | None:
    """PostFilter ended before preemption, with an error of DynamicResources, whose text is "not found"."""
    preemption = step.preemption
    if preemption is None or preemption.not_run is None or not step.message.endswith(_NOT_FOUND):
        return None
    return replace(step, message=step.message.removesuffix(_NOT_FOUND), preemption=None)


RULES = (
    Rule("Profiles know of each other's volumes", _claims_in_two_profiles, in_preemption_only=False),
    Rule("A host port stays taken while one of several pods uses it", _port_is_shared, in_preemption_only=False),
    Rule(
        "A pod that is being deleted is left out of the spread throughout",
        _leaving_pods_and_spread,
        in_preemption_only=True,
    ),
    Rule(
        "An empty selector spreads among nobody, nominated pods and victims included",
        _empty_selector_and_nominations,
        in_preemption_only=False,
    ),
    Rule("Victims that are equal stand in the order they came", _many_equal_victims, in_preemption_only=True),
)
CORRECTIONS = (Correction("A message ends with its reason", _without_not_found),)
NAMES = tuple(rule.name for rule in (*RULES, *CORRECTIONS))

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


@dataclass(frozen=True, slots=True)
class Rule:
    """A deliberate difference.

    Attributes:
        name: the heading in docs/differences.md.
        explains: whether it may be why the step at this index of the case differs.
    """

    name: str
    explains: Callable[[Case, int], bool]


@dataclass(frozen=True, slots=True)
class Correction:
    """A deliberate difference that shows in so small a place that the golden is corrected and the rest compared.

    Attributes:
        name: the heading in docs/differences.md.
        correct: the golden step as Podium would have it; None where the rule has nothing to do with it.
    """

    name: str
    correct: Callable[[Step], Step | None]


class _Port(msgspec.Struct, rename="camel", frozen=True):
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class _Container(msgspec.Struct):
    ports: tuple[_Port, ...] = ()
    restart_policy: str = msgspec.field(default="", name="restartPolicy")


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()


class _Status(msgspec.Struct, rename="camel"):
    nominated_node_name: str = ""


class _Object(msgspec.Struct):
    kind: str
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


def _host_ports(pod: _Object) -> Iterator[_Port]:
    spec = pod.spec or _Spec()
    for container in (*spec.containers, *spec.init_containers):
        for port in container.ports:
            if port.host_port and (container in spec.containers or container.restart_policy == "Always"):
                yield port


def _port_is_shared(case: Case, index: int) -> bool:
    """The pod wants a host port, several pods on a node have the same one, and one of these left or may be evicted."""
    before = [step.preemption for step in case.steps[:index] if step.preemption is not None]
    if case.steps[index].preemption is None and not any(preemption.victims for preemption in before):
        return False
    seen: set[tuple[str, _Port]] = set()
    pods = {}
    for raw in case.objects:
        if b'"hostPort"' in bytes(raw):
            pod = msgspec.json.decode(raw, type=_Object)
            pods[f"{pod.metadata.namespace}/{pod.metadata.name}"] = pod
    if case.steps[index].pod not in pods:
        return False
    placed = {step.pod: step.assumed for step in case.steps[:index]}
    nominated = {step.pod: step.preemption.chosen for step in case.steps[:index] if step.preemption is not None}
    shared = False
    for name, pod in pods.items():
        spec, status = pod.spec or _Spec(), pod.status or _Status()
        for node in {spec.node_name, placed.get(name, ""), nominated.get(name, ""), status.nominated_node_name} - {""}:
            for port in _host_ports(pod):
                shared = shared or (node, port) in seen
                seen.add((node, port))
    return shared


def _without_not_found(step: Step) -> Step | None:
    """PostFilter ended before preemption, with an error of DynamicResources, whose text is "not found"."""
    preemption = step.preemption
    if preemption is None or preemption.not_run is None or not step.message.endswith(_NOT_FOUND):
        return None
    return replace(step, message=step.message.removesuffix(_NOT_FOUND), preemption=None)


RULES = (Rule("A host port stays taken while one of several pods uses it", _port_is_shared),)
CORRECTIONS = (Correction("A message ends with its reason", _without_not_found),)
NAMES = tuple(rule.name for rule in (*RULES, *CORRECTIONS))

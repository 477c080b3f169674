"""What a pod asks of a node: resources, host ports, images.

Resources are added up as exact amounts and rounded once, at the end. The steps are those of the API's own definition:

1. the regular containers and the sidecars (init containers that restart always) together;
2. each other init container together with the sidecars before it; per resource the greatest of these and of step 1;
3. requests of the pod as a whole (cpu, memory, huge pages) replace the sums for the resources they name;
4. the overhead is added.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from scheduler.api.meta import ResourceList
from scheduler.api.pod import Container, Pod, ResourceRequirements
from scheduler.api.quantity import NANO_PER_MILLI, NANO_PER_UNIT, in_units, nano_value
from scheduler.api.sharing import SharingTable

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"

DEFAULT_CPU_MILLI: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024
"""What a container that states no request is taken to use when nodes are scored."""

_DEFAULTS_NANO: Final = {CPU: DEFAULT_CPU_MILLI * NANO_PER_MILLI, MEMORY: DEFAULT_MEMORY_BYTES * NANO_PER_UNIT}

Amounts = dict[str, int]
"""Resource name to billionths."""

RequestsOf = Callable[[Container], ResourceList | None]
"""One of the views on a container's requests: as stated, as promised by the node, as in force."""


class Requests(Struct, frozen=True, cache_hash=True):
    """What a pod asks for, as a value: pods that ask the same are equal here.

    `amounts` has the named resources in order of name, cpu in thousandths, all others in whole units; a resource that
    the pod names with an amount of 0 is there, one it does not name is not. Names a scheduler does not count (`pods`,
    names without a domain) are left out.

    The rest serves scoring only, where a container without a request counts with the defaults above. `non_zero_…` is
    what the pod adds to its node's use; requests of the pod as a whole count there, and no default is taken for a
    resource stated anywhere. `scoring_amounts` is what the pod asks while it is being placed: the sums over containers
    and the overhead, whatever the pod asks as a whole (so does kube-scheduler's NodeResourcesFit, by the oracle).
    `balanced_amounts` is what NodeResourcesBalancedAllocation takes the pod to ask: `amounts`, but for a pod without a
    node whose status tells of resources all the same, it is what the pod would count for on a node.
    """

    amounts: tuple[tuple[str, int], ...]
    non_zero_cpu_milli: int
    non_zero_memory_bytes: int
    scoring_amounts: tuple[tuple[str, int], ...]
    balanced_amounts: tuple[tuple[str, int], ...]

    def get(self, name: str) -> int:
        """The amount asked of a resource, 0 when it is not named."""
        return _amount(self.amounts, name)

    def get_for_scoring(self, name: str) -> int:
        """The same of `scoring_amounts`."""
        return _amount(self.scoring_amounts, name)

    def get_for_balance(self, name: str) -> int:
        """The same of `balanced_amounts`."""
        return _amount(self.balanced_amounts, name)


def _amount(amounts: tuple[tuple[str, int], ...], name: str) -> int:
    for resource, amount in amounts:
        if resource == name:
            return amount
    return 0


def is_extended_resource(name: str) -> bool:
    """Whether the name is that of a resource which a device plugin or an operator brings (`nvidia.com/gpu`)."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def is_scalar_resource(name: str) -> bool:
    """Whether a scheduler counts the resource beside cpu, memory and ephemeral storage."""
    return (
        is_extended_resource(name) or "kubernetes.io/" in name or name.startswith(("hugepages-", "attachable-volumes-"))
    )


def pod_requests(pod: Pod) -> Requests:
    """What a pod that is to be placed asks for, by its spec alone.

    Pods with the same containers (the same objects) get the same result without counting again.

    Raises:
        QuantityError: when an amount is no quantity.
    """
    if _reports_resources(pod):
        return _counted(_all_parts(pod), pod, _spec_amounts)
    spec = pod.spec
    return _counted((spec.containers, spec.init_containers, spec.overhead, spec.resources), pod, _spec_amounts)


def assigned_pod_requests(pod: Pod) -> Requests:
    """What a pod takes of the node it is on: while it is resized in place, the most that it may be using.

    Raises:
        QuantityError: when an amount is no quantity.
    """
    return _counted(_all_parts(pod), pod, _assigned_amounts) if _reports_resources(pod) else pod_requests(pod)


def _reports_resources(pod: Pod) -> bool:
    """Whether the status says anything about resources, so that the spec is not all there is to count."""
    status = pod.status
    reported = status.container_statuses or status.init_container_statuses or status.resources
    return bool(reported) or _is_resize_infeasible(pod)


def _all_parts(pod: Pod) -> tuple[object, ...]:
    spec, status = pod.spec, pod.status
    return (
        *(spec.containers, spec.init_containers, spec.overhead, spec.resources),
        *(status.container_statuses, status.init_container_statuses, status.allocated_resources, status.resources),
        status.conditions,
    )


_LARGEST_CACHE: Final = 16_384
_known: Final[dict[tuple[int, ...], tuple[object, Requests]]] = {}
_equal: Final[SharingTable[Requests, Requests]] = SharingTable(lambda requests: requests)


def _counted(parts: tuple[object, ...], pod: Pod, amounts_of: Callable[[Pod, Amounts], Amounts]) -> Requests:
    """The pod's requests, remembered by the identity of the parts they follow from; those are held, so it stays one."""
    ids = (id(amounts_of), *map(id, parts))
    known = _known.get(ids)
    if known is None:
        if len(_known) >= _LARGEST_CACHE:
            _known.clear()
        known = _known[ids] = (parts, _equal[_count(pod, amounts_of)])
    return known[1]


def _count(pod: Pod, amounts_of: Callable[[Pod, Amounts], Amounts]) -> Requests:
    stated = amounts_of(pod, {})
    amounts = _rounded(stated)
    non_zero = scoring = amounts_of(pod, _DEFAULTS_NANO)
    if _pod_level(pod.spec.resources):
        non_zero = amounts_of(pod, {name: amount for name, amount in _DEFAULTS_NANO.items() if name not in stated})
        scoring = _container_amounts(pod, _DEFAULTS_NANO)
    return Requests(
        amounts,
        in_units(non_zero.get(CPU, 0), NANO_PER_MILLI),
        in_units(non_zero.get(MEMORY, 0), NANO_PER_UNIT),
        _rounded(scoring),
        _rounded(_assigned_amounts(pod, {})) if _reports_resources(pod) else amounts,
    )


def _rounded(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    return tuple(
        (name, in_units(amount, NANO_PER_MILLI if name == CPU else NANO_PER_UNIT))
        for name, amount in sorted(amounts.items())
        if name in {CPU, MEMORY, EPHEMERAL_STORAGE} or is_scalar_resource(name)
    )


def _container_amounts(pod: Pod, defaults: Amounts) -> Amounts:
    total = _sum_containers(pod, defaults, _stated)
    _add(total, _amounts(pod.spec.overhead))
    return total


def _spec_amounts(pod: Pod, defaults: Amounts) -> Amounts:
    total = _sum_containers(pod, defaults, _stated)
    total.update(_pod_level(pod.spec.resources))
    _add(total, _amounts(pod.spec.overhead))
    return total


def _assigned_amounts(pod: Pod, defaults: Amounts) -> Amounts:
    """As `_spec_amounts`, each step at the most of what is stated, promised (allocated) and in force (actual).

    What is stated does not count when the node said that it can never be given.
    """
    status = pod.status
    infeasible = _is_resize_infeasible(pod)
    actual = status.resources.requests if status.resources else None
    total: Amounts = {} if infeasible else _sum_containers(pod, defaults, _stated)
    if status.allocated_resources is not None and actual is not None:
        _raise(total, _amounts(status.allocated_resources))
        _raise(total, _amounts(actual))
    else:
        promised, in_force = _reported_by_container(pod, infeasible)
        _raise(total, _sum_containers(pod, defaults, promised))
        _raise(total, _sum_containers(pod, defaults, in_force))
    pod_level = _pod_level(pod.spec.resources)
    if pod_level and status.resources is not None:
        pod_level = {} if infeasible else pod_level
        _raise(pod_level, _supported(_amounts(actual)))
        _raise(pod_level, _supported(_amounts(status.allocated_resources)))
    total.update(pod_level)
    _add(total, _amounts(pod.spec.overhead))
    return total


def _reported_by_container(pod: Pod, infeasible: bool) -> tuple[RequestsOf, RequestsOf]:
    """What the node promised a container and what is in force there; what it does not report is as stated."""
    status = pod.status
    reports = {each.name: each for each in status.init_container_statuses or ()}
    reports |= {each.name: each for each in status.container_statuses or ()}

    def promised(container: Container) -> ResourceList | None:
        report = reports.get(container.name)
        if report is not None and report.allocated_resources is not None:
            return report.allocated_resources
        return None if infeasible else _stated(container)

    def in_force(container: Container) -> ResourceList | None:
        report = reports.get(container.name)
        if report is not None and report.resources is not None and report.resources.requests is not None:
            return report.resources.requests
        return promised(container)

    return promised, in_force


def _sum_containers(pod: Pod, defaults: Amounts, requests_of: RequestsOf) -> Amounts:
    """Steps 1 and 2 of the module's text; `defaults` stand for what a container does not name."""
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, defaults | _amounts(requests_of(container)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers or ():
        own = defaults | _amounts(requests_of(container))
        if container.restart_policy == "Always":
            _add(total, own)
            _add(sidecars, own)
        else:
            _add(own, sidecars)
            _raise(peak, own)
    _raise(total, peak)
    return total


def _stated(container: Container) -> ResourceList | None:
    return container.resources.requests if container.resources else None


def _amounts(resources: ResourceList | None) -> Amounts:
    return {name: nano_value(quantity) for name, quantity in resources.items()} if resources else {}


def _pod_level(resources: ResourceRequirements | None) -> Amounts:
    """What the pod as a whole asks, where that may be said for a whole pod."""
    return _supported(_amounts(resources.requests)) if resources else {}


def _supported(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name in {CPU, MEMORY} or name.startswith("hugepages-")}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, least: Amounts) -> None:
    """Makes each amount at least that of `least`."""
    for name, amount in least.items():
        total[name] = max(amount, total.get(name, amount))


def _is_resize_infeasible(pod: Pod) -> bool:
    """The reason of the first condition of that type, as the node wrote it."""
    reasons = [each.reason for each in pod.status.conditions or () if each.type == "PodResizePending"]
    return reasons[:1] == ["Infeasible"]


class HostPort(Struct, frozen=True):
    """A port of the node itself; `ip` 0.0.0.0 stands for all its addresses."""

    ip: str
    protocol: str
    port: int


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The node's ports that the pod takes: those of sidecars, then of regular containers."""
    sidecars = [each for each in pod.spec.init_containers or () if each.restart_policy == "Always"]
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 (names, binds nothing)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports or ()
        if port.host_port is not None and port.host_port > 0
    )


def normalized_image_name(name: str) -> str:
    """The name as nodes list it: without a tag or digest it is the tag `latest`."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name

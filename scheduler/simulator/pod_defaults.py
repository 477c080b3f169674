"""A pod as the API server would store it, as far as a scheduler reads it: defaults, and what happens at its creation.

- absent requests are the limits; ports have a protocol and, with the host's network, its ports;
- `matchLabelKeys` and `mismatchLabelKeys` become conditions of the label selector they stand beside;
- what a pod asks as a whole is completed from what its containers ask.

Objects are never changed in place, since YAML aliases may share their parts: what needs a default is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from scheduler.api.quantity import nano_value
from scheduler.simulator.quantities import Resources, as_quantity, rounded_resources

Object = dict[str, Any]

_GRACE_PERIOD_SECONDS: Final = 30
_CONTAINERS: Final = ("containers", "initContainers")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def defaulted_pod(pod: Object, scheduler_name: str) -> Object:
    """The pod with what its author may leave out.

    Args:
        pod: every field of the right type.
        scheduler_name: of a pod that names none.
    """
    spec = dict(pod.get("spec") or {})
    spec["schedulerName"] = spec.get("schedulerName") or scheduler_name
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None or grace < 0:
        spec["terminationGracePeriodSeconds"] = _GRACE_PERIOD_SECONDS if grace is None else 1
    for name in _CONTAINERS:
        if spec.get(name):
            spec[name] = [_container(each, on_host=bool(spec.get("hostNetwork"))) for each in spec[name]]
    if spec.get("overhead"):
        spec["overhead"] = rounded_resources(spec["overhead"])
    labels = pod["metadata"].get("labels") or {}
    if spec.get("affinity"):
        spec["affinity"] = _affinity(spec["affinity"], labels)
    if spec.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = [_with_keys(each, labels) for each in spec["topologySpreadConstraints"]]
    if spec.get("resources"):
        spec["resources"] = _whole_pod(spec)
    if spec.get("volumes"):
        spec["volumes"] = [_volume(each) for each in spec["volumes"]]
    status = pod.get("status") or {}
    return {**pod, "spec": spec, "status": status if status.get("phase") else {**status, "phase": "Pending"}}


def _container(container: Object, *, on_host: bool) -> Object:
    changes: Object = {}
    resources = container.get("resources")
    if resources:
        completed = _requests_from_limits(resources)
        if completed is not resources:
            changes["resources"] = completed
    ports = container.get("ports")
    if ports and any(not port.get("protocol") or (on_host and not port.get("hostPort")) for port in ports):
        changes["ports"] = [_port(port, on_host=on_host) for port in ports]
    return {**container, **changes} if changes else container


def _requests_from_limits(resources: Object) -> Object:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    completed = rounded_resources(requests), rounded_resources(limits)
    missing = {name: amount for name, amount in completed[1].items() if name not in requests}
    if not missing and completed[0] is requests and completed[1] is limits:
        return resources
    return {**resources, "requests": {**completed[0], **missing}, **({"limits": completed[1]} if limits else {})}


def _port(port: Object, *, on_host: bool) -> Object:
    host_port = port.get("hostPort") or (port.get("containerPort") if on_host else None)
    completed = {**port, "protocol": port.get("protocol") or "TCP"}
    return completed if host_port is None else {**completed, "hostPort": host_port}


def _volume(volume: Object) -> Object:
    rbd = volume.get("rbd")
    return {**volume, "rbd": {**rbd, "pool": "rbd"}} if rbd and not rbd.get("pool") else volume


# --- label keys


def _affinity(affinity: Object, labels: Object) -> Object:
    return {
        name: _pod_affinity(part, labels) if part and name in ("podAffinity", "podAntiAffinity") else part
        for name, part in affinity.items()
    }


def _pod_affinity(part: Object, labels: Object) -> Object:
    completed = dict(part)
    if part.get(_REQUIRED):
        completed[_REQUIRED] = [_with_keys(term, labels) for term in part[_REQUIRED]]
    if part.get(_PREFERRED):
        completed[_PREFERRED] = [
            {**weighted, "podAffinityTerm": _with_keys(weighted.get("podAffinityTerm") or {}, labels)}
            for weighted in part[_PREFERRED]
        ]
    return completed


def _with_keys(term: Object, labels: Object) -> Object:
    """The term or constraint with its label keys in its selector; one without a selector selects nothing."""
    selector = term.get("labelSelector")
    if selector is None:
        return term
    keys = [("In", key) for key in term.get("matchLabelKeys") or ()]
    keys += [("NotIn", key) for key in term.get("mismatchLabelKeys") or ()]
    present = selector.get("matchExpressions") or []
    asked = [{"key": key, "operator": operator, "values": [labels[key]]} for operator, key in keys if key in labels]
    added = [each for each in asked if each not in present]  # an object from a cluster has them already
    return {**term, "labelSelector": {**selector, "matchExpressions": [*present, *added]}} if added else term


# --- what a pod asks as a whole

_Amounts = dict[str, int]


def _whole_pod(spec: Object) -> Object:
    resources = spec["resources"]
    requests = dict(rounded_resources(resources.get("requests") or {}))
    limits = dict(rounded_resources(resources.get("limits") or {}))
    if not requests and not limits:
        return {**resources}
    of_containers = _sum(spec, "limits")
    for name, amount in of_containers.items():
        if _is_huge_page(name) and name not in requests:
            limits.setdefault(name, as_quantity(amount))
    for name, amount in _sum(spec, "requests").items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, as_quantity(amount))
    for name, limit in limits.items():
        if _is_for_whole_pods(name):
            requests.setdefault(name, limit)
    for name, request in requests.items():
        if _is_for_whole_pods(name) and name not in limits and _all_limit(spec, name):
            limits[name] = as_quantity(max(of_containers[name], nano_value(request)))
    whole = {"requests": requests, "limits": limits}
    return {**resources, **{name: amounts for name, amounts in whole.items() if amounts}}


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_for_whole_pods(name: str) -> bool:
    return name in ("cpu", "memory") or _is_huge_page(name)


def _all_limit(spec: Object, name: str) -> bool:
    containers = [each for kind in _CONTAINERS for each in spec.get(kind) or ()]
    return bool(containers) and all(name in ((each.get("resources") or {}).get("limits") or {}) for each in containers)


def _sum(spec: Object, what: str) -> _Amounts:
    """What containers ask together: the regular ones and the sidecars, or an init container with those before it."""

    def of(container: Object) -> Resources:
        return (container.get("resources") or {}).get(what) or {}

    total = _combined(spec.get("containers") or (), of)
    sidecars: _Amounts = {}
    peak: _Amounts = {}
    for container in spec.get("initContainers") or ():
        own = {name: nano_value(amount) for name, amount in of(container).items()}
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            _add(own, sidecars)
        peak = {name: max(own.get(name, 0), peak.get(name, 0)) for name in {**own, **peak}}
    return {name: max(total.get(name, 0), peak.get(name, 0)) for name in {**total, **peak}}


def _combined(containers: Iterable[Object], of: Callable[[Object], Resources]) -> _Amounts:
    total: _Amounts = {}
    for container in containers:
        _add(total, {name: nano_value(amount) for name, amount in of(container).items()})
    return total


def _add(total: _Amounts, more: _Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount

"""What scoring by resources looks at: how full nodes are, and would be with the pod.

Units: cpu in milli, everything else in units (bytes for memory). Arrays are float64 holding whole
numbers, one entry a row asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from scheduler.api.requests import CPU, EPHEMERAL_STORAGE, MEMORY
from scheduler.core.framework.types import FloatArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.framework.interface import Rows

NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""Resources that are looked at whether or not the pod asks for them, and named first in messages."""


_EXACT_IN_FLOATS: Final = 2**53 // 100

N = TypeVar("N", float, FloatArray)


@dataclass(slots=True)
class Allocation(Generic[N]):
    """One resource over the rows, or on one row.

    Attributes:
        allocatable: 0 where the node does not offer it: the node is not scored by it.
        requested: by the pods already there.
        ask: by the pod to be placed.
        everywhere: whether `allocatable` is above 0 in every row.
        exact_in_floats: see `percent`.
    """

    allocatable: N
    requested: N
    ask: int
    everywhere: bool
    exact_in_floats: bool


def percent(part: N, whole: N, *, exact_in_floats: bool) -> N:
    """Whole percent of a whole that are in a part, rounded down; 0 <= part <= whole, whole > 0; overwrites the part.

    `exact_in_floats` says that wholes are below 2^53 / 100: a float quotient is then off by less than its distance to
    the next whole number.
    """
    if isinstance(part, float):
        return float(int(part) * 100 // int(whole))
    if not exact_in_floats:
        return (part.astype(np.int64) * 100 // whole.astype(np.int64)).astype(np.float64)
    part *= 100
    part /= whole
    return np.floor(part, out=part)


def allocation(
    nodes: NodeColumns, resource: str, pod: PodInfo, rows: Rows, *, non_zero_defaults: bool
) -> Allocation[FloatArray] | None:
    """How a resource stands; None for an extended resource that the pod does not ask for.

    `non_zero_defaults` counts cpu and memory of containers that state none as 100m and 200 MiB, and leaves out what the
    pod asks as a whole.
    """
    columns = _columns(nodes, resource, pod, non_zero_defaults=non_zero_defaults)
    if columns is None:
        return None
    columns.allocatable = columns.allocatable[rows]
    columns.requested = columns.requested[rows]
    return columns


def allocation_of_row(
    nodes: NodeColumns, resource: str, pod: PodInfo, row: int, *, non_zero_defaults: bool
) -> Allocation[float] | None:
    """`allocation` of one row, in plain numbers."""
    ask = pod.requests.get_for_scoring(resource) if non_zero_defaults else pod.requests.get_for_balance(resource)
    if not ask and resource not in NATIVE:
        return None
    requested = (nodes.non_zero_of_row if non_zero_defaults else nodes.requested_of_row)(resource, row)
    allocatable = nodes.allocatable_of_row(resource, row)
    return Allocation(allocatable, requested, ask, allocatable > 0, exact_in_floats=False)


def _columns(
    nodes: NodeColumns, resource: str, pod: PodInfo, *, non_zero_defaults: bool
) -> Allocation[FloatArray] | None:
    ask = pod.requests.get_for_scoring(resource) if non_zero_defaults else pod.requests.get_for_balance(resource)
    if not ask and resource not in NATIVE:
        return None
    requested = nodes.requested(resource)
    if non_zero_defaults and resource == CPU:
        requested = nodes.non_zero_cpu_milli
    elif non_zero_defaults and resource == MEMORY:
        requested = nodes.non_zero_memory_bytes
    exact = nodes.largest_allocatable(resource) < _EXACT_IN_FLOATS
    return Allocation(nodes.allocatable(resource), requested, ask, nodes.offered_everywhere(resource), exact)

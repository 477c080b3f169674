"""What scoring by resources looks at: how full nodes are, and would be with the pod.

Units: cpu in milli, everything else in units (bytes for memory). Arrays are int64, one entry a row asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from scheduler.api.requests import CPU, EPHEMERAL_STORAGE, MEMORY
from scheduler.core.framework.types import IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.framework.interface import Rows

NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""Resources that are looked at whether or not the pod asks for them, and named first in messages."""


N = TypeVar("N", int, IntArray)


@dataclass(slots=True)
class Allocation(Generic[N]):
    """One resource over the rows, or on one row.

    Attributes:
        allocatable: 0 where the node does not offer it: the node is not scored by it.
        requested: by the pods already there.
        ask: by the pod to be placed.
    """

    allocatable: N
    requested: N
    ask: int


def allocation(
    nodes: NodeColumns, resource: str, pod: PodInfo, rows: Rows, *, non_zero_defaults: bool
) -> Allocation[IntArray] | None:
    """How a resource stands; None for an extended resource that the pod does not ask for.

    `non_zero_defaults` counts cpu and memory of containers that state none as 100m and 200 MiB, and leaves out what the
    pod asks as a whole.
    """
    columns = _columns(nodes, resource, pod, non_zero_defaults=non_zero_defaults)
    if columns is None:
        return None
    return Allocation(columns.allocatable[rows], columns.requested[rows], columns.ask)


def allocation_of_row(
    nodes: NodeColumns, resource: str, pod: PodInfo, row: int, *, non_zero_defaults: bool
) -> Allocation[int] | None:
    """`allocation` of one row, in plain integers."""
    columns = _columns(nodes, resource, pod, non_zero_defaults=non_zero_defaults)
    if columns is None:
        return None
    return Allocation(columns.allocatable.item(row), columns.requested.item(row), columns.ask)


def _columns(
    nodes: NodeColumns, resource: str, pod: PodInfo, *, non_zero_defaults: bool
) -> Allocation[IntArray] | None:
    ask = pod.requests.get_for_scoring(resource) if non_zero_defaults else pod.requests.get(resource)
    if not ask and resource not in NATIVE:
        return None
    requested = nodes.requested(resource)
    if non_zero_defaults and resource == CPU:
        requested = nodes.non_zero_cpu_milli
    elif non_zero_defaults and resource == MEMORY:
        requested = nodes.non_zero_memory_bytes
    return Allocation(nodes.allocatable(resource), requested, ask)

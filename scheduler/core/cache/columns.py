"""All nodes as columns: one array a property, one row a node.

Rows are stable: a node keeps its row while it is known, a freed row is used again. Arrays grow by doubling; columns
are handed out cut to `count` rows (the highest row in use plus one); a row without a node has `exists` False.
Only the snapshot writes here, and for as long as it is open an overlay.

Amounts of resources are whole numbers kept as float64: exact below 2^53 (9 PB, 9 trillion cores), a quarter of the time
of int64 where something is divided, and a sum of absurd requests saturates instead of wrapping around.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from scheduler.api.requests import CPU, MEMORY, HostPort
from scheduler.api.types import Node, Taint
from scheduler.core.cache.cluster_objects import ClusterObjects
from scheduler.core.cache.growth import grown
from scheduler.core.cache.interning import Interned
from scheduler.core.cache.node_info import NodeInfo
from scheduler.core.cache.volume_table import VolumeTable
from scheduler.core.framework.types import BoolArray, FloatArray, IntArray, PodInfo, RowIndex

V = TypeVar("V", bound=Hashable)

MISSING: Final = -1
"""Value id of a node that lacks a label, and of a row without a node."""

NO_PODS: Final = np.iinfo(np.int64).max
"""Lowest priority on a node without pods."""

_SMALLEST_CAPACITY: Final = 64
_MOST_LABELS: Final = 1_024
"""Label keys kept as columns; pods may ask for any number of keys, such as one for each job."""


class InternedColumn(Generic[V]):
    """A property that many nodes have in common over all nodes, such as one label key or the taints.

    Attributes:
        values: the distinct values in use, by id.
        ids: int32 value id a row; MISSING where the node has no value.
        present: number of rows that have a value.
        version: grows whenever a row's id changes.
    """

    __slots__ = ("ids", "present", "values", "version")

    def __init__(self, capacity: int) -> None:
        self.values: Interned[V] = Interned()
        self.ids: IntArray = np.full(capacity, MISSING, np.int32)
        self.present = 0
        self.version = 0

    def write(self, row: int, value: V | None) -> None:
        """Set the row's value, None for none."""
        old = int(self.ids[row])
        new = MISSING if value is None else self.values.acquire(value)
        if old != MISSING:
            self.values.release(old)
        if new != old:
            self.ids[row] = new
            self.present += (new != MISSING) - (old != MISSING)
            self.version += 1


class ImageTable:
    """Which rows have which image.

    Attributes:
        rows: image name to the rows that have it.
        size_bytes: image name to its size, as the first of the nodes that have it said (so does kube-scheduler).
        version: grows with every change.
    """

    __slots__ = ("_by_row", "rows", "size_bytes", "version")

    def __init__(self) -> None:
        self.rows: dict[str, set[int]] = {}
        self.size_bytes: dict[str, int] = {}
        self.version = 0
        self._by_row: dict[int, frozenset[str]] = {}

    def write(self, row: int, node: Node | None) -> None:
        """Replace what is known of the row's images."""
        images = (node.status.images if node is not None else None) or ()
        sizes = {name: image.size_bytes or 0 for image in reversed(images) for name in reversed(image.names or ())}
        before = self._by_row.pop(row, frozenset())
        changed = before != sizes.keys()
        for name in before - sizes.keys():
            self.rows[name].discard(row)
            if not self.rows[name]:
                del self.rows[name], self.size_bytes[name]
        for name, size_bytes in sizes.items():
            rows = self.rows.setdefault(name, set())
            rows.add(row)
            if len(rows) == 1 and self.size_bytes.get(name) != size_bytes:
                self.size_bytes[name] = size_bytes
                changed = True
        if sizes:
            self._by_row[row] = frozenset(sizes)
        self.version += changed


class PortTable:
    """Which host ports are taken on which rows.

    Attributes:
        rows: (protocol, port) to the host IPs on which it is taken, each with the rows and the number of their pods
            that take it.
    """

    __slots__ = ("_by_row", "rows")

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], dict[str, dict[int, int]]] = {}
        self._by_row: dict[int, dict[HostPort, int]] = {}

    def write(self, row: int, ports: Mapping[HostPort, int]) -> None:
        """Replace what is known of the row's ports; values are numbers of pods."""
        before = self._by_row.pop(row, None)
        if before is None and not ports:
            return
        for port, pods in (before or {}).items():
            self.count(row, port, -pods)
        for port, pods in ports.items():
            self.count(row, port, pods)
        if ports:
            self._by_row[row] = dict(ports)

    def count(self, row: int, port: HostPort, pods: int) -> None:
        """So many more pods (or, negative, fewer) take the port on the row."""
        by_ip = self.rows.setdefault((port.protocol, port.port), {})
        using = by_ip.setdefault(port.ip, {})
        using[row] = using.get(row, 0) + pods
        if not using[row]:
            del using[row]
        if not using:
            del by_ip[port.ip]
        if not by_ip:
            del self.rows[port.protocol, port.port]


class Sums(NamedTuple):
    """What the pods add up to: of one row as numbers, of all rows as arrays; `requested` by resource."""

    pod_count: Any
    non_zero_cpu_milli: Any
    non_zero_memory_bytes: Any
    requested: dict[str, Any]


class NodeColumns:
    """The columns themselves. Read by plugins, written by `Snapshot`.

    Attributes:
        count: rows handed out so far; every column has this length.
        existing: how many of them hold a Node object.
        names: node name a row (kept for a row whose node is gone until the row is used again).
        images, ports: which rows have which image, and which host port taken.
        volumes: which rows have which volume mounted or attached.
    """

    def __init__(self, objects: ClusterObjects) -> None:
        self.count = 0
        self.existing = 0
        self.names: list[str] = []
        self.images = ImageTable()
        self.ports = PortTable()
        self._rows: dict[str, int] = {}
        self._name_tuple: tuple[str, ...] | None = None
        self._nodes: list[Node | None] = []
        self._capacity = _SMALLEST_CAPACITY
        self.volumes = VolumeTable(objects, self.row_of, self._capacity)
        self._exists = np.zeros(self._capacity, np.bool_)
        self._unschedulable = np.zeros(self._capacity, np.bool_)
        self._taints: InternedColumn[tuple[Taint, ...]] = InternedColumn(self._capacity)
        self._declared_features: InternedColumn[frozenset[str]] = InternedColumn(self._capacity)
        self._pod_count = np.zeros(self._capacity, np.int64)
        self._allowed_pods = np.zeros(self._capacity, np.int64)
        self._lowest_priority: IntArray = np.full(self._capacity, NO_PODS, np.int64)
        self._non_zero_cpu_milli: FloatArray = np.zeros(self._capacity)
        self._non_zero_memory_bytes: FloatArray = np.zeros(self._capacity)
        self._allocatable: dict[str, FloatArray] = {}
        self._requested: dict[str, FloatArray] = {}
        self._lacking: dict[str, int] = {}
        self._largest: dict[str, int] = {}
        self._labels: dict[str, InternedColumn[str]] = {}

    # --- reading

    @property
    def capacity(self) -> int:
        """Rows for which there is room; what is kept a row may be made so long, to grow seldom."""
        return self._capacity

    def row_of(self, name: str) -> int | None:
        """The row of the node with this name, None if there is no such node."""
        return self._rows.get(name)

    def name_tuple(self) -> tuple[str, ...]:
        """`names` as they are now, for keeping; one object until a node comes or goes."""
        if self._name_tuple is None:
            self._name_tuple = tuple(self.names)
        return self._name_tuple

    @property
    def exists(self) -> BoolArray:
        """Which rows hold a node."""
        return self._exists[: self.count]

    @property
    def unschedulable(self) -> BoolArray:
        """Which nodes are cordoned (``spec.unschedulable``)."""
        return self._unschedulable[: self.count]

    @property
    def taint_set_ids(self) -> IntArray:
        """Id of each node's tuple of taints in `taint_sets`."""
        return self._taints.ids[: self.count]

    @property
    def taint_sets(self) -> Interned[tuple[Taint, ...]]:
        """The distinct tuples of taints."""
        return self._taints.values

    @property
    def feature_set_ids(self) -> IntArray:
        """Id of each node's declared features in `feature_sets`."""
        return self._declared_features.ids[: self.count]

    @property
    def feature_sets(self) -> Interned[frozenset[str]]:
        """The distinct sets of declared features."""
        return self._declared_features.values

    @property
    def pod_count(self) -> IntArray:
        """Pods on each node."""
        return self._pod_count[: self.count]

    @property
    def lowest_priority(self) -> IntArray:
        """The lowest priority of a pod on each node; NO_PODS where there is none. No overlay changes it."""
        return self._lowest_priority[: self.count]

    @property
    def allowed_pods(self) -> IntArray:
        """Allocatable ``pods`` of each node."""
        return self._allowed_pods[: self.count]

    @property
    def non_zero_cpu_milli(self) -> FloatArray:
        """Requested cpu with scoring's default for pods that state none."""
        return self._non_zero_cpu_milli[: self.count]

    @property
    def non_zero_memory_bytes(self) -> FloatArray:
        """Requested memory with scoring's default for pods that state none."""
        return self._non_zero_memory_bytes[: self.count]

    def allocatable(self, resource: str) -> FloatArray:
        """What each node offers of a resource (cpu in milli, others in units); 0 where it does not state it."""
        return self._amounts(self._allocatable, resource)

    def allocatable_of_row(self, resource: str, row: int) -> float:
        """`allocatable` of one row, as a plain number."""
        column = self._allocatable.get(resource)
        return 0.0 if column is None else column.item(row)

    def requested_of_row(self, resource: str, row: int) -> float:
        """`requested` of one row, as a plain number."""
        column = self._requested.get(resource)
        return 0.0 if column is None else column.item(row)

    def non_zero_of_row(self, resource: str, row: int) -> float:
        """`requested_of_row` with scoring's defaults for cpu and memory."""
        if resource == CPU:
            return self._non_zero_cpu_milli.item(row)
        if resource == MEMORY:
            return self._non_zero_memory_bytes.item(row)
        return self.requested_of_row(resource, row)

    def offered_everywhere(self, resource: str) -> bool:
        """Whether no row has 0 allocatable of the resource: scoring then needs no masks."""
        return self._lacking.get(resource) == 0

    def largest_allocatable(self, resource: str) -> int:
        """No node offers more than this of the resource (one that is gone may have)."""
        return self._largest.get(resource, 0)

    def requested(self, resource: str) -> FloatArray:
        """What the pods on each node ask of a resource, in the unit of `allocatable`."""
        return self._amounts(self._requested, resource)

    def label(self, key: str) -> tuple[IntArray, Interned[str]]:
        """Value ids of a label over all nodes (MISSING where absent) and the table they index."""
        column = self.label_column(key)
        return column.ids[: self.count], column.values

    def label_column(self, key: str) -> InternedColumn[str]:
        """The label itself, whose arrays reach beyond `count`."""
        column = self._labels.pop(key, None)
        if column is None:
            column = InternedColumn(self._capacity)
            for row, node in enumerate(self._nodes):
                if node is not None and node.metadata.labels and key in node.metadata.labels:
                    column.write(row, node.metadata.labels[key])
            if len(self._labels) >= _MOST_LABELS:
                dropped = self._labels.pop(next(iter(self._labels)))
                dropped.version += 1  # what was counted by it is out of date, for it follows the nodes no longer
        self._labels[key] = column  # at the end: the first one is the one not asked for longest
        return column

    def _amounts(self, columns: dict[str, FloatArray], resource: str) -> FloatArray:
        """Of a resource that no node knows, whatever pods may call it, nothing is kept."""
        column = columns.get(resource)
        return np.zeros(self.count) if column is None else column[: self.count]

    # --- writing

    def write_node(self, row: int, info: NodeInfo) -> None:
        """Replace all that comes from the Node object, which may be gone."""
        name, node = info.name, info.node
        self._reserve(row)
        is_other = self._exists[row] != (node is not None) or self.names[row] != name
        self._forget_name(row, name, node)
        self._nodes[row] = node
        self.existing += int(node is not None) - int(self._exists[row])
        self._exists[row] = node is not None
        self._unschedulable[row] = bool(node is not None and node.spec.unschedulable)
        self._taints.write(row, tuple(node.spec.taints or ()) if node is not None else None)
        self._declared_features.write(row, frozenset(node.status.declared_features or ()) if node is not None else None)
        self._write_allocatable(row, info.allocatable)
        labels = (node.metadata.labels if node is not None else None) or {}
        for key, column in self._labels.items():
            column.write(row, labels.get(key))
        self.images.write(row, node)
        if is_other:
            self.volumes.write_node(row, name if node is not None else None)

    def write_usage(self, row: int, info: NodeInfo) -> None:
        """Replace all that comes from the pods on the node."""
        self._reserve(row)
        self._pod_count[row] = len(info.pods)
        self._lowest_priority[row] = min(info.priorities, default=NO_PODS)
        self._non_zero_cpu_milli[row] = info.non_zero_cpu_milli
        self._non_zero_memory_bytes[row] = info.non_zero_memory_bytes
        requested = info.requested
        for name in requested:
            self._resource(self._requested, name)
        for name, column in self._requested.items():
            column[row] = requested.get(name, 0)
        self.ports.write(row, info.used_ports)
        self.volumes.write(row, info.used_volumes)

    def count_pod(self, row: int, pod: PodInfo, sign: int) -> None:
        """Count a pod in (1) or out (-1); called by an overlay, which takes it back itself."""
        self._pod_count[row] += sign
        self._non_zero_cpu_milli[row] += sign * pod.requests.non_zero_cpu_milli
        self._non_zero_memory_bytes[row] += sign * pod.requests.non_zero_memory_bytes
        for name, amount in pod.requests.amounts:
            self._resource(self._requested, name)[row] += sign * amount
        for port in pod.host_ports:
            self.ports.count(row, port, sign)
        if pod.volumes:
            self.volumes.count_pod(row, pod.volumes, sign)

    def uncount_named(self, row: int, pod: PodInfo, sign: int) -> None:
        """Take back what `count_pod` did with the same arguments, but for the sums (see `restore_sums`)."""
        for port in pod.host_ports:
            self.ports.count(row, port, -sign)
        if pod.volumes:
            self.volumes.count_pod(row, pod.volumes, -sign)

    def sums_of(self, rows: int | slice) -> Sums:
        """A copy of what `count_pod` and `change_sums` change, but for ports and volumes."""
        requested = {name: column[rows].copy() for name, column in self._requested.items()}
        non_zero = self._non_zero_cpu_milli[rows].copy(), self._non_zero_memory_bytes[rows].copy()
        return Sums(self._pod_count[rows].copy(), *non_zero, requested)

    def restore_sums(self, rows: int | slice, sums: Sums) -> None:
        """Put back what `sums_of` gave for these rows."""
        self._pod_count[rows] = sums.pod_count
        self._non_zero_cpu_milli[rows] = sums.non_zero_cpu_milli
        self._non_zero_memory_bytes[rows] = sums.non_zero_memory_bytes
        for name, column in self._requested.items():
            column[rows] = sums.requested.get(name, 0)

    def change_sums(self, rows: RowIndex, pods: int | IntArray, amounts: Mapping[str, FloatArray]) -> None:
        """Add to the number of pods and to what is requested on many rows; called by an overlay."""
        self._pod_count[rows] += pods
        for name, amount in amounts.items():
            self._resource(self._requested, name)[rows] += amount

    def _forget_name(self, row: int, name: str, node: Node | None) -> None:
        previous = self.names[row]
        self._name_tuple = None
        if self._rows.get(previous) == row and (node is None or previous != name):
            del self._rows[previous]
        if node is not None:
            self._rows[name] = row
        self.names[row] = name

    def _write_allocatable(self, row: int, amounts: dict[str, int]) -> None:
        self._allowed_pods[row] = amounts.get("pods", 0)
        for name, amount in amounts.items():
            self._resource(self._allocatable, name)
            self._lacking.setdefault(name, self.count)
            self._largest[name] = max(self._largest.get(name, 0), amount)
        for name in self._lacking:
            column, amount = self._allocatable[name], amounts.get(name, 0)
            self._lacking[name] += (amount == 0) - (column.item(row) == 0)
            column[row] = amount

    def _resource(self, columns: dict[str, FloatArray], resource: str) -> FloatArray:
        column = columns.get(resource)
        if column is None:
            column = columns[resource] = np.zeros(self._capacity)
        return column

    def _reserve(self, row: int) -> None:
        if row < self.count:
            return
        self.names.extend("" for _ in range(row + 1 - self.count))
        self._nodes.extend(None for _ in range(row + 1 - self.count))
        for name in self._lacking:
            self._lacking[name] += row + 1 - self.count
        self.count = row + 1
        self._name_tuple = None
        if row < self._capacity:
            return
        while self._capacity <= row:
            self._capacity *= 2
        self.volumes.reserve(self._capacity)
        for name in (
            "_exists",
            "_unschedulable",
            "_pod_count",
            "_allowed_pods",
            "_non_zero_cpu_milli",
            "_non_zero_memory_bytes",
        ):
            setattr(self, name, grown(getattr(self, name), self._capacity, fill=0))
        self._lowest_priority = grown(self._lowest_priority, self._capacity, fill=NO_PODS)
        for columns in (self._allocatable, self._requested):
            for resource, column in columns.items():
                columns[resource] = grown(column, self._capacity, fill=0)
        by_id: list[InternedColumn[Any]] = [self._taints, self._declared_features, *self._labels.values()]
        for interned in by_id:
            interned.ids = grown(interned.ids, self._capacity, fill=MISSING)

"""`percentageOfNodesToScore`: which of the feasible nodes count where a profile asks for a sample.

All nodes are filtered in any case, for that is one look at kept columns. A sample then keeps of the feasible ones those
that kube-scheduler would have found: it goes through the nodes from where the last search ended, one of each zone in
turn, until it has enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from scheduler.core.framework.outcome import FEASIBLE, INFEASIBLE, Outcome
from scheduler.core.framework.types import IntArray, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.columns import NodeColumns
    from scheduler.core.cache.snapshot import Snapshot

_FEWEST_NODES: Final = 100
"""Fewer nodes are never sampled, and no sample is smaller."""
_FEWEST_PERCENT: Final = 5
_ALL_PERCENT: Final = 100

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"


def sample_size(percentage: int | None, nodes: int) -> int:
    """How many feasible nodes are enough.

    Args:
        percentage: 1 to 100; 0 adapts to the size of the cluster, 50 percent of a small one and 5 of a large one; None
            stands for all nodes.
        nodes: number of nodes in the cluster.
    """
    if percentage is None or percentage >= _ALL_PERCENT or nodes < _FEWEST_NODES:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, _FEWEST_PERCENT)
    return max(nodes * percentage // 100, _FEWEST_NODES)


class NodeSampling:
    """Takes samples, each from where the one before it ended. One for all profiles, as they share the nodes."""

    def __init__(self) -> None:
        self._start = 0
        self._order: RowIndex = np.empty(0, np.intp)
        self._zones: IntArray = np.empty(0, np.int64)
        self._node_changes = -1

    def reduce(self, snapshot: Snapshot, outcome: Outcome, percentage: int | None) -> int:
        """Leave only the sampled nodes in the totals of an outcome about all rows.

        Called between Filter and Score. Verdicts stay as they are.

        Returns:
            The number of nodes that had to be looked at for the sample.
        """
        nodes = snapshot.nodes.existing
        size = sample_size(percentage, nodes)
        if outcome.feasible <= size:
            return nodes  # All were gone through, so the next search begins where this one did.
        order = self._zone_order(snapshot)
        found = np.flatnonzero(outcome.rejected_by[order] == FEASIBLE)
        start = self._start % nodes
        chosen = np.roll(found, -int(np.searchsorted(found, start)))[:size]
        self._start = int(chosen[-1]) + 1
        rows = order[chosen]
        totals = np.full_like(outcome.totals, INFEASIBLE)
        totals[rows] = outcome.totals[rows]
        outcome.totals, outcome.feasible = totals, size
        return (self._start - start - 1) % nodes + 1

    def _zone_order(self, snapshot: Snapshot) -> RowIndex:
        """All rows with a node, one of each zone in turn; sorted anew only when a node came, went or changed zone."""
        if self._node_changes != snapshot.node_changes.end:
            self._node_changes = snapshot.node_changes.end
            zones = _zones(snapshot.nodes)
            if not np.array_equal(zones, self._zones):
                self._zones = zones
                self._order = _round_robin(zones)
        return self._order


def _zones(nodes: NodeColumns) -> IntArray:
    """A number for the zone of each row, the same for the same zone; -1 for a row without a node."""
    (zones, _), (regions, table) = nodes.label(_ZONE), nodes.label(_REGION)
    numbers: IntArray = (zones.astype(np.int64) + 1) * (len(table.values) + 1) + regions + 1
    numbers[~nodes.exists] = -1
    return numbers


def _round_robin(zones: IntArray) -> RowIndex:
    """The rows with a node in order of their place within their zone, then of their zone."""
    rows = np.flatnonzero(zones >= 0)
    by_zone = rows[np.argsort(zones[rows], kind="stable")]
    _, firsts, sizes = np.unique(zones[by_zone], return_index=True, return_counts=True)
    place = np.arange(len(by_zone)) - np.repeat(firsts, sizes)
    return by_zone[np.argsort(place, kind="stable")]

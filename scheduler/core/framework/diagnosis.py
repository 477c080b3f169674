"""Why a pod fits nowhere, as data and as the sentence that users see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scheduler.core.framework.outcome import FEASIBLE, NO_NODE, Int8Array
from scheduler.core.framework.status import Code, Reason, Status
from scheduler.core.framework.types import IntArray, PodInfo

if TYPE_CHECKING:
    from scheduler.core.framework.interface import FilterPlugin

_HALF = 1 << 31

NO_NODES_AVAILABLE = "no nodes available to schedule pods"


@dataclass(slots=True)
class NodeVerdicts:
    """Each node's verdict about one pod, as arrays; turned into statuses on demand. Owns its data.

    Attributes:
        names: name a row of the snapshot at that time.
        rows: rows that the arrays are about; None for all.
        rejected_by, verdicts: as in `Outcome`.
        filters: the profile's filter plugins, which `rejected_by` indexes.
        left_out: status of nodes that are not among `rows`.
    """

    pod: PodInfo
    names: Sequence[str]
    rows: Sequence[int] | None
    rejected_by: Int8Array
    verdicts: IntArray
    filters: Sequence[FilterPlugin]
    left_out: Status | None = None

    def status(self, position: int) -> Status | None:
        """The status of the node at a position of the arrays; None if it is feasible (or no node)."""
        plugin_index = int(self.rejected_by[position])
        if plugin_index in (FEASIBLE, NO_NODE):
            return None
        return self._status_of(plugin_index, int(self.verdicts[position]))

    def by_node(self) -> dict[str, Status | None]:
        """Status by node name for all nodes that were looked at. For people and tests, not for the cycle."""
        rows = range(len(self.rejected_by)) if self.rows is None else self.rows
        return {
            self.names[row]: self.status(position)
            for position, row in enumerate(rows)
            if self.rejected_by[position] != NO_NODE
        }

    def grouped(self) -> list[tuple[Status, int]]:
        """Distinct statuses of rejected nodes, each with the number of nodes; one step a distinct verdict."""
        rejected = (self.rejected_by != FEASIBLE) & (self.rejected_by != NO_NODE)
        # Plugin and verdict as one number, so that equal pairs stand side by side when sorted.
        pairs = np.sort((self.rejected_by[rejected].astype(np.int64) << 32) + self.verdicts[rejected])
        starts = np.flatnonzero(np.diff(pairs, prepend=pairs[:1] - 1))
        counts = np.diff(starts, append=len(pairs)).tolist()
        grouped = []
        for pair, count in zip(pairs[starts].tolist(), counts, strict=True):
            index = (pair + _HALF) >> 32
            grouped.append((self._status_of(index, pair - (index << 32)), count))
        return grouped

    def nodes_by_status(self) -> list[tuple[Status, list[str]]]:
        """Distinct statuses of rejected nodes, each with the names of the nodes, in the order of rows. For people."""
        rejected = (self.rejected_by != FEASIBLE) & (self.rejected_by != NO_NODE)
        positions = np.flatnonzero(rejected)
        pairs = (self.rejected_by[positions].astype(np.int64) << 32) + self.verdicts[positions]
        distinct, group = np.unique(pairs, return_inverse=True)
        answer = []
        for number, pair in enumerate(distinct.tolist()):
            index = (pair + _HALF) >> 32
            members = positions[group == number].tolist()
            rows = members if self.rows is None else [self.rows[position] for position in members]
            answer.append((self._status_of(index, pair - (index << 32)), [self.names[row] for row in rows]))
        if self.left_out is not None and self.rows is not None:
            kept = set(self.rows)
            others = [name for row, name in enumerate(self.names) if row not in kept and name]
            answer.append((self.left_out, others))
        return [(status, names) for status, names in answer if names]

    def reason_counts(self) -> Counter[str]:
        """Rejected nodes by reason text; a node may count in several."""
        counts: Counter[str] = Counter()
        for status, number in self.grouped():
            for reason in status.reasons:
                counts[reason.text] += number
        return counts

    def _status_of(self, plugin_index: int, verdict: int) -> Status:
        plugin = self.filters[plugin_index]
        status = plugin.status(self.pod, verdict)
        return Status(status.code, status.reasons, plugin.name)


@dataclass(slots=True)
class Diagnosis:
    """Why an attempt found no node.

    Attributes:
        nodes: number of nodes in the snapshot.
        rejection: the PreFilter status that ended the attempt before any node was looked at.
        verdicts: each node's verdict, when nodes were looked at.
        left_out_count: nodes that a PreFilter plugin left out.
        unschedulable_plugins: who rejected, for the queue.
        post_filter_message: what the PostFilter plugins had to say.
    """

    nodes: int
    rejection: Status | None = None
    verdicts: NodeVerdicts | None = None
    left_out_count: int = 0
    unschedulable_plugins: frozenset[str] = frozenset()
    post_filter_message: str = ""
    pending_plugins: frozenset[str] = field(default=frozenset())

    def reason_counts(self) -> Counter[str]:
        """Nodes by reason text; a node may count in several."""
        if self.verdicts is None:
            return Counter()
        counts = self.verdicts.reason_counts()
        if self.verdicts.left_out is not None and self.left_out_count:
            for reason in self.verdicts.left_out.reasons:
                counts[reason.text] += self.left_out_count
        return counts

    def message(self) -> str:
        """The text of the condition PodScheduled and of the event FailedScheduling, as kube-scheduler writes it."""
        if not self.nodes:
            return NO_NODES_AVAILABLE
        if self.rejection is not None:
            causes = f" {self.rejection.message}."
        else:
            causes = counted(self.reason_counts())
        tail = f" {self.post_filter_message}" if self.post_filter_message else ""
        return f"0/{self.nodes} nodes are available:{causes}{tail}"


def counted(reasons: Counter[str]) -> str:
    """Numbers of nodes by reason, as messages write them: sorted as text, after a blank; empty without any."""
    parts = sorted(f"{count} {text}" for text, count in reasons.items())
    return f" {', '.join(parts)}." if parts else ""


def rejected_on_one_node(status: Status) -> str:
    """The text for a pod that a plugin turned away after a node had been chosen: it speaks of that node alone."""
    return f"0/1 nodes are available: {', '.join(sorted(f'1 {reason.text}' for reason in status.reasons))}."


def left_out_status(plugins: Sequence[str], *, empty: bool, nominated_rejected_by: str = "") -> Status:
    """The status of nodes that PreFilter plugins left out.

    Args:
        plugins: who left them out, by name, sorted.
        empty: whether their sets have nothing in common.
        nominated_rejected_by: the plugin that rejected the node which the pod is nominated to. kube-scheduler notes
            both kinds of plugins in one place, and so names it here, too.
    """
    if len(plugins) == 1 and empty:
        text = f"node(s) didn't satisfy plugin {plugins[0]}"
    else:
        named = sorted({*plugins, nominated_rejected_by} - {""})
        text = f"node(s) didn't satisfy plugin(s) [{' '.join(named)}]{' simultaneously' if empty else ''}"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (Reason(text),), ",".join(plugins))

"""Who gave how much of a node's total: the scores of a few nodes taken apart by plugin, for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.evaluation import scored_by
from scheduler.core.framework.interface import Depends, Normalize
from scheduler.core.framework.outcome import FullEvaluation, Outcome, ScorePart
from scheduler.core.framework.scoring import normalized
from scheduler.core.framework.types import PodInfo, RowIndex

if TYPE_CHECKING:
    from scheduler.core.cache.snapshot import Snapshot


def score_shares(
    parts: Sequence[ScorePart],
    state: CycleState,
    pod: PodInfo,
    snapshot: "Snapshot",
    outcome: Outcome,
    positions: RowIndex,
) -> dict[str, list[int]]:
    """What each plugin gave the feasible nodes at these positions of a scored outcome: normalised score times weight.

    To be called in the cycle that made the outcome. Plugins are asked again, about these nodes alone where the answer
    for one does not depend on the others; plugins with nothing to say about the pod are left out.
    """
    if isinstance(outcome, FullEvaluation):
        return {name: scores[positions].tolist() for name, scores in outcome.weighted.items()}
    rows = positions if isinstance(outcome.rows, slice) else outcome.rows[positions]
    feasible = outcome.totals >= 0
    of_nodes = {part.plugin.name: raw for part, raw in outcome.raw_of_nodes}
    shares = {}
    for part in parts:
        plugin = part.plugin
        if plugin.score_signature(pod, snapshot) is None:
            continue
        if scored_by(plugin) is Depends.CLUSTER:
            raw = plugin.score(state, pod, snapshot, outcome.rows, feasible)
            scores = normalized(plugin, state, raw, feasible)[positions]
        elif plugin.name in of_nodes:
            scores = normalized(plugin, state, of_nodes[plugin.name], feasible)[positions]
        elif plugin.normalization is Normalize.NONE:
            shares[plugin.name] = [part.weight * plugin.score_row(state, pod, snapshot, row) for row in rows.tolist()]
            continue
        else:  # 0 on every node, or it would rank them
            scores = normalized(plugin, state, np.zeros(len(rows), np.int64), feasible[positions])
        shares[plugin.name] = (part.weight * scores).tolist()
    return shares

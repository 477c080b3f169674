"""From raw scores to the node that is chosen. Arrays are over all rows; integer division truncates as Go's does."""

import numpy as np

from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import MAX_NODE_SCORE, Normalize, ScorePlugin
from scheduler.core.framework.status import PluginError
from scheduler.core.framework.types import BoolArray, IntArray


def normalized(plugin: ScorePlugin, state: CycleState, raw: IntArray, feasible: BoolArray) -> IntArray:
    """Scores 0..100 over the feasible rows (others hold anything), by the plugin's way of normalising.

    Raises:
        PluginError: a feasible node's score lies outside 0..100.
    """
    if plugin.normalization is Normalize.NONE:
        scores = raw
    elif plugin.normalization is Normalize.OWN:
        scores = plugin.normalize(state, raw, feasible)
    else:
        scores = _default_normalized(raw, feasible, reverse=plugin.normalization is Normalize.REVERSED)
    check_bounds(plugin, scores, feasible)
    return scores


def check_bounds(plugin: ScorePlugin, scores: IntArray, feasible: BoolArray) -> None:
    """Hold a plugin to its contract before its scores are added to those of others.

    Raises:
        PluginError: a feasible row's score lies outside 0..100.
    """
    # Seen without a sign, a score below 0 is a huge one: mostly one look at all rows suffices.
    if not scores.size or scores.astype(np.uint64, copy=False).max() <= MAX_NODE_SCORE:
        return
    bounded = scores[feasible]
    if bounded.size and (bounded.min() < 0 or bounded.max() > MAX_NODE_SCORE):
        raise PluginError(plugin.name, "Score", f"a score lies outside 0..{MAX_NODE_SCORE}")


def _default_normalized(raw: IntArray, feasible: BoolArray, *, reverse: bool) -> IntArray:
    highest = int((raw * feasible).max(initial=0))
    if highest == 0:
        return np.full_like(raw, MAX_NODE_SCORE) if reverse else raw
    scores = raw * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scores if reverse else scores

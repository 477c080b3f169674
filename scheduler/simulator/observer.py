"""Keeps of each attempt what a person wants to know about it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np

from scheduler.core import algorithm
from scheduler.core.framework.diagnosis import NodeVerdicts
from scheduler.core.framework.requests import PreemptionPlan
from scheduler.core.framework.types import PodInfo
from scheduler.simulator.results import Choice, PodResult, Rejection, Score

_SHARED_REJECTIONS: Final = 4_096
_NAMED_TIES: Final = 20


class AttemptObserver:
    """Writes what it hears into the results of the pods.

    Attributes:
        terminating: victims of the last plan that were on their way out before it.
    """

    def __init__(self, results: dict[str, PodResult]) -> None:
        self.terminating: list[PodInfo] = []
        self._results = results
        self._rejections: dict[bytes, tuple[Rejection, ...]] = {}

    def chosen(self, choice: algorithm.Choice) -> None:
        """Take the totals of the winner and of the runner-up apart."""
        totals, winner = choice.outcome.totals, choice.position
        others = totals.copy()
        others[winner] = -1
        runner_up = int(others.argmax())
        shares = choice.shares(np.array([winner, runner_up], np.intp))

        def score(index: int, position: int) -> Score:
            by_plugin = {name: scores[index] for name, scores in shares.items()}
            return Score(choice.node_name(position), sum(by_plugin.values()), by_plugin)

        tied: tuple[str, ...] = ()
        count = 1
        if totals[runner_up] == totals[winner]:
            best = np.flatnonzero(totals == totals[winner])
            count = len(best)
            tied = tuple(choice.node_name(position) for position in best[:_NAMED_TIES].tolist())
        self._results[choice.pod.uid].choice = Choice(score(0, winner), score(1, runner_up), count, tied)

    def decided(self, decision: algorithm.Decision, plan: PreemptionPlan | None) -> None:
        """Note how the attempt ended."""
        result = self._results[decision.pod.uid]
        result.attempts += 1
        result.feasible_nodes = decision.feasible
        if decision.feasible == 1:
            result.choice = None
        self.terminating = []
        if decision.node_name is not None:
            return
        result.choice = None
        result.rejections = () if decision.verdicts is None else self._rejections_of(decision.verdicts)
        if plan is not None:
            victims = plan.victims
            self.terminating = [pod for pod in victims if pod.pod.metadata.deletion_timestamp is not None]

    def _rejections_of(self, verdicts: NodeVerdicts) -> tuple[Rejection, ...]:
        """The nodes by reason; one object for pods that all nodes gave the same answers."""
        texts = [(status.plugin, status.message, count) for status, count in verdicts.grouped()]
        digest = blake2b(repr((texts, verdicts.rows)).encode(), digest_size=16)
        digest.update(verdicts.rejected_by.tobytes())
        digest.update(verdicts.verdicts.tobytes())
        key = digest.digest()
        known = self._rejections.get(key)
        if known is None:
            known = tuple(
                Rejection(
                    status.plugin, status.code.label, tuple(reason.text for reason in status.reasons), tuple(nodes)
                )
                for status, nodes in verdicts.nodes_by_status()
            )
            if len(self._rejections) >= _SHARED_REJECTIONS:
                self._rejections.clear()
            self._rejections[key] = known
        return known

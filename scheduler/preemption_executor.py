"""Carries out what preemption has decided: the cluster's side of a PreemptionPlan.

::

    plan -> 1 read the preemptor -> 2 nominate it -> 3 for each victim: condition, delete, event -> done
                  |                       |                |
                  |                       +----------------+-- the preemptor lost its nomination meanwhile
                  |                       |                         -> the other victims stay
                  +-----------------------+-- gone, bound or being deleted
                                                -> its nomination ends

A process that dies anywhere on the way leaves a state that the next attempt completes: the nomination stands in the
pod's status, victims that are being deleted are waited for, the others are found again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import structlog

from scheduler.api.types import Pod, PodCondition
from scheduler.core.cache.cache import Cache
from scheduler.core.cache.nominator import Nominator
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.requests import PreemptionPlan
from scheduler.core.framework.types import PodInfo

log = structlog.get_logger(__name__)


class PreemptionWriter(Protocol):
    """The writes of a preemption; implemented by `PodWriter`. Each raises a RequestError when it does not succeed."""

    async def read(self, pod: PodInfo) -> Pod | None:
        """The pod as the API server has it; None when it is gone, also if another one has its name now."""

    async def nominate(self, pod: PodInfo, node_name: str, condition: PodCondition) -> bool:
        """Write nomination and condition into the pod's status, and the nomination into its annotation.

        False when the pod is gone.
        """

    def clear_nomination(self, pod: PodInfo) -> None:
        """Take the nomination back; returns at once."""

    async def evict(self, victim: PodInfo, preemptor: PodInfo, node_name: str) -> Pod | None:
        """Mark and delete the victim and tell of it; what is left of it, None when it is gone already."""


class PreemptionExecutor:
    """Carries plans out, any number at a time. One per process, on the scheduling loop.

    Args:
        record_victims: told the number of victims of each plan.
    """

    def __init__(
        self, cache: Cache, nominator: Nominator, writer: PreemptionWriter, record_victims: Callable[[int], None]
    ) -> None:
        self._cache = cache
        self._nominator = nominator
        self._writer = writer
        self._record_victims = record_victims
        self._under_way: set[str] = set()

    async def carry_out(self, plan: PreemptionPlan, condition: PodCondition) -> bool:
        """Do all that the plan asks; `condition` is the preemptor's. Returns when every delete is out.

        False when the preemptor turned out not to be pending any more: the room that was held for it is free.

        Raises:
            RequestError: a write did not succeed; what was done stays.
        """
        self._record_victims(len(plan.victims))
        for other in plan.withdrawn:
            # Its own plan must stop, though the echo of its nomination may bring that back to the nominator once more.
            self._under_way.discard(other.uid)
            self._writer.clear_nomination(other)
        self._under_way.add(plan.preemptor.uid)
        try:
            return await self._carry_out(plan, condition)
        finally:
            self._under_way.discard(plan.preemptor.uid)

    async def _carry_out(self, plan: PreemptionPlan, condition: PodCondition) -> bool:
        # 1. Is it still there, and in need of the room?
        fresh = await self._writer.read(plan.preemptor)
        if fresh is None or fresh.spec.node_name or fresh.metadata.deletion_timestamp is not None:
            return self._give_up(plan)
        # 2. Nominate.
        if self._has_ended(plan):
            return True
        preemptor = parse_pod(fresh)
        if not await self._writer.nominate(preemptor, plan.node_name, condition):
            return self._give_up(plan)
        # 3. Evict, the most important victim last: should something stop us, it stays.
        for victim in reversed(plan.victims):
            if self._has_ended(plan):
                # Withdrawn while it was being written, it stands in the status though it was cleared before.
                if self._nominator.node_of(preemptor.uid) in (None, plan.node_name):
                    self._writer.clear_nomination(preemptor)
                return True
            await self._evict(victim, preemptor, plan.node_name)
        return True

    def _give_up(self, plan: PreemptionPlan) -> bool:
        log.info("preemption given up, the pod is not pending any more", pod=plan.preemptor.key)
        self._nominator.remove(plan.preemptor.uid)
        return False

    def _has_ended(self, plan: PreemptionPlan) -> bool:
        """Whether the preemptor is not nominated any more: deleted, re-targeted, or its node taken by a higher one."""
        uid = plan.preemptor.uid
        if uid in self._under_way and self._nominator.node_of(uid) == plan.node_name:
            return False
        log.info("preemption given up, the nomination has ended", pod=plan.preemptor.key, node=plan.node_name)
        return True

    async def _evict(self, victim: PodInfo, preemptor: PodInfo, node_name: str) -> None:
        state = self._cache.pod_state(victim.uid)
        if state is None or state.pod.pod.metadata.deletion_timestamp is not None:
            return
        left = await self._writer.evict(state.pod, preemptor, node_name)
        log.info("Preempted pod", pod=victim.key, preemptor=preemptor.key, node=node_name)
        state = self._cache.pod_state(victim.uid)
        # The watch may be late: the preemptor's next attempt must know that this one is on its way out.
        if left is not None and state is not None and state.pod.pod.metadata.deletion_timestamp is None:
            self._cache.add_pod(parse_pod(left), state.node_name)

"""What a scheduling cycle asks from outside the core."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.framework.types import PodInfo


class CycleRequest:
    """Something a cycle needs from outside the core; the shell performs it and resumes the cycle with the answer."""


@dataclass(frozen=True, slots=True)
class PreemptionPlan(CycleRequest):
    """Evict pods so that another one fits on their node. The pod is nominated in memory by the time this is asked.

    Attributes:
        preemptor: the pod that is to have the room.
        node_name: where.
        victims: most important first; empty when the pod would fit by now without any.
        withdrawn: pods of lower priority that were nominated to the node and are so no more.
    """

    preemptor: PodInfo
    node_name: str
    victims: tuple[PodInfo, ...]
    withdrawn: tuple[PodInfo, ...] = ()

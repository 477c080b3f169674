"""What a simulation came to, as values; `report` writes them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from scheduler.simulator.places import Remark


class Outcome(Enum):
    """What became of a pending pod."""

    PLACED = "Placed"
    UNSCHEDULABLE = "Unschedulable"
    GATED = "Gated"
    SKIPPED = "Skipped"
    ERROR = "SchedulerError"
    EVICTED = "Evicted"


@dataclass(frozen=True, slots=True)
class Score:
    """A feasible node's total, and what each plugin gave: normalised score times weight."""

    node_name: str
    total: int
    by_plugin: dict[str, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """How a node was chosen among several.

    Attributes:
        runner_up: the best of the others.
        tied: number of nodes with the highest total; chance decided among them.
        tied_nodes: up to 20 of them where there are several.
    """

    winner: Score
    runner_up: Score
    tied: int
    tied_nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Nodes that were rejected for the same reasons."""

    plugin: str
    code: str
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(slots=True)
class PodResult:
    """A pending pod and what became of it.

    Attributes:
        attempts: how often it was tried.
        node_name: where it went, empty where it went nowhere.
        feasible_nodes: number of nodes that passed all filters in the last attempt.
        choice: where several did.
        nominated_node: where room was made, or is held, for it.
        evicted: namespace/name of the pods that fell for it.
        message: of its last failed attempt, as its condition says; empty when none failed.
        rejections: why the nodes rejected it in that attempt.
    """

    namespace: str
    name: str
    profile: str
    priority: int
    outcome: Outcome = Outcome.UNSCHEDULABLE
    attempts: int = 0
    node_name: str = ""
    feasible_nodes: int = 0
    choice: Choice | None = None
    nominated_node: str = ""
    evicted: list[str] = field(default_factory=list)
    message: str = ""
    rejections: tuple[Rejection, ...] = ()

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that fell, and for whom; both as namespace/name."""

    pod: str
    node_name: str
    preemptor: str
    priority: int


@dataclass(frozen=True, slots=True)
class ForeignPod:
    """A pending pod that no profile serves."""

    pod: str
    scheduler_name: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """The whole answer.

    Attributes:
        pods: the pending ones, in the order in which they became what they are: placed ones by their placement.
        nodes: number of nodes.
    """

    pods: Sequence[PodResult]
    evictions: Sequence[Eviction]
    foreign_pods: Sequence[ForeignPod]
    warnings: Sequence[Remark]
    nodes: int

    def count(self, outcome: Outcome) -> int:
        """How many pods came to that."""
        return sum(pod.outcome is outcome for pod in self.pods)

    @property
    def all_placed(self) -> bool:
        """Whether every pending pod of the profiles is on a node."""
        return all(pod.outcome is Outcome.PLACED for pod in self.pods)

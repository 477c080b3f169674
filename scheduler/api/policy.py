"""Namespaces, priority classes and disruption budgets."""

from datetime import datetime

from scheduler.api.meta import ApiStruct, LabelSelector, ObjectMeta


class Namespace(ApiStruct, frozen=True):
    """A namespace; affinity terms choose it by its labels."""

    metadata: ObjectMeta


class PriorityClass(ApiStruct, frozen=True):
    """A named priority."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(ApiStruct, frozen=True):
    """The pods it protects; an absent or empty selector protects none when victims are chosen."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(ApiStruct, frozen=True):
    """How many pods may go now, and those on their way out, by name; their times are null when they are zero."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, datetime | None] | None = None


class PodDisruptionBudget(ApiStruct, frozen=True):
    """A disruption budget."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

"""Verdicts of plugins: decisions are values, faults are exceptions.

A plugin that has nothing against a pod returns ``None``: success costs nothing. Everything else is a `Status`, whose
reasons are data first (`Reason.facts`) and text second; the text equals kube-scheduler's byte for byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

_NO_FACTS: Mapping[str, str | int] = MappingProxyType({})


def _no_facts() -> Mapping[str, str | int]:
    return _NO_FACTS


class Code(IntEnum):
    """What a plugin says; names and numbers are kube-scheduler's."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The spelling used in metrics and texts, e.g. ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]

    @property
    def rejected(self) -> bool:
        """Whether the pod was turned away (as opposed to accepted, skipped or failed)."""
        return self in _REJECTED


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}
_REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause of a rejection.

    Attributes:
        text: the sentence users see, e.g. ``Insufficient cpu``.
        facts: what it is made of, e.g. ``{"resource": "cpu", "requested": 500}`` (cpu in milli, others in units).
    """

    text: str
    facts: Mapping[str, str | int] = field(default_factory=_no_facts, compare=False)


@dataclass(frozen=True, slots=True)
class Status:
    """A plugin's verdict other than success.

    Attributes:
        code: what it means for the pod.
        reasons: causes in the plugin's own order.
        plugin: who said it; filled by the runtime where the plugin leaves it empty.
    """

    code: Code
    reasons: tuple[Reason, ...] = ()
    plugin: str = ""

    @classmethod
    def of(cls, code: Code, *texts: str, plugin: str = "") -> "Status":
        """A status whose reasons are plain texts."""
        return cls(code, tuple(Reason(text) for text in texts), plugin)

    @property
    def message(self) -> str:
        """The reasons as kube-scheduler joins them: comma and blank."""
        return ", ".join(reason.text for reason in self.reasons)


class PluginError(Exception):
    """A plugin failed (as opposed to rejected): the attempt is counted as an error and the pod is retried."""

    def __init__(self, plugin: str, extension_point: str, cause: str) -> None:
        super().__init__(f"running {extension_point} plugin {plugin!r}: {cause}")
        self.plugin = plugin
        self.extension_point = extension_point

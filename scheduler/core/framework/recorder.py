"""What the core reports of its own work; injected, so that the core needs neither a clock nor a metrics library."""

from typing import Protocol

from scheduler.core.framework.events import HintResult


class CycleRecorder(Protocol):
    """Receives durations. One per process; called on the scheduling loop only."""

    def clock(self) -> float:
        """Monotonic seconds, for differences only."""

    def extension_point(self, profile: str, extension_point: str, status: str, seconds: float) -> None:
        """All plugins of an extension point ran; `status` is the label of a `Code`."""

    def plugin(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """One plugin ran in a cycle whose plugins are measured (one in ten)."""

    def preemption_attempt(self) -> None:
        """Preemption was asked to make room for a pod."""


class HintRecorder(Protocol):
    """Receives how long queueing hints take. One per process; called on the scheduling loop only."""

    def clock(self) -> float:
        """Monotonic seconds, for differences only."""

    def queueing_hint(self, plugin: str, event: str, hint: HintResult, seconds: float) -> None:
        """A plugin's hint was asked about an event; `event` is its label."""


class SilentRecorder:
    """Records nothing: simulate, replay and tests."""

    def clock(self) -> float:
        """No time passes."""
        return 0.0

    def extension_point(self, profile: str, extension_point: str, status: str, seconds: float) -> None:
        """Dropped."""

    def plugin(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """Dropped."""

    def preemption_attempt(self) -> None:
        """Dropped."""

    def queueing_hint(self, plugin: str, event: str, hint: HintResult, seconds: float) -> None:
        """Dropped."""

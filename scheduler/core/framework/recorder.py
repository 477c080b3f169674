"""What the core reports of its own work; injected, so that the core needs neither a clock nor a metrics library."""

from typing import Protocol


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

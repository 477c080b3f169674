"""How far a run has come, told by sightings. Pure: no clock, no I/O."""

from collections.abc import Collection, Iterable

from tests.bench.errors import BenchError
from tests.bench.sightings import Sight, Sighting


class Progress:
    """Follows a set of pods until each is bound and has its one `Scheduled` event."""

    def __init__(self, pods: Collection[str]) -> None:
        """`pods` are the names of those that shall be bound."""
        self._pods = frozenset(pods)
        self.first_act_seconds: float | None = None
        """When something was first seen to be bound, nominated, evicted; an event is not an act."""
        self.bound_seconds: dict[str, float] = {}
        """When each pod was seen bound, by name."""
        self.event_seconds: dict[str, float] = {}
        """When the `Scheduled` event of each pod was seen, by name of the pod."""

    @property
    def is_complete(self) -> bool:
        """Whether every pod is bound and every event was seen."""
        return len(self.bound_seconds) == len(self.event_seconds) == len(self._pods)

    @property
    def last_bind_seconds(self) -> float:
        """When the last pod so far was bound; needs one."""
        return max(self.bound_seconds.values())

    @property
    def end_seconds(self) -> float:
        """The last bind or the last event so far, whichever came later; needs one of each."""
        return max(self.last_bind_seconds, *self.event_seconds.values())

    def add(self, sightings: Iterable[Sighting]) -> None:
        """Take in what was seen. Raises BenchError for a pod that is not expected, bound twice or reported twice."""
        for sight, pod, seconds in sightings:
            if sight is Sight.SCHEDULED:
                self._record(self.event_seconds, pod, seconds, "has two Scheduled events")
                continue
            if sight is Sight.BOUND:
                self._record(self.bound_seconds, pod, seconds, "was bound twice")
            if self.first_act_seconds is None:
                self.first_act_seconds = seconds

    def __str__(self) -> str:
        total = len(self._pods)
        return f"{len(self.bound_seconds):,} of {total:,} pods bound, {len(self.event_seconds):,} Scheduled events"

    def _record(self, times: dict[str, float], pod: str, seconds: float, fault: str) -> None:
        if pod not in self._pods:
            raise BenchError(f"pod {pod} was scheduled, which is none of this run: does another scheduler run?")
        if pod in times:
            raise BenchError(f"pod {pod} {fault}")
        times[pod] = seconds

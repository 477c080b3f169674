"""What is seen on the watch streams of the API server, and the scanner of their lines.

The API server is asked for the metadata of the objects only. That keeps an observer cheap, and no scheduler asks for
it: the encoding that the API server would share between equal watchers is shared with nobody, and costs both schedulers
the same.
"""

from enum import StrEnum
from typing import TypeAlias

from tests.bench.errors import BenchError


class Stream(StrEnum):
    """A watch of one namespace; the field selectors let only that through which tells something."""

    BOUND_PODS = "bound pods"
    NOMINATED_PODS = "nominated pods"
    SCHEDULED_EVENTS = "Scheduled events"


class Sight(StrEnum):
    """Something a scheduler did."""

    BOUND = "bound"
    NOMINATED = "nominated"
    CHANGED = "changed"
    """A bound pod was written again: it is being evicted."""
    GONE = "gone"
    """A bound pod was deleted."""
    SCHEDULED = "scheduled"
    """The `Scheduled` event of a pod."""


Sighting: TypeAlias = tuple[Sight, str, float]
"""What was seen, the name of the pod, and when (seconds of the machine's monotonic clock)."""

_SIGHTS = {
    # A pod that starts to satisfy the selector of the stream comes as ADDED.
    (Stream.BOUND_PODS, b"ADDED"): Sight.BOUND,
    (Stream.BOUND_PODS, b"MODIFIED"): Sight.CHANGED,
    (Stream.BOUND_PODS, b"DELETED"): Sight.GONE,
    (Stream.NOMINATED_PODS, b"ADDED"): Sight.NOMINATED,
    # A modified event is the same one, seen again.
    (Stream.SCHEDULED_EVENTS, b"ADDED"): Sight.SCHEDULED,
}
_TYPE = b'{"type":"'
_NAME = b'"name":"'
_RESOURCE_VERSION = b'"resourceVersion":"'


class SightingScanner:
    """Turns the bytes of one watch stream into sightings; looks only at type, name and resourceVersion of an object.

    Both stand at the beginning of the metadata, before anything a user can write into.
    """

    def __init__(self, stream: Stream, resource_version: str) -> None:
        self.stream = stream
        self.resource_version = resource_version
        """Of the last object seen: where to go on when the server ends the stream."""
        self._rest = b""

    def feed(self, chunk: bytes, seconds: float) -> list[Sighting]:
        """The sightings in the lines that `chunk` completes. Raises BenchError when the server reports a failure."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        found = []
        for line in lines:
            sight = self._scan(line)
            if sight is not None:
                found.append((sight, self._pod_name(line), seconds))
        return found

    def restart(self) -> None:
        """Forget an incomplete line, which a new stream repeats."""
        self._rest = b""

    def _scan(self, line: bytes) -> Sight | None:
        kind = _quoted_after(line, _TYPE)
        if kind == b"ERROR" or not line.startswith(_TYPE):
            raise BenchError(f"the watch of {self.stream} failed: {line.decode(errors='replace')}")
        self.resource_version = _quoted_after(line, _RESOURCE_VERSION).decode()
        return _SIGHTS.get((self.stream, kind))

    def _pod_name(self, line: bytes) -> str:
        name = _quoted_after(line, _NAME).decode()
        # An event is named after its pod, with a suffix.
        return name.rpartition(".")[0] if self.stream is Stream.SCHEDULED_EVENTS else name


def _quoted_after(line: bytes, key: bytes) -> bytes:
    start = line.find(key) + len(key)
    return line[start : line.find(b'"', start)]

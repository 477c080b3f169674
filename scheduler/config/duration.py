"""Durations as Kubernetes writes them: `15s`, `1m30s`, `100ms`."""

import functools
import re
from typing import Final

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter; Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LIMIT: Final = 2**63


@functools.total_ordering
class Duration:
    """A span of time with the range and precision of Go's `time.Duration`. Immutable.

    Neither a dataclass nor a Struct, because msgspec would then read it from a mapping instead of from text.
    """

    __slots__ = ("_nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self._nanoseconds = nanoseconds

    @property
    def nanoseconds(self) -> int:
        """The span in nanoseconds."""
        return self._nanoseconds

    @property
    def seconds(self) -> float:
        """The span in seconds."""
        return self._nanoseconds / 1e9

    @classmethod
    def of_seconds(cls, seconds: int) -> "Duration":
        """A span of whole seconds."""
        return cls(seconds * _NANOSECONDS["s"])

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read what Go's `time.ParseDuration` reads.

        Raises:
            ValueError: for everything else, with a text that says how a duration is written.
        """
        unsigned = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
        if unsigned == "0":
            return cls(0)
        parts = list(_PART.finditer(unsigned))
        if not parts or "".join(part[0] for part in parts) != unsigned:
            raise ValueError("not a duration: write a number and a unit, such as 15s, 1m30s or 100ms")
        total = sum(_part_nanoseconds(part[1], _NANOSECONDS[part[2]]) for part in parts)
        if total >= _LIMIT:
            raise ValueError("a duration must be shorter than 292 years")
        return cls(-total if text.startswith("-") else total)

    def __eq__(self, other: object) -> bool:
        """Equal spans are equal, however they were written."""
        return isinstance(other, Duration) and self._nanoseconds == other._nanoseconds

    def __lt__(self, other: "Duration") -> bool:
        """Shorter is less."""
        return self._nanoseconds < other._nanoseconds

    def __hash__(self) -> int:
        """Agrees with `__eq__`."""
        return hash(self._nanoseconds)

    def __repr__(self) -> str:
        """`Duration('1m30s')`."""
        return f"Duration({str(self)!r})"

    def __str__(self) -> str:
        """Spell it as Go does: `1m30s`, `1h0m0s`, `1.5s`, `100ms`."""
        rest = abs(self._nanoseconds)
        sign = "-" if self._nanoseconds < 0 else ""
        if rest == 0:
            return "0s"
        if rest < _NANOSECONDS["s"]:
            unit = next(unit for unit in ("ms", "µs", "ns") if rest >= _NANOSECONDS[unit])
            return f"{sign}{_decimal(rest, _NANOSECONDS[unit])}{unit}"
        hours, rest = divmod(rest, _NANOSECONDS["h"])
        minutes, rest = divmod(rest, _NANOSECONDS["m"])
        leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
        return f"{sign}{leading}{_decimal(rest, _NANOSECONDS['s'])}s"


def _part_nanoseconds(number: str, unit_nanoseconds: int) -> int:
    whole, _, fraction = number.partition(".")
    scale: int = 10 ** len(fraction)
    return int(whole or "0") * unit_nanoseconds + int(fraction or "0") * unit_nanoseconds // scale


def _decimal(amount: int, unit: int) -> str:
    """`amount / unit` without trailing zeros, exactly; `unit` is a power of ten."""
    whole, fraction = divmod(amount, unit)
    digits = str(fraction).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if fraction else str(whole)

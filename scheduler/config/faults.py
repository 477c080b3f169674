"""What is wrong with a configuration: one value a fault, one exception for all of them."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from scheduler.telemetry.standard_output import on_one_line

_SHOWN_LENGTH = 60
_BEYOND_64_BITS = 2**64


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong.

    Attributes:
        path: where, e.g. ``profiles[0].plugins.score.enabled[1].weight``; empty for the file as a whole.
        message: what is wrong there, with the value found.
        hint: the way out, or empty.
    """

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """`path: message (hint)`, as it is shown to the user."""
        text = f"{self.path}: {self.message}" if self.path else self.message
        return on_one_line(f"{text} ({self.hint})" if self.hint else text)


class ConfigurationError(Exception):
    """A configuration cannot be used. Its text has one line a fault, each starting with the name of the file.

    `notes` are what of the file has no effect, as far as it could be read.
    """

    def __init__(self, source: str, faults: Sequence[Fault], notes: Sequence[str] = ()) -> None:
        super().__init__("\n".join(f"{source}: {fault}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)
        self.notes = tuple(notes)


def show(value: object) -> str:
    """A value as it stands in a message: scalars as in JSON and cut to a readable length, the others by their kind."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, int) and abs(value) >= _BEYOND_64_BITS:
        return "a number beyond 64 bits"
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}…"


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that looks most like `name`, letter case aside; None when none does."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint that names the closest candidate; empty when there is none."""
    candidate = closest(name, candidates)
    return f'did you mean "{candidate}"?' if candidate else ""

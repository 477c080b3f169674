"""Where something stands in the input, and what is to be said about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.telemetry.standard_output import on_one_line


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the input.

    Attributes:
        source: a file as it was named on the command line, or the API server.
        document: number of the document in the file, from 1; 0 for the file as a whole.
        item: index in the document's list of items, from 0; None where the document is the object itself.
        subject: the object, e.g. ``Pod team-a/web``; empty where it is not known yet.
        field: path within the object, e.g. ``spec.containers[0].image``; empty for the object as a whole.
    """

    source: str
    document: int = 0
    item: int | None = None
    subject: str = ""
    field: str = ""

    def at(self, field: str) -> "Place":
        """The same object's field."""
        return replace(self, field=field)

    def __str__(self) -> str:
        """E.g. ``pods.yaml, document 2, items[14], Pod team-a/web, spec.priority``."""
        parts = [self.source]
        if self.document:
            parts.append(f"document {self.document}")
        if self.item is not None:
            parts.append(f"items[{self.item}]")
        parts += [part for part in (self.subject, self.field) if part]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that is wrong, or odd, at a place."""

    place: Place
    message: str

    def __str__(self) -> str:
        """`place: message`, as it is shown to the user."""
        return on_one_line(f"{self.place}: {self.message}")


class InputError(Exception):
    """The input can't be used. Its text has one line a fault."""

    def __init__(self, faults: Sequence[Remark]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)

    @classmethod
    def at(cls, place: Place, message: str) -> "InputError":
        """One fault."""
        return cls([Remark(place, message)])


def raise_if_any(faults: Iterable[Remark]) -> None:
    """Raise an InputError with all `faults`, if there are any."""
    listed = list(faults)
    if listed:
        raise InputError(listed)

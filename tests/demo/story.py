"""What the user reads: chapters, what the API server holds in its own words, and at the end the facts checked.

Plain text where the output is no terminal, no colours under NO_COLOR. Nothing is wrapped, so a line stays one line.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from rich.console import Console


@dataclass(frozen=True)
class Fact:
    """Something that must be so, with what was read back and what it should have been."""

    text: str
    seen: object
    expected: object

    @property
    def holds(self) -> bool:
        """Whether it is so."""
        return self.seen == self.expected


class Story:
    """Prints as it goes and remembers the facts."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._chapters = 0
        self._marks = ("✓", "✗") if console.encoding.startswith("utf") else ("ok", "NOT SO")
        self.facts: list[Fact] = []

    @contextmanager
    def step(self, doing: str, expected_seconds: int) -> Iterator[None]:
        """Tell what is done, how long it takes on a quiet machine with two cores, and how long it took."""
        self._print(f"- {doing} (about {expected_seconds} s) ...", end=" ")
        started = monotonic()
        yield
        self._print(f"{monotonic() - started:.1f} s")

    def title(self, text: str) -> None:
        """Begin the story."""
        self._print(text, style="bold")

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self._print(f"\n{self._chapters}. {title}", style="bold")

    def say(self, text: str) -> None:
        """Tell what was done or seen."""
        self._print(f"   {text}")

    def quote(self, source: str, words: str) -> None:
        """Give words as the API server holds them."""
        self._print(f"   {source}: ", end="")
        self._print(words, style="cyan")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Columns as wide as their widest cell; those with numbers only stand to the right."""
        columns = list(zip(*[[str(cell) for cell in row] for row in (header, *rows)], strict=True))
        widths = [max(map(len, column)) for column in columns]
        numeric = [all(cell.replace(".", "", 1).isdigit() for cell in column[1:]) for column in columns]
        for index, row in enumerate(zip(*columns, strict=True)):
            cells = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ]
            self._print(f"   {'  '.join(cells)}".rstrip(), style="" if index else "dim")

    def check(self, text: str, seen: object, expected: object = True) -> None:
        """Note a fact that must hold for the story to be true; told by `conclude`."""
        self.facts.append(Fact(text, seen, expected))

    def conclude(self) -> bool:
        """List every fact with its verdict; whether there are facts and all hold."""
        self._print("\nWhat was read back", style="bold")
        for fact in self.facts:
            if fact.holds:
                self._print(f"   {self._marks[0]} {fact.text}", style="green")
            else:
                self._print(f"   {self._marks[1]} {fact.text}", style="bold red")
                self._print(f"       seen: {fact.seen}\n       expected: {fact.expected}")
        held = sum(fact.holds for fact in self.facts)
        self._print(f"\n{held} of {len(self.facts)} facts hold.", style="bold")
        return bool(self.facts) and held == len(self.facts)

    def _print(self, text: str, *, style: str = "", end: str = "\n") -> None:
        self._console.print(text, style=style or None, end=end, markup=False, highlight=False, soft_wrap=True)
        self._console.file.flush()

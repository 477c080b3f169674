"""From a case that differs to a minimal one: whatever can be taken away so that it still differs is taken away.

Delta debugging on the JSON of the case: first whole objects and pods to be scheduled, then fields, level by level. At
each level the parts are taken away in chunks, halved until single parts are left:

    parts of a level ── chunks ──> one candidate a chunk ── the oracle is asked about all at once ──┐
         ^                                                                                          v
         └── smaller chunks, or the next level <── those chunks go whose absence leaves it differing

A candidate counts only if the API server would take its objects and the difference is one of those there were before.
"""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.case import Case
from tests.conformance.oracle import Oracle, OracleError, RawCase
from tests.differential.comparing import Differing, compare_tolerantly

Part = tuple[str | int, ...]
"""A path in the JSON of a case."""
_IDENTITY = frozenset({"apiVersion", "kind", "metadata", "name", "namespace", "uid"})
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Minimal:
    """A case of which nothing more can be taken away.

    Attributes:
        raw: as one would write it.
        case: with the objects as the API server stores them, and kube-scheduler's answers.
        lines: how Podium's differ.
    """

    raw: RawCase
    case: Case
    lines: tuple[str, ...]


class Shrinker:
    """Makes a case smaller. One for one case."""

    def __init__(self, program: Path, differing: Differing) -> None:
        self._oracle = Oracle(program)
        self._kinds = kinds(differing.lines)
        # Objects made in one process may share lists; a change of one must not change the other.
        self.raw: RawCase = json.loads(json.dumps(differing.raw))

    def shrink(self) -> Minimal:
        """The minimal case."""
        for depth in range(1, _DEEPEST):
            self._shrink_level(depth)
        answer = next(self._oracle.answers([self.raw]))
        assert isinstance(answer, Case)
        return Minimal(self.raw, answer, tuple(compare_tolerantly(answer).differences))

    def _shrink_level(self, depth: int) -> None:
        parts = list(parts_at(self.raw, depth))
        size = len(parts)
        while size and parts:
            size = min(size, len(parts))
            chunks = [parts[start : start + size] for start in range(0, len(parts), size)]
            differs = self._still_differ([without(self.raw, chunk) for chunk in chunks])
            dispensable = [chunk for chunk, still in zip(chunks, differs, strict=True) if still]
            gone = self._take_away(dispensable)
            if gone:
                self.raw = without(self.raw, gone)
                parts = list(parts_at(self.raw, depth))
            elif size == 1:
                return
            size = max(1, size // 2)

    def _take_away(self, chunks: Sequence[Sequence[Part]]) -> list[Part]:
        """As many of the chunks as may go together, found by halving."""
        while chunks:
            together = [part for chunk in chunks for part in chunk]
            if len(chunks) == 1 or self._still_differ([without(self.raw, together)])[0]:
                return together
            chunks = chunks[: len(chunks) // 2]
        return []

    def _still_differ(self, candidates: Sequence[RawCase]) -> list[bool]:
        valid = self._oracle.valid(candidates)
        answers = self._oracle.answers(candidates)
        return [
            fits and not isinstance(answer, OracleError) and self._differs(answer)
            for fits, answer in zip(valid, answers, strict=True)
        ]

    def _differs(self, answer: Case) -> bool:
        return bool(self._kinds & kinds(compare_tolerantly(answer).differences))


def kinds(lines: Sequence[str]) -> frozenset[str]:
    """What kinds of differences the lines tell of, without names and values."""
    found = set()
    for line in lines:
        what = re.sub(r"^step \d+, pod \S+: ", "", line).partition(": kube-scheduler ")[0]
        found.add(re.sub(r"\bnode \S+: ", "node: ", what))
    return frozenset(found)


def parts_at(raw: RawCase, depth: int) -> Iterator[Part]:
    """Paths to what may be taken away at a level: objects and pods at the first, their fields at the following."""
    if depth == 1:
        yield from (("objects", index) for index in range(len(raw["objects"])))
        yield from (("pods", index) for index in range(len(raw["pods"])))
        yield from ((name,) for name in ("config", "applyPreemption") if name in raw)
        return
    for index, one in enumerate(raw["objects"]):
        yield from _below(one, ("objects", index), depth - 1)
    yield from _below(raw.get("config"), ("config",), depth - 1)


def _below(value: object, path: Part, depth: int) -> Iterator[Part]:
    if isinstance(value, dict):
        items: list[tuple[str | int, object]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for key, part in items:
        if depth == 1:
            if key not in _IDENTITY:
                yield (*path, key)
        else:
            yield from _below(part, (*path, key), depth - 1)


def without(raw: RawCase, parts: Sequence[Part]) -> RawCase:
    """A copy of the case that lacks these parts; pods that lack an object are not scheduled either."""
    smaller = copy.deepcopy(raw)
    # From the back, so that indices stay right.
    for *path, last in sorted(parts, key=_order, reverse=True):
        holder = smaller
        for key in path:
            holder = holder[key]  # type: ignore[index]
        del holder[last]  # type: ignore[arg-type]
    pods = {_name(one) for one in smaller["objects"] if one["kind"] == "Pod"}
    smaller["pods"] = [name for name in smaller["pods"] if name in pods]
    return smaller


def _order(path: Part) -> tuple[tuple[int, str], ...]:
    return tuple((key, "") if isinstance(key, int) else (-1, key) for key in path)


def _name(pod: RawCase) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"

"""The oracle: kube-scheduler's own framework, asked about many cases at once."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.conformance.case import Case, CaseStruct, Step

RawCase = dict[str, Any]
"""A case as the oracle reads it: name, config, objects, pods, applyPreemption."""


class OracleError(Exception):
    """The oracle has no answer: the case is not one that a cluster can be in."""


class _Stored(CaseStruct, kw_only=True):
    """A case with its objects as the API server stores them."""

    name: str
    error: str = ""
    config: dict[str, Any] | None = None
    objects: tuple[msgspec.Raw, ...] = ()
    pods: tuple[str, ...] = ()
    apply_preemption: bool = False


class _Answered(CaseStruct, kw_only=True):
    name: str
    error: str = ""
    steps: tuple[Step, ...] = ()


class _Validated(CaseStruct, kw_only=True):
    name: str
    error: str = ""
    errors: tuple[str, ...] = ()


class Oracle:
    """Asks the program; every call starts it anew, so that callers in several processes share nothing."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def answers(self, cases: Sequence[RawCase]) -> Iterator[Case | OracleError]:
        """Each case with its objects defaulted and what kube-scheduler decides, in order.

        Raises:
            subprocess.CalledProcessError: the program ended with an error.
        """
        lines = _lines(cases)
        stored = self._ask(lines, _Stored, "-defaulted")
        answered = self._ask(lines, _Answered)
        for case, objects, answer in zip(cases, stored, answered, strict=True):
            if error := objects.error or answer.error:
                yield OracleError(f"{case['name']}: {error}")
                continue
            yield Case(
                name=objects.name,
                profile=objects.name.partition("-")[0],
                config=objects.config,
                objects=objects.objects,
                pods=objects.pods,
                apply_preemption=objects.apply_preemption,
                steps=answer.steps,
            )

    def valid(self, cases: Sequence[RawCase]) -> list[bool]:
        """Whether the API server would take every object of a case, in order; raises as `answers`."""
        return [not (checked.error or checked.errors) for checked in self._ask(_lines(cases), _Validated, "-validate")]

    def _ask(self, lines: bytes, kind: type[CaseStruct], *flags: str) -> list[Any]:
        command = [str(self._program), *flags]
        output = subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True).stdout
        return [msgspec.json.decode(line, type=kind) for line in output.splitlines()]


def _lines(cases: Sequence[RawCase]) -> bytes:
    return b"\n".join(msgspec.json.encode(case) for case in cases)

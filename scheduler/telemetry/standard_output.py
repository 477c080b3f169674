"""Writing an answer to the standard output: a terminal, a pipe that nobody reads to its end, or a full disk."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

NOT_WRITTEN: Final = 2
"""The exit code of a command whose answer could not be written."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def on_one_line(text: str) -> str:
    r"""Text out of a file as it may be shown: what would break the line or steer the terminal is escaped (`\x1b`)."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def answer(write: Callable[[TextIO], object]) -> int:
    """Have `write` write a command's answer to the standard output, to its end.

    Returns:
        0, also when who reads has seen enough (`| head`); NOT_WRITTEN when it could not be written, which is told on
        the standard error.
    """
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_the_rest()
    except OSError as error:
        _drop_the_rest()
        sys.stderr.write(f"podium: the answer can't be written: {error.strerror}\n")
        return NOT_WRITTEN
    return 0


def _drop_the_rest() -> None:
    """What is buffered must not fail again when the process ends."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

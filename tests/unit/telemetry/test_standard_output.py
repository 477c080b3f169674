"""An answer that can't be written ends in one line, not in a traceback."""

import os
import sys
from pathlib import Path

import pytest

from scheduler.telemetry.standard_output import NOT_WRITTEN, answer, on_one_line


def test_an_answer_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """To the standard output, with exit code 0."""
    assert answer(lambda stream: stream.write("yes\n")) == 0
    assert capsys.readouterr().out == "yes\n"


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With an exit code of its own; what is buffered does not fail again when the stream is closed."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert answer(lambda stream: stream.write("yes\n")) == NOT_WRITTEN
    assert capsys.readouterr().err == "podium: the answer can't be written: No space left on device\n"


def test_a_reader_who_left_is_no_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is told, and the exit code is that of success."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert answer(lambda stream: stream.write("yes\n")) == 0
    assert capsys.readouterr().err == ""


def test_what_steers_a_terminal_is_escaped() -> None:
    """Line ends, escapes, and half a surrogate pair, which no stream could encode; other letters stay."""
    assert on_one_line("a\nb\x1b[31m\x9b\u2028\ud800 é…") == "a\\nb\\x1b[31m\\x9b\\u2028\\ud800 é…"

"""One shape for every line, and which lines are written at which verbosity."""

import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import structlog

from scheduler.telemetry.logging import configure_logging, verbosity


class Lines(io.BytesIO):
    """A stream whose lines can be read back."""

    def decoded(self) -> list[dict[str, Any]]:
        """Each line written, decoded from JSON."""
        return [msgspec.json.decode(line) for line in self.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """A stream to log to; logging is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield Lines()
    logging.captureWarnings(capture=False)
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    verbosity.level = 0


def test_a_line_has_time_level_logger_and_message_first(lines: Lines) -> None:
    """Our own line is one JSON object with the four leading fields in order, then the facts."""
    configure_logging(0, lines)
    structlog.get_logger("scheduler.app").info("Serving", port=10251, address="127.0.0.1")
    (line,) = lines.decoded()
    assert list(line) == ["ts", "level", "logger", "msg", "port", "address"]
    assert line["ts"].endswith("Z")
    assert {key: line[key] for key in list(line)[1:]} == {
        "level": "info",
        "logger": "scheduler.app",
        "msg": "Serving",
        "port": 10251,
        "address": "127.0.0.1",
    }


def test_a_foreign_line_has_the_same_shape(lines: Lines) -> None:
    """What a library logs through the standard library looks like our own lines."""
    configure_logging(0, lines)
    logging.getLogger("aiohttp.server").error("Failed %s of %d", "one", 2)
    (line,) = lines.decoded()
    assert list(line) == ["ts", "level", "logger", "msg"]
    assert (line["level"], line["logger"], line["msg"]) == ("error", "aiohttp.server", "Failed one of 2")


def test_warnings_are_log_lines(lines: Lines) -> None:
    """A Python warning becomes a line of the logger py.warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure_logging(0, lines)
        warnings.warn("old thing", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    (line,) = lines.decoded()
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
    assert "old thing" in line["msg"]


@pytest.mark.parametrize("foreign", [False, True])
def test_an_exception_is_part_of_its_line(lines: Lines, foreign: bool) -> None:
    """The traceback is one field of the line, for our own and for foreign loggers."""
    configure_logging(0, lines)
    logger: Any = logging.getLogger("lib") if foreign else structlog.get_logger("scheduler")
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        logger.exception("It broke")
    (line,) = lines.decoded()
    assert (line["level"], line["msg"]) == ("error", "It broke")
    assert line["exception"].startswith("Traceback")
    assert "ZeroDivisionError: integer" in line["exception"]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (0, ["our info", "foreign warning"]),
        (3, ["our info", "foreign warning"]),
        (4, ["our debug", "our info", "foreign info", "foreign warning"]),
        (7, ["our debug", "our info", "foreign info", "foreign warning"]),
        (8, ["our debug", "our info", "foreign debug", "foreign info", "foreign warning"]),
    ],
)
def test_verbosity_chooses_the_lines(lines: Lines, level: int, expected: list[str]) -> None:
    """Our debug lines come from 4 on, the libraries' info from 4 and debug from 8 on."""
    configure_logging(level, lines)
    ours, foreign = structlog.get_logger("ours"), logging.getLogger("foreign")
    ours.debug("our debug")
    ours.info("our info")
    foreign.debug("foreign debug")
    foreign.info("foreign info")
    foreign.warning("foreign warning")
    assert [line["msg"] for line in lines.decoded()] == expected
    assert verbosity.level == level


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, {(1, 2): "x"}, "\ud800", 10**40, b"\xff", float("nan"), ValueError("x"), "line\nbreak"],
)
def test_nothing_breaks_a_line(lines: Lines, value: object) -> None:
    """Whatever a field holds, exactly one line of JSON comes out."""
    configure_logging(0, lines)
    structlog.get_logger("x").info("Odd", value=value)
    (line,) = lines.decoded()
    assert "Odd" in line["msg"]


def test_arguments_that_do_not_fit_do_not_lose_the_line(lines: Lines) -> None:
    """A foreign record whose arguments do not fit its format is logged as it stands."""
    configure_logging(0, lines)
    logging.getLogger("lib").warning("%d apples", "some")
    assert [line["msg"] for line in lines.decoded()] == ["%d apples"]


def test_a_percent_sign_is_not_a_format(lines: Lines) -> None:
    """Text that came from outside is never formatted."""
    configure_logging(0, lines)
    structlog.get_logger("x").info("100%s")
    logging.getLogger("lib").warning("100%")
    assert [line["msg"] for line in lines.decoded()] == ["100%s", "100%"]


def test_odd_levels_go_to_the_nearest_below(lines: Lines) -> None:
    """A foreign level between two names takes the lower one, one above all is critical."""
    configure_logging(0, lines)
    logging.getLogger("lib").log(35, "between")
    logging.getLogger("lib").log(90, "above")
    assert [line["level"] for line in lines.decoded()] == ["warning", "critical"]


def test_bound_context_is_in_every_line(lines: Lines) -> None:
    """Context variables of the current task are fields of its lines."""
    configure_logging(0, lines)
    structlog.contextvars.bind_contextvars(pod="ns/name")
    structlog.get_logger("x").info("One")
    assert lines.decoded()[0]["pod"] == "ns/name"


def test_a_console_gets_columns(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a person a line is text; colours are left out where NO_COLOR says so."""
    monkeypatch.setenv("NO_COLOR", "1")
    configure_logging(0, lines, console=True)
    structlog.get_logger("scheduler.app").info("Serving", port=10251)
    logging.getLogger("lib").warning("Grün")
    text = lines.getvalue().decode()
    assert "\x1b" not in text
    assert "Serving" in text
    assert "port=10251" in text
    assert "Grün" in text
    assert len(text.splitlines()) == 2

"""One shape for every log line, ours and foreign: a JSON object a line on stderr, or columns on a terminal.

    {"ts":"2026-12-01T10:00:00.123456Z","level":"info","logger":"scheduler.app","msg":"Serving","port":10251}

Whoever logs takes a logger with `structlog.get_logger(__name__)`, gives a constant message and puts the facts into
fields. `error`, `warning` and `info` are always written; `debug` is written from `--v 4` on. A finer choice, and every
log call in a scheduling cycle, stands behind a guard that costs one comparison:

    if verbosity.level >= 5:
        log.debug("Skipped plugin", plugin=name)

Levels mean what they mean in kube-scheduler: 0 always, 2 what happened to each pod, 4 debug, 5 trace, 8 and above
the messages of the libraries underneath.
"""

import logging
import os
import sys
from typing import Any, BinaryIO, Final

import msgspec
import structlog
from structlog.typing import EventDict, Processor

MAXIMUM_VERBOSITY: Final = 10

_DEBUG_VERBOSITY: Final = 4
_FOREIGN_INFO_VERBOSITY: Final = 4
_FOREIGN_DEBUG_VERBOSITY: Final = 8
_LEADING_FIELDS: Final = (("timestamp", "ts"), ("level", "level"), ("logger", "logger"), ("event", "msg"))

_encoder = msgspec.json.Encoder(enc_hook=str)


class Verbosity:
    """The V-level of this process: set once by `configure_logging`, read as `verbosity.level` by guards."""

    __slots__ = ("level",)

    def __init__(self) -> None:
        self.level = 0


verbosity: Final = Verbosity()


def configure_logging(level: int, stream: BinaryIO | None = None, *, console: bool | None = None) -> None:
    """Set up logging for the process. Called once, before the first line is logged.

    Args:
        level: kube's V-level, 0 to `MAXIMUM_VERBOSITY`.
        stream: where lines go; stderr when None.
        console: whether to write columns for a person instead of JSON; None: when stderr is a terminal.
    """
    verbosity.level = level
    if console is None:
        console = stream is None and sys.stderr.isatty()
    structlog.configure(
        processors=_processors(console=console),
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if level >= _DEBUG_VERBOSITY else logging.INFO
        ),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer if stream is None else stream),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_StructlogHandler()]
    root.setLevel(_foreign_level(level))
    logging.captureWarnings(capture=True)


def silence_logging() -> None:
    """Write nothing below critical: for commands whose answer tells everything. Called before the first line."""
    verbosity.level = 0
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)


def _foreign_level(level: int) -> int:
    if level >= _FOREIGN_DEBUG_VERBOSITY:
        return logging.DEBUG
    return logging.INFO if level >= _FOREIGN_INFO_VERBOSITY else logging.WARNING


def _processors(*, console: bool) -> list[Processor]:
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if console:
        renderer = structlog.dev.ConsoleRenderer(
            colors="NO_COLOR" not in os.environ, exception_formatter=structlog.dev.plain_traceback
        )
        return [*shared, renderer, _to_bytes]
    return [*shared, structlog.processors.format_exc_info, _to_json]


def _to_bytes(_logger: object, _method: str, line: Any) -> bytes:
    return str(line).encode("utf-8", "backslashreplace")


def _to_json(_logger: object, _method: str, event_dict: EventDict) -> bytes:
    """Encode a line, the fields that every line has first. What JSON cannot hold is written as its text."""
    line: dict[str, object] = {name: event_dict.pop(key) for key, name in _LEADING_FIELDS}
    line.update(event_dict)
    try:
        return _encoder.encode(line)
    except (TypeError, ValueError, OverflowError):
        # Keys that are not text, half surrogate pairs, huge numbers: rather an odd line than none.
        return _encoder.encode({key: ascii(value) for key, value in line.items()})


class _StructlogHandler(logging.Handler):
    """Gives the records of foreign loggers (aiohttp, asyncio, kubernetes, py.warnings) to structlog."""

    def __init__(self) -> None:
        super().__init__()
        self._loggers: dict[str, Any] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record under its own name, at the nearest of the five levels."""
        logger = self._loggers.get(record.name)
        if logger is None:
            logger = self._loggers[record.name] = structlog.get_logger(record.name)
        level = min(logging.CRITICAL, max(logging.DEBUG, record.levelno // 10 * 10))
        fields = {"exc_info": record.exc_info} if record.exc_info else {}
        logger.log(level, _message(record), **fields)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        # The arguments do not fit the format; the format still tells where to look.
        return str(record.msg)

"""Any YAML into plain values, from libyaml's events: no recursion, no objects for tags, nothing that can blow up.

Refused, because the API server would refuse it or nobody could mean it: a key that stands twice or is not text, tags
other than the standard ones, values that JSON can't hold, nesting without end, and aliases that unfold to something
huge (a "YAML bomb"). Aliases and merge keys (`<<`) are followed as kubectl follows them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from scheduler.simulator.yaml_scalars import ScalarError, plain_scalar

MAXIMUM_DEPTH: Final = 200
MAXIMUM_UNFOLDED: Final = 10_000_000
"""Values that the aliases of one document may add."""

_TAG: Final = "tag:yaml.org,2002:"
_STRING_TAGS: Final = ("!", f"{_TAG}str")
_PLAIN_TAGS: Final = tuple(_TAG + name for name in ("int", "float", "bool", "null"))
_MERGE: Final = "<<"


class YamlError(Exception):
    """The text is no YAML that can be used.

    Attributes:
        document: number of the document, from 1.
    """

    def __init__(self, document: int, message: str) -> None:
        super().__init__(message)
        self.document = document


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is being read; `size` counts the values in it, aliases unfolded."""

    value: Any
    anchor: str | None
    size: int = 1
    key: str | None = None
    has_key: bool = False
    merged: Any = None


class _Builder:
    """Builds the value of one document."""

    def __init__(self) -> None:
        self.root: Any = None
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._unfolded = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and not frame.has_key:
            self._key(frame, _key_of(event))
            return
        value = _value_of(event)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._put(value, 1)

    def _key(self, frame: _Frame, key: str) -> None:
        if key in frame.value:
            raise ScalarError(f"the key {_short(key)} stands twice")
        frame.key, frame.has_key = key, True

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._stack) >= MAXIMUM_DEPTH:
            raise ScalarError(f"nested more than {MAXIMUM_DEPTH} levels deep")
        parent = self._stack[-1] if self._stack else None
        if parent is not None and isinstance(parent.value, dict) and not parent.has_key:
            raise ScalarError("a key that is no text")
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            raise ScalarError(f"the tag {_short(event.tag)} is not known")
        value: Any = {} if mapping else []
        if event.anchor:
            # An alias within its own anchor would have no end.
            self._anchors.pop(event.anchor, None)
        self._stack.append(_Frame(value, event.anchor))

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.merged is not None:
            _merge(frame)
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, frame.size)
        self._put(frame.value, frame.size)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise ScalarError(f"the alias *{_short(event.anchor)} has no anchor before it")
        value, size = self._anchors[event.anchor]
        self._unfolded += size
        if self._unfolded > MAXIMUM_UNFOLDED:
            raise ScalarError(f"its aliases unfold to more than {MAXIMUM_UNFOLDED} values")
        frame = self._stack[-1] if self._stack else None
        if frame is not None and isinstance(frame.value, dict) and not frame.has_key:
            if not isinstance(value, str):
                raise ScalarError("a key that is no text")
            self._key(frame, value)
            return
        self._put(value, size)

    def _put(self, value: Any, size: int) -> None:
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.value.append(value)
            return
        assert frame.key is not None
        if frame.key == _MERGE:
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, dict) for part in parts):
                raise ScalarError("<< takes mappings only")
            frame.merged = parts
        else:
            frame.value[frame.key] = value
        frame.key, frame.has_key = None, False


def _merge(frame: _Frame) -> None:
    """What is written goes before what is merged in, earlier mappings before later ones."""
    for part in frame.merged:
        for key, value in part.items():
            frame.value.setdefault(key, value)


def _key_of(event: yaml.ScalarEvent) -> str:
    """A key is text; a number or truth value as a key is the text it is written as, as kubectl has it."""
    if event.tag not in (None, *_STRING_TAGS, *_PLAIN_TAGS):
        raise ScalarError(f"the tag {_short(event.tag)} is not known")
    if event.tag is None and event.implicit[0] and plain_scalar(event.value) is None:
        raise ScalarError("a key that is no text")
    return _unicode(event.value)


def _value_of(event: yaml.ScalarEvent) -> Any:
    if event.tag in _STRING_TAGS or (event.tag is None and not event.implicit[0]):
        return _unicode(event.value)
    if event.tag is not None and event.tag not in _PLAIN_TAGS:
        raise ScalarError(f"the tag {_short(event.tag)} is not known")
    return _unicode(event.value) if event.style else plain_scalar(event.value)


def _unicode(text: str) -> str:
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    raise ScalarError("half of a surrogate pair is no text")


def _short(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= 60 else f"{text[:60]}…"


def read_documents(text: str, first_line: int = 1) -> Iterator[Any]:
    """The values of a text's documents; an empty document is None.

    Args:
        text: well-formed Unicode.
        first_line: the number of its first line, for messages.

    Raises:
        YamlError: one of them can't be used.
    """
    number, builder, line = 0, _Builder(), first_line
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            line = first_line + (event.start_mark.line if event.start_mark is not None else 0)
            if isinstance(event, yaml.DocumentStartEvent):
                number += 1
                builder = _Builder()
            elif isinstance(event, yaml.DocumentEndEvent):
                yield builder.root
            else:
                builder.take(event)
    except ScalarError as error:
        raise YamlError(max(number, 1), f"line {line}: {error}") from None
    except yaml.MarkedYAMLError as error:
        raise YamlError(max(number, 1), f"no valid YAML: {_explained(error, first_line)}") from None
    except yaml.YAMLError as error:
        raise YamlError(max(number, 1), f"no valid YAML: {' '.join(str(error).split())}") from None


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it; the same events without it, more slowly."""


def _explained(error: yaml.MarkedYAMLError, first_line: int) -> str:
    mark = error.problem_mark or error.context_mark
    place = "" if mark is None else f"line {first_line + mark.line}, column {mark.column + 1}: "
    return f"{place}{', '.join(part for part in (error.context, error.problem) if part)}"

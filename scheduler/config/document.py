"""From the bytes of a file to plain mappings, lists and scalars: YAML or JSON, strictly.

Beyond the syntax this refuses what a later reader would silently misread: a key that stands twice, a second document,
a key that is not text, and a file that is too large or whose aliases unfold to something too large.
"""

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from scheduler.config.faults import ConfigurationError, Fault, show

MAXIMUM_BYTES: Final = 256 * 1024
"""Fifty times a large configuration; YAML is read at about 30 KB a second where it is dense."""

_MAXIMUM_VALUES: Final = 50_000
_MAXIMUM_DEPTH: Final = 64


class _RefusedError(Exception):
    """The document is well-formed, but not one we take; the text says why."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses duplicate keys, and reads dates as the text they are."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build the mapping of `node`, once it is known that each of its own keys stands there once."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f'the key "{key.value}" stands twice', problem_mark=key.start_mark)
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep=deep)


def read_file(path: Path) -> bytes:
    """The bytes of a configuration file.

    Raises:
        ConfigurationError: when it cannot be read or is larger than `MAXIMUM_BYTES`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise ConfigurationError(str(path), [Fault("", reason, "name a file that can be read")]) from error
    return data


def read_document(data: bytes, source: str) -> dict[str, Any]:
    """The mapping that a file holds.

    Raises:
        ConfigurationError: when there is not exactly one mapping that we take; `source` is the file's name in its text.
    """
    try:
        return _mapping(_parse(data))
    except yaml.YAMLError as error:
        raise ConfigurationError(source, [Fault("", _yaml_message(error))]) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # PyYAML lets these out where a value does not fit an explicit tag (`!!int x`) or has thousands of digits.
        raise ConfigurationError(source, [Fault("", "not valid YAML: a value does not fit its tag")]) from error
    except RecursionError as error:
        raise ConfigurationError(source, [Fault("", "nested too deeply")]) from error
    except _RefusedError as error:
        raise ConfigurationError(source, [Fault("", str(error))]) from error


def _parse(data: bytes) -> object:
    if len(data) > MAXIMUM_BYTES:
        raise _RefusedError(f"larger than {MAXIMUM_BYTES} bytes, which is no scheduler configuration")
    if not data.strip():
        raise _RefusedError("empty; write at least apiVersion and kind, or leave the file out for the defaults")
    if data.lstrip().startswith(b"{"):
        try:
            # Not msgspec: it keeps the last of two equal keys without a word.
            return json.loads(data, object_pairs_hook=_unique_keys)
        except ValueError:
            pass  # not JSON: a YAML flow mapping looks alike, and YAML's message says where the error is
    return yaml.load(data, Loader=_StrictLoader)  # noqa: S506  a SafeLoader underneath


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f'the key "{twice}" stands twice')
    return mapping


def _mapping(document: object) -> dict[str, Any]:
    if document is None:
        raise _RefusedError("empty; write at least apiVersion and kind, or leave the file out for the defaults")
    if not isinstance(document, dict):
        raise _RefusedError(f"expected a mapping of fields, got {show(document)}")
    plain: dict[str, Any] = _Unfolding().plain(document, depth=0)
    return plain


class _Unfolding:
    """Copies a document into plain values, counting: aliases can make a small file unfold to a huge one."""

    def __init__(self) -> None:
        self._values = 0

    def plain(self, value: Any, depth: int) -> Any:
        self._values += 1
        if self._values > _MAXIMUM_VALUES or depth > _MAXIMUM_DEPTH:
            raise _RefusedError(
                f"more than {_MAXIMUM_VALUES} values or {_MAXIMUM_DEPTH} levels once its aliases are unfolded"
            )
        if isinstance(value, str) and not _is_unicode(value):
            raise _RefusedError("text that is not Unicode: half of a surrogate pair")
        if isinstance(value, list):
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise _RefusedError(f"the key {show(key)} is not text; put it in quotes")
            return {key: self.plain(item, depth + 1) for key, item in value.items()}
        return value


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _yaml_message(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        context = f"{error.context}: " if error.context else ""
        return f"not valid YAML at line {mark.line + 1}, column {mark.column + 1}: {context}{error.problem}"
    return f"not valid YAML: {' '.join(str(error).split())}"

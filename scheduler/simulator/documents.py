"""Files into API objects, not looked into yet: YAML or JSON, lists taken apart, with the place of each object.

::

    bytes ── JSON? ──> documents ──┐
      │                            ├── a list? ──> its items ──> Found(place, value)
      └── YAML ──> documents ──────┘
                   (kubectl's by `yaml_blocks`, others by `yaml_events`)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from scheduler.simulator.places import InputError, Place, Remark
from scheduler.simulator.yaml_blocks import NOT_PLAIN, read_block, split_list
from scheduler.simulator.yaml_events import YamlError, read_documents

STANDARD_INPUT: Final = "-"
MAXIMUM_BYTES: Final = 1 << 30

_SEPARATOR: Final = re.compile(r"^---[ ]*\n", re.MULTILINE)
_SPECIAL: Final = re.compile(r"^(?:%|\.\.\.|---[^\n]*[^\s])", re.MULTILINE)
"""Directives, ends of documents, and separators with something after them: rare, and left to `yaml_events`."""
_LIST: Final = "List"


@dataclass(frozen=True, slots=True)
class Found:
    """An object as it was written; `value` has `kind` and `apiVersion` also where a typed list says them once."""

    place: Place
    value: dict[str, Any]


def read_file(name: str, standard_input: bytes | None = None) -> bytes:
    """The bytes of an input file.

    Raises:
        InputError: it can't be read.
    """
    if name == STANDARD_INPUT and standard_input is not None:
        return standard_input
    try:
        with Path(name).open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
    except IsADirectoryError:
        raise InputError.at(Place(name), "is a directory; name the files in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError.at(Place(name), f"can't be read: {reason}") from None
    if len(data) > MAXIMUM_BYTES:
        raise InputError.at(Place(name), f"is larger than {MAXIMUM_BYTES >> 20} MiB")
    return data


def read_objects(data: bytes, source: str) -> Iterator[Found | Remark]:
    """The objects of a file, in order, and what is wrong with documents that can't be used: the others still are.

    Raises:
        InputError: the file as a whole can't be used.
    """
    text = _decoded(data, source)
    start = text.lstrip()[:1]
    if not start:
        raise InputError.at(Place(source), "is empty")
    found = _json_objects(text, source) if start in ("{", "[") else None
    yield from _yaml_objects(text, source) if found is None else found


def _decoded(data: bytes, source: str) -> str:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError.at(Place(source), f"is no text: byte {error.start} is not {encoding[:5].upper()}") from None
    if "\0" in text:
        raise InputError.at(Place(source), f"is no text: character {text.index(chr(0))} is a null")
    return text.replace("\r\n", "\n")


# --- JSON


def _json_objects(text: str, source: str) -> list[Found | Remark] | None:
    """The objects of JSON values, one or several; None when it is none, or a key stands twice.

    YAML's flow style begins alike, and its reader can tell the line.
    """
    found: list[Found | Remark] = []
    try:
        for number, value in enumerate(_json_values(text), start=1):
            found += _taken_apart(value, Place(source, number))
    except (ValueError, RecursionError):
        return None
    return found


def _json_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant)
    position = len(text) - len(text.lstrip())
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        while text[position : position + 1].isspace():
            position += 1


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


# --- YAML


def _yaml_objects(text: str, source: str) -> Iterator[Found | Remark]:
    if _SPECIAL.search(text) is not None:
        yield from _documents_objects(text, source, 1, 1)
        return
    parts = _SEPARATOR.split(text if text.endswith("\n") else f"{text}\n")
    first = 1 if parts[0].strip() else 0
    line = 1 if first else 2
    for number, part in enumerate(parts[1 - first :], start=1):
        objects = _kubectl_objects(part, Place(source, number))
        yield from _documents_objects(part, source, number, line) if objects is None else objects
        line += part.count("\n") + 1


def _documents_objects(text: str, source: str, number: int, line: int) -> Iterator[Found | Remark]:
    """The objects of any YAML whose first document has this number and begins in this line of its file."""
    try:
        for document, value in enumerate(read_documents(text, line), start=number):
            yield from _taken_apart(value, Place(source, document))
    except YamlError as error:
        yield Remark(Place(source, number + error.document - 1), str(error))


def _kubectl_objects(text: str, place: Place) -> Iterator[Found | Remark] | None:
    """The objects of one document if it is as kubectl prints it."""
    cut = split_list(text)
    if cut is None:
        value = read_block(text)
        return None if value is NOT_PLAIN or not value else _taken_apart(value, place)
    header = read_block(cut[0]) if cut[0].strip() else {}
    if header is NOT_PLAIN or "items" in header:
        return None
    values = [_item_value(item) for item in cut[1]]
    if any(value is NOT_PLAIN for value in values):
        return None
    return _taken_apart({**header, "items": values}, place)


def _item_value(text: str) -> Any:
    value = read_block(text)
    if value is not NOT_PLAIN:
        return value
    try:
        values = list(read_documents(text))
    except YamlError:
        return NOT_PLAIN
    return values[0] if len(values) == 1 else NOT_PLAIN


# --- lists


def _taken_apart(value: Any, place: Place) -> Iterator[Found | Remark]:
    """The objects in a document: itself, the items of a list, or nothing where it is empty."""
    if value is None:
        return
    if isinstance(value, list):
        value = {"kind": _LIST, "items": value}
    if not isinstance(value, dict):
        yield _no_object(value, place)
        return
    kind = value.get("kind")
    if not (isinstance(kind, str) and kind.endswith(_LIST) and "items" in value):
        yield Found(place, value)
        return
    items = value["items"]
    if items is None:
        return
    if not isinstance(items, list):
        yield Remark(place.at("items"), f"expected a list, got {_kind_of(items)}")
        return
    said_once = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix(_LIST)} if kind != _LIST else {}
    for index, item in enumerate(items):
        at = replace(place, item=index)
        if not isinstance(item, dict):
            yield _no_object(item, at)
        elif item.get("kind") == _LIST:
            yield Remark(at, "a list within a list; write its items into the outer one")
        else:
            yield Found(at, {**said_once, **item} if said_once else item)


def _no_object(value: object, place: Place) -> Remark:
    return Remark(place, f"expected an object with apiVersion, kind and metadata, got {_kind_of(value)}")


def _kind_of(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")

"""Which fields of an object have the wrong type: all of them, each by its path. Asked only where decoding failed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from scheduler.api.quantity import QuantityError, nano_value

_RESOURCE_LISTS = frozenset({"requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources"})
_AMOUNTS = frozenset({"capacity", "maximumVolumeSize"})


def misfits(value: object, api_type: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Path and message of each field of another type than `api_type` says; nulls are as good as absent."""
    yield from _misfits(value, _type_of(api_type), "")


def wrong_quantities(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and message of each amount that is no quantity."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from wrong_quantities(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            at = _join(path, name)
            if name in _RESOURCE_LISTS and isinstance(item, dict):
                for resource, amount in item.items():
                    yield from _wrong_quantity(amount, _join(at, resource))
            elif name in _AMOUNTS:
                yield from _wrong_quantity(item, at)
            else:
                yield from wrong_quantities(item, at)


def _wrong_quantity(amount: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(amount, (str, int, float)):
        return
    try:
        nano_value(amount)
    except QuantityError as error:
        yield path, str(error)


@lru_cache
def _type_of(api_type: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(api_type)


def _misfits(value: Any, kind: inspect.Type, path: str) -> Iterator[tuple[str, str]]:
    match kind:
        case inspect.UnionType(types=types):
            members = [each for each in types if not isinstance(each, inspect.NoneType)]
            if value is not None and not any(not list(_misfits(value, each, path)) for each in members):
                yield from _misfits(value, members[-1], path)
        case inspect.StructType(fields=fields):
            if not isinstance(value, dict):
                yield path, f"expected a mapping, got {shown(value)}"
                return
            for field in fields:
                inner = value.get(field.encode_name)
                if inner is not None:
                    yield from _misfits(inner, field.type, _join(path, field.encode_name))
                elif field.required:
                    yield _join(path, field.encode_name), "is missing"
        case inspect.VarTupleType(item_type=item_type):
            if not isinstance(value, list):
                yield path, f"expected a list, got {shown(value)}"
                return
            for index, item in enumerate(value):
                yield from _misfits(item, item_type, f"{path}[{index}]")
        case inspect.DictType(value_type=value_type):
            if not isinstance(value, dict):
                yield path, f"expected a mapping, got {shown(value)}"
                return
            for name, item in value.items():
                yield from _misfits(item, value_type, _join(path, name))
        case _:
            problem = "" if value is None else _scalar_problem(value, kind)
            if problem:
                yield path, problem


def _scalar_problem(value: Any, kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "" if isinstance(value, bool) else f"expected true or false, got {shown(value)}"
        case inspect.IntType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return "" if whole else f"expected a whole number, got {shown(value)}"
        case inspect.FloatType():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return "" if number else f"expected a number or a quantity, got {shown(value)}"
        case inspect.DateTimeType():
            return _time_problem(value)
        case inspect.StrType() if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, (int, float)) else ""
            return f"expected text, got {shown(value)}{hint}"
    return ""


def _time_problem(value: object) -> str:
    try:
        msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        return f"expected a time such as 2026-01-31T12:00:00Z, got {shown(value)}"
    return ""


def shown(value: object) -> str:
    """A value as it stands in a message: scalars as in JSON, cut to a readable length, the others by their kind."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 60 else f"{text[:60]}…"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

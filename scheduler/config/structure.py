"""Holds a document against the configuration's types and finds every misfit, not only the first.

What does not fit is taken out of the result, so that the rest can still be checked for its meaning; the paths of what
was taken out tell which later complaints would only be echoes. A null is as good as an absent field, as everywhere in
Kubernetes, and so is the empty text where one of several names is expected.
"""

import base64
import binascii
import math
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from scheduler.config.duration import Duration
from scheduler.config.faults import Fault, closest, did_you_mean, show

_UNFIT: Final = object()


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is left of a document, and what did not fit.

    Attributes:
        value: the document without the misfits; `msgspec.convert` takes it.
        faults: the misfits.
        removed: paths of the values taken out.
    """

    value: dict[str, Any]
    faults: list[Fault]
    removed: list[str]


def fit(document: dict[str, Any], struct: type[msgspec.Struct]) -> Fitted:
    """Hold `document` against `struct`."""
    walk = _Walk()
    value = walk.struct(document, _type_of(struct), "")
    return Fitted({} if value is _UNFIT else value, walk.faults, walk.removed)


@cache
def _type_of(struct: type[msgspec.Struct]) -> inspect.StructType:
    node = inspect.type_info(struct)
    assert isinstance(node, inspect.StructType)
    return node


@dataclass(slots=True)
class _Walk:
    faults: list[Fault] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def _refuse(self, path: str, message: str) -> object:
        self.faults.append(Fault(path, message))
        self.removed.append(path)
        return _UNFIT

    def fit(self, value: Any, node: inspect.Type, path: str) -> Any:
        match node:
            case inspect.UnionType():
                return self.fit(value, _member(value, node), path)
            case inspect.StructType():
                return self.struct(value, node, path)
            case inspect.VarTupleType(item_type=item_type):
                return self._list(value, item_type, path)
            case inspect.DictType(value_type=value_type):
                return self._dict(value, value_type, path)
        problem = _scalar_problem(value, node)
        return self._refuse(path, problem) if problem else value

    def _unknown(self, key: str, fields: Collection[str], path: str) -> None:
        known_here = f"known here: {', '.join(sorted(fields))}" if fields else "no field is known here"
        self.faults.append(Fault(_join(path, key), "unknown field", did_you_mean(key, fields) or known_here))
        meant = closest(key, fields)
        if meant is not None:
            self.removed.append(_join(path, meant))

    def struct(self, value: Any, node: inspect.StructType, path: str) -> Any:
        if not isinstance(value, dict):
            return self._refuse(path, f"expected a mapping, got {show(value)}")
        fields = {known.encode_name: known for known in node.fields}
        fitted: dict[str, Any] = {}
        complete = True
        for key, item in value.items():
            if key == node.tag_field:
                fitted[key] = item
            elif key not in fields:
                self._unknown(key, fields, path)
            elif not _is_absent(item, fields[key]):
                fitted[key] = self.fit(item, fields[key].type, _join(path, key))
        for name, known in fields.items():
            if known.required and value.get(name) is None:
                self._refuse(_join(path, name), "required")
            if known.required and fitted.get(name, _UNFIT) is _UNFIT:
                complete = False
        if not complete:
            self.removed.append(path)
            return _UNFIT
        return {key: item for key, item in fitted.items() if item is not _UNFIT}

    def _list(self, value: Any, item_type: inspect.Type, path: str) -> Any:
        if not isinstance(value, list):
            return self._refuse(path, f"expected a list, got {show(value)}")
        fitted = [self.fit(item, item_type, f"{path}[{index}]") for index, item in enumerate(value)]
        if any(item is _UNFIT for item in fitted):
            # A list with a gap would shift the indices of what follows: leave it out as a whole.
            self.removed.append(path)
            return _UNFIT
        return fitted

    def _dict(self, value: Any, value_type: inspect.Type, path: str) -> Any:
        if not isinstance(value, dict):
            return self._refuse(path, f"expected a mapping, got {show(value)}")
        fitted = {key: self.fit(item, value_type, _join(path, key)) for key, item in value.items() if item is not None}
        return {key: item for key, item in fitted.items() if item is not _UNFIT}


def _is_absent(value: Any, known: inspect.Field) -> bool:
    return value is None or (value == "" and isinstance(known.type, inspect.EnumType) and not known.required)


def _member(value: Any, node: inspect.UnionType) -> inspect.Type:
    """The member of a union that `value` means: nulls are gone, so at most the `kind` decides."""
    members = [member for member in node.types if not isinstance(member, inspect.NoneType)]
    for member in members:
        if isinstance(member, inspect.StructType) and isinstance(value, dict) and value.get("kind") == member.tag:
            return member
    return members[0]


def _scalar_problem(value: Any, node: inspect.Type) -> str:
    """What is wrong with a scalar; empty when nothing is."""
    match node:
        case inspect.BoolType():
            return "" if isinstance(value, bool) else f"expected true or false, got {show(value)}"
        case inspect.IntType(ge=low, le=high):
            if not isinstance(value, int) or isinstance(value, bool):
                return f"expected a whole number, got {show(value)}"
            inside = (low is None or value >= low) and (high is None or value <= high)
            return "" if inside else f"{show(value)} is not between {low} and {high}"
        case inspect.FloatType():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return "" if number and math.isfinite(value) else f"expected a number, got {show(value)}"
        case inspect.EnumType(cls=enum):
            names = [str(member.value) for member in enum]
            return "" if value in names else f"{show(value)} is not one of {', '.join(names)}"
    if not isinstance(value, str):
        wanted = 'a duration such as "15s"' if isinstance(node, inspect.CustomType) else "text"
        return f"expected {wanted}, got {show(value)}"
    return _text_problem(value, node)


def _text_problem(value: str, node: inspect.Type) -> str:
    try:
        if isinstance(node, inspect.BytesType):
            base64.b64decode(value, validate=True)
        elif isinstance(node, inspect.CustomType) and node.cls is Duration:
            Duration.parse(value)
    except binascii.Error:
        return "expected base64"
    except ValueError as error:
        return f"{show(value)} is {error}"
    return ""


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key

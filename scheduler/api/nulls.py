"""Null means absent: the slow way of decoding, taken when an object has a null that its type has no word for.

The API server writes such nulls never, people write them often (`emptyDir:` and nothing after it). As in Go, a null
field has its zero value, and so has a null item of a list or a map (`labels: {gpu: }` is a label with an empty value).
"""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect


def without_nulls(value: object, api_type: type[msgspec.Struct]) -> object:
    """The decoded JSON `value` of an object of that type, with every null that the type knows of taken out."""
    return _clean(value, _type_of(api_type))


@lru_cache
def _type_of(api_type: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(api_type)


def _clean(value: Any, kind: inspect.Type) -> object:
    """A value that does not fit its type is left as it is; decoding it will say what is wrong."""
    match kind:
        case inspect.UnionType(types=types):
            return next((_clean(value, each) for each in types if _holds(each, value)), value)
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            types_by_name = {field.encode_name: field.type for field in fields}
            return {
                name: _clean(member, types_by_name[name]) if name in types_by_name else member
                for name, member in value.items()
                if member is not None
            }
        case inspect.DictType(value_type=item) if isinstance(value, dict):
            return {name: _zero(item) if member is None else _clean(member, item) for name, member in value.items()}
        case inspect.VarTupleType(item_type=item) if isinstance(value, list):
            return [_zero(item) if member is None else _clean(member, item) for member in value]
    return value


def _holds(kind: inspect.Type, value: object) -> bool:
    """Whether a union's member is the one to look into; scalars need no looking into."""
    return isinstance(kind, inspect.StructType | inspect.DictType if isinstance(value, dict) else inspect.VarTupleType)


def _zero(kind: inspect.Type) -> object:
    match kind:
        case inspect.StructType():
            return {}
        case inspect.IntType():
            return 0
        case inspect.UnionType(types=types):
            return None if any(isinstance(each, inspect.NoneType) for each in types) else "0"  # else a quantity
        case _:
            return ""

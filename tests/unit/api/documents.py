"""JSON documents made from our own types: one with every field, and random ones with fields left out or null."""

from typing import Any

from hypothesis import strategies as st
from msgspec import Struct, inspect

from scheduler.api.pod import READ_ANNOTATIONS

TIME = "2026-01-10T09:00:00Z"
IDENTITY = {"metadata", "name"}
"""An object without these is no object; in other places a name may be missing like any field."""


def full_document(api_type: type[Struct]) -> Any:
    """A document in which every field has a value."""
    return _full(inspect.type_info(api_type), "")


def documents(api_type: type[Struct], nulls: bool) -> st.SearchStrategy[Any]:
    """Documents in which every field is there or not, or null if there may be nulls."""
    return _documents(inspect.type_info(api_type), "", nulls)


def _decoded_fields(kind: inspect.StructType) -> list[inspect.Field]:
    return [field for field in kind.fields if field.encode_name != "volumeKinds"]


def _member(kind: inspect.UnionType) -> inspect.Type:
    return next(each for each in kind.types if not isinstance(each, inspect.NoneType))


def _keys(name: str) -> tuple[str, ...]:
    return READ_ANNOTATIONS if name == "annotations" else ("cpu", "memory")


def _full(kind: inspect.Type, name: str) -> Any:
    match kind:
        case inspect.UnionType():
            return _full(_member(kind), name)
        case inspect.StructType():
            return {field.encode_name: _full(field.type, field.encode_name) for field in _decoded_fields(kind)}
        case inspect.DictType():
            return {key: _full(kind.value_type, "") for key in _keys(name)}
        case inspect.VarTupleType():
            return [_full(kind.item_type, "")]
        case inspect.DateTimeType():
            return TIME
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 7
    return "1"


def _documents(kind: inspect.Type, name: str, nulls: bool) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.UnionType():
            return _documents(_member(kind), name, nulls)
        case inspect.StructType(cls=cls):
            whole = "metadata" in cls.__struct_fields__ or "uid" in cls.__struct_fields__
            members = {
                field.encode_name: _documents(field.type, field.encode_name, nulls) for field in _decoded_fields(kind)
            }
            needed = {key: value for key, value in members.items() if whole and key in IDENTITY}
            others = {key: st.none() | value if nulls else value for key, value in members.items() if key not in needed}
            return st.fixed_dictionaries(needed, optional=others)
        case inspect.DictType():
            values = _documents(kind.value_type, "", nulls)
            return st.dictionaries(st.sampled_from(_keys(name)), st.none() | values if nulls else values)
        case inspect.VarTupleType():
            items = _documents(kind.item_type, "", nulls)
            return st.lists(st.none() | items if nulls else items, max_size=3)
        case inspect.DateTimeType():
            return st.just(TIME)
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(-(2**31), 2**31 - 1)
    return st.sampled_from(["", "1", "500m", "a\u0000b", "ü\n", "Always"])

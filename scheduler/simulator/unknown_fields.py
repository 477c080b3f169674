"""Fields that the API does not have: a misspelt one would be passed over in silence, and the answer be wrong.

`field_names.json` has the fields of the kinds that are read, by type, as Kubernetes publishes them; a test holds it
against the models of the official client, and `python -m tests.unit.simulator.published_fields` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from scheduler.config.faults import did_you_mean

Table = Mapping[str, Mapping[str, str]]
"""The type of each field by type and field name; empty for what has no fields of its own."""

_FILE: Final = "field_names.json"


@cache
def field_names() -> Table:
    """The table, read when it is first asked for."""
    return msgspec.json.decode(files(__package__).joinpath(_FILE).read_bytes(), type=dict[str, dict[str, str]])


def unknown_fields(value: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    """Path and message of each field of an object that there is not."""
    yield from _unknown(value, f"V1{kind}", "")


def _unknown(value: Any, name: str, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, name, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    fields = field_names()[name]
    for field, inner in value.items():
        at = f"{path}.{field}" if path else field
        if field not in fields:
            hint = did_you_mean(field, fields)
            yield at, f"there is no such field; {hint}" if hint else "there is no such field"
        elif fields[field]:
            yield from _unknown(inner, fields[field], at)

"""The fields that Kubernetes publishes, from the models of the official client; run as a program it writes them."""

import re
from importlib.resources import files
from pathlib import Path

import kubernetes.client as models
import msgspec

from scheduler.simulator.kinds import READ_KINDS

PATH = Path(str(files("scheduler.simulator"))) / "field_names.json"

_MODEL = re.compile(r"(?:(?:List\[|Dict\[str, ))?(V[0-9]\w+)\]?")


def published_fields() -> dict[str, dict[str, str]]:
    """By type and field; the type of a list's items stands for the list."""
    table: dict[str, dict[str, str]] = {}
    for kind in READ_KINDS.values():
        _add(f"V1{kind.name}", table)
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def _add(name: str, table: dict[str, dict[str, str]]) -> None:
    if name in table:
        return
    model = getattr(models, name)
    fields = table[name] = {}
    for attribute, written in model.openapi_types.items():
        match = _MODEL.fullmatch(written)
        assert match is None or not written.startswith("Dict"), "maps of objects would need a word of their own"
        fields[model.attribute_map[attribute]] = match[1] if match else ""
        if match:
            _add(match[1], table)


def main() -> None:
    """Write the file."""
    PATH.write_bytes(msgspec.json.format(msgspec.json.encode(published_fields()), indent=1) + b"\n")


if __name__ == "__main__":
    main()

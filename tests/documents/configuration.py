"""docs/configuration.md, made from the types of the configuration, their docstrings and the table of plugins."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from scheduler.config.duration import Duration
from scheduler.config.plugin_args import ARGS_TYPES
from scheduler.config.plugin_names import IN_TREE_PLUGINS, ExtensionPoint, PluginInfo
from scheduler.config.types import KubeSchedulerConfiguration

CONFIGURATION: Final = Path(__file__).parents[2] / "docs" / "configuration.md"

_INTRODUCTION: Final = """# Configuration

This page is made by `make docs` from the code; a test holds it to be up to date.

Podium reads a KubeSchedulerConfiguration v1, YAML or JSON, as it is made for kube-scheduler 1.37:

```yaml
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: podium
  - schedulerName: packing
    plugins:
      score:
        disabled:
          - name: NodeResourcesBalancedAllocation
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
```

- `podium config check FILE` lists all faults of a file, each with its place, its value and the way out, and what of it
  has no effect. The exit code is 0 when `podium run` takes it, else 2.
- `podium config show [FILE]` prints the effective configuration, all defaults filled in, as a file that means the same;
  `-o json` is the other notation.
- `podium run --config FILE` runs with it. `/configz` of the running process shows the same as `show`, and the active
  plugins of each profile.

A file is refused as a whole, never in part: a field that does not exist, stands twice or has a value of the wrong type,
a rule that is broken, and whatever Podium does not do, by its name. What can be read but changes nothing is noted in
the log. An absent field, a null, and in most places an empty text or a duration of 0 mean the default. All deliberate
differences from kube-scheduler are in [differences.md](differences.md).

## Which plugins run

Every profile begins with the default plugins, which stand at `multiPoint` in the order of the table at the end.
`multiPoint.disabled` takes plugins away from all points, `disabled` at a point from that point
alone, `*` all of them; `enabled` adds. At each point there run

1. the plugins enabled at this point that come from `multiPoint`, too, in the order written at the point,
2. the others of `multiPoint` that serve at the point, in their order,
3. the others enabled at the point.

The weight of a score is the one at `score`, else the one at `multiPoint`. A plugin that is enabled by name and given no
weight, or 0, has 1, whatever its default is.

## Fields
"""


def configuration_reference() -> str:
    """The text of docs/configuration.md."""
    fields: list[str] = []
    args: list[str] = []
    for kind in _reachable(KubeSchedulerConfiguration, seen=set()):
        (args if _is_of_args(kind) else fields).append(_section(kind))
    return "\n".join([_INTRODUCTION, *fields, "## Args of plugins\n", *args, *_plugins()])


def _reachable(kind: type[msgspec.Struct], seen: set[type]) -> Iterator[type[msgspec.Struct]]:
    """The configuration's own types that `kind` is made of, itself first."""
    if kind in seen or not kind.__module__.startswith("scheduler.config"):
        return
    seen.add(kind)
    yield kind
    node = types.type_info(kind)
    assert isinstance(node, types.StructType)
    for field in node.fields:
        for part in _parts(field.type):
            if isinstance(part, types.StructType):
                yield from _reachable(part.cls, seen)


def _parts(node: types.Type) -> list[types.Type]:
    """The types that are not lists, unions or nothing, of which this one is made."""
    match node:
        case types.UnionType():
            return [part for member in node.types for part in _parts(member)]
        case types.VarTupleType():
            return _parts(node.item_type)
        case types.NoneType():
            return []
    return [node]


def _is_of_args(kind: type[msgspec.Struct]) -> bool:
    return kind.__module__ == "scheduler.config.plugin_args"


def _section(kind: type[msgspec.Struct]) -> str:
    node = types.type_info(kind)
    assert isinstance(node, types.StructType)
    purpose, attributes = _described(kind)
    rows = [
        f"| `{field.encode_name}` | {_type(field.type)} | {_default(field, kind)} | {attributes.pop(field.name)} |"
        for field in node.fields
        if not (_is_of_args(kind) and field.name == "api_version")
    ]
    assert not attributes, f"{kind.__name__} has no such field: {attributes}"
    table = ["| field | type | default | meaning |", "|---|---|---|---|", *rows, ""] if rows else []
    return "\n".join([f"### {kind.__name__}", "", purpose, "", *table])


def _described(kind: type[msgspec.Struct]) -> tuple[str, dict[str, str]]:
    """The first paragraph of a docstring, and what it says of each attribute."""
    text, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
    entries = re.findall(r"^    (\w+): ((?:.|\n(?!    \w+: ))*)", attributes, re.MULTILINE)
    return " ".join(text.split()), {name: _sentence(" ".join(meaning.split())) for name, meaning in entries}


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _type(node: types.Type) -> str:
    if isinstance(node, types.VarTupleType):
        return f"list of {_type(node.item_type)}"
    names = dict.fromkeys(_type_name(part) for part in _parts(node))
    return "the plugin's args" if len(names) > 1 else next(iter(names))


def _type_name(node: types.Type) -> str:
    match node:
        case types.StructType(cls=kind) if kind.__module__.startswith("scheduler.config"):
            return f"[{kind.__name__}](#{kind.__name__.lower()})"
        case types.StructType(cls=kind):
            return kind.__name__
        case types.EnumType(cls=enum):
            return ", ".join(f"`{member.value}`" for member in enum)
        case types.BoolType():
            return "`true`, `false`"
        case types.IntType():
            return "whole number"
        case types.FloatType():
            return "number"
        case types.BytesType():
            return "base64"
        case types.CustomType():
            return "duration"
    return "text"


def _default(field: types.Field, kind: type[msgspec.Struct]) -> str:
    """What an absent field means; empty when it means nothing, and for a part that has a table of its own."""
    if field.required:
        return "required"
    value = field.default
    if value in (None, "", ()) or (isinstance(value, msgspec.Struct) and not _is_of_args(kind)):
        return ""
    if isinstance(value, (str, Duration)):
        return f"`{value}`"
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        plain = {name: item for name, item in plain.items() if item is not None}
    return f"`{json.dumps(plain)}`"


def _plugins() -> list[str]:
    rows = [f"| {' | '.join(_plugin(info))} |" for info in IN_TREE_PLUGINS.values()]
    head = ["| plugin | weight | serves at | args | |", "|---|---|---|---|---|"]
    return ["## The plugins\n", "In the order of the default profile.\n", *head, *rows, ""]


def _plugin(info: PluginInfo) -> tuple[Any, ...]:
    points = ", ".join(f"`{point.key}`" for point in ExtensionPoint if point in info.points)
    kind = ARGS_TYPES.get(info.name)
    args = f"[{kind.__name__}](#{kind.__name__.lower()})" if kind else ""
    if not info.supported:
        support = "not supported yet" + (", left out of the default profile" if info.in_default_profile else "")
    else:
        support = "" if info.in_default_profile else "off unless enabled"
    return info.name, str(info.default_weight or ""), points, args, support

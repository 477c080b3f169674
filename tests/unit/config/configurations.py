"""Configurations for the tests of this folder, and the faults that a file has."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from scheduler.config.faults import ConfigurationError, Fault
from scheduler.config.loading import LoadedConfiguration, parse_configuration
from scheduler.config.plugin_names import IN_TREE_PLUGINS, PluginInfo

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

KUBE_SCHEDULER_DEFAULTS = Path(__file__).parent / "kube_scheduler_defaults.yaml"

ALL_SUPPORTED: Mapping[str, PluginInfo] = {
    name: replace(info, supported=info.in_default_profile) for name, info in IN_TREE_PLUGINS.items()
}
"""The in-tree table as it will be when every default plugin is there."""


def load(
    fields: Mapping[str, Any] | None = None,
    *,
    known: Mapping[str, PluginInfo] = IN_TREE_PLUGINS,
    take_over: bool = False,
) -> LoadedConfiguration:
    """Load a configuration with these top-level fields."""
    data = msgspec.json.encode({**HEADER, **(fields or {})})
    return parse_configuration(data, source="test.yaml", known=known, take_over=take_over)


def faults(
    fields: Mapping[str, Any], *, known: Mapping[str, PluginInfo] = IN_TREE_PLUGINS, take_over: bool = False
) -> tuple[Fault, ...]:
    """The faults of a configuration with these top-level fields; empty when it has none."""
    try:
        load(fields, known=known, take_over=take_over)
    except ConfigurationError as error:
        return error.faults
    return ()


def profile(**fields: Any) -> dict[str, Any]:
    """The top-level fields of a configuration with one profile, named `test`."""
    return {"profiles": [{"schedulerName": "test", **fields}]}


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """The top-level fields of a configuration with one profile that gives `plugin` these args."""
    return profile(pluginConfig=[{"name": plugin, "args": args}])


class Verdict(msgspec.Struct):
    """What kube-scheduler says of a configuration without apiVersion and kind: why it refuses it, or nothing."""

    config: dict[str, Any]
    refused: str


def verdicts() -> list[Verdict]:
    """400 random configurations, with kube-scheduler's verdict of each."""
    lines = gzip.decompress((Path(__file__).parent / "verdicts.jsonl.gz").read_bytes())
    return msgspec.json.Decoder(Verdict).decode_lines(lines)

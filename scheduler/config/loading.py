"""From a file to a validated, effective configuration, or to the list of everything that is wrong with it.

The way: bytes → document (`document`) → misfits with the types (`structure`) → typed configuration → what is not
supported (`support`) → defaults → rules (`validation`). A file with misfits goes on without them, so that one run shows
all faults; complaints about the very places that did not fit are left out as echoes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from scheduler.config.defaults import with_defaults
from scheduler.config.document import read_document, read_file
from scheduler.config.duration import Duration
from scheduler.config.faults import ConfigurationError, Fault, did_you_mean, show
from scheduler.config.plugin_args import ARGS_TYPES, GROUP_VERSION
from scheduler.config.plugin_names import IN_TREE_PLUGINS, PluginInfo
from scheduler.config.resolution import ProfilePlugins, resolve_plugins
from scheduler.config.structure import fit
from scheduler.config.support import notes, taken_over, unsupported, unsupported_replicas
from scheduler.config.types import KIND, KubeSchedulerConfiguration
from scheduler.config.validation import validate

_GROUP: Final = GROUP_VERSION.partition("/")[0]
_DEFAULTS: Final = f'{{"apiVersion":"{GROUP_VERSION}","kind":"{KIND}"}}'.encode()


class LoadedConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration ready to run.

    Attributes:
        configuration: the effective configuration, defaults filled in.
        plugins: the plugins of each profile, by schedulerName, in the order of the profiles.
        notes: what of it has no effect; one sentence each, for the log.
    """

    configuration: KubeSchedulerConfiguration
    plugins: dict[str, ProfilePlugins]
    notes: tuple[str, ...]


def load_configuration(
    path: Path | None,
    *,
    take_over: bool = False,
    simulated: bool = False,
    known: Mapping[str, PluginInfo] = IN_TREE_PLUGINS,
) -> LoadedConfiguration:
    """Read, check and complete the configuration in the file at `path`; None stands for the defaults alone.

    Args:
        path: a YAML or JSON file.
        take_over: whether the user allows to serve `default-scheduler` or to take kube-scheduler's lease.
        simulated: whether nothing is run with it, so that names and leases are nobody's and replicas don't matter.
        known: the plugins that exist.

    Raises:
        ConfigurationError: with every fault that could be found.
    """
    if path is None:
        return parse_configuration(_DEFAULTS, source="defaults", known=known)
    return parse_configuration(read_file(path), source=str(path), take_over=take_over, simulated=simulated, known=known)


def parse_configuration(
    data: bytes,
    *,
    source: str,
    take_over: bool = False,
    simulated: bool = False,
    known: Mapping[str, PluginInfo] = IN_TREE_PLUGINS,
) -> LoadedConfiguration:
    """`load_configuration` for bytes at hand; `source` names them in messages."""
    document = read_document(data, source)
    _check_kind(document, source)
    faults = _name_args(document, known)
    fitted = fit(document, KubeSchedulerConfiguration)
    faults += fitted.faults
    written = msgspec.convert(fitted.value, KubeSchedulerConfiguration, dec_hook=_decode_duration)
    effective = with_defaults(written, known)
    meaning = [] if simulated else [*unsupported_replicas(document, written)]
    meaning += [*unsupported(written, known), *validate(effective, known)]
    if not (take_over or simulated):
        meaning += taken_over(written)
    faults += [fault for fault in meaning if not any(_touch(fault.path, path) for path in fitted.removed)]
    without_effect = tuple(notes(fitted.value, written, known))
    if faults:
        raise ConfigurationError(source, faults, without_effect)
    return LoadedConfiguration(
        configuration=effective,
        plugins={str(profile.scheduler_name): resolve_plugins(profile, known) for profile in effective.profiles},
        notes=without_effect,
    )


def _check_kind(document: dict[str, Any], source: str) -> None:
    """A file of another kind or version is not looked into: every field would be wrong for one reason."""
    version, kind = document.get("apiVersion"), document.get("kind")
    faults = []
    if version != GROUP_VERSION:
        found = "missing" if version is None else f"{show(version)} is not understood"
        old = isinstance(version, str) and version.startswith(f"{_GROUP}/")
        hint = (
            f"bring the file to {GROUP_VERSION}, which every kube-scheduler since 1.25 reads"
            if old
            else f"write {GROUP_VERSION}"
        )
        faults.append(Fault("apiVersion", found, hint))
    if kind != KIND:
        found = "missing" if kind is None else f"{show(kind)} is not a scheduler's configuration"
        hint = did_you_mean(kind, [KIND]) if isinstance(kind, str) else ""
        faults.append(Fault("kind", found, hint or f"write {KIND}"))
    if faults:
        raise ConfigurationError(source, faults)


def _name_args(document: dict[str, Any], known: Mapping[str, PluginInfo]) -> list[Fault]:
    """Write into each `args` the kind that its plugin's name implies, which is what decides its type."""
    faults: list[Fault] = []
    for profile_index, profile in _mappings(document.get("profiles")):
        for index, entry in _mappings(profile.get("pluginConfig")):
            faults += _name_entry_args(entry, f"profiles[{profile_index}].pluginConfig[{index}].args", known)
    return faults


def _name_entry_args(entry: dict[str, Any], path: str, known: Mapping[str, PluginInfo]) -> list[Fault]:
    name, args = entry.get("name"), entry.get("args")
    if not isinstance(name, str) or name not in ARGS_TYPES:
        entry.pop("args", None)
        if args and isinstance(name, str) and name in known:
            return [Fault(path, f"the plugin {show(name)} takes no args", "remove them")]
        return []
    if not isinstance(args, dict):
        return []
    kind = ARGS_TYPES[name].__name__
    wanted = {"kind": kind, "apiVersion": GROUP_VERSION}
    entry["args"] = args | wanted
    return [
        Fault(f"{path}.{field}", f"{show(args[field])} does not go with the plugin {name}", f"write {value}")
        for field, value in wanted.items()
        if args.get(field) not in (None, value)
    ]


def _mappings(value: object) -> list[tuple[int, dict[str, Any]]]:
    items = value if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, dict)]


def _touch(one: str, other: str) -> bool:
    """Whether one path leads to the other or is the same."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and (len(long) == len(short) or long[len(short)] in ".[")


def _decode_duration(wanted: type, value: object) -> Duration:
    if wanted is not Duration or not isinstance(value, str):
        raise NotImplementedError(f"no reader for {wanted}")
    return Duration.parse(value)

"""What a valid configuration may ask that Podium does not do: refused by name, never silently ignored.

Also the guard against taking over the cluster's own scheduler by accident. All checks look at the configuration as it
is written, because only what is written is asked for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler.config.defaults import ALL_PLUGINS, plugin_sets
from scheduler.config.faults import Fault, did_you_mean, show
from scheduler.config.plugin_names import REMOVED_PLUGINS, ExtensionPoint, PluginInfo
from scheduler.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElectionConfiguration

_CLUSTER_SCHEDULER_NAME: Final = "default-scheduler"
_CLUSTER_LEASE: Final = ("kube-system", "kube-scheduler")
_MULTI_POINT: Final = "multiPoint"
_POINTS: Final = {point.key: point for point in ExtensionPoint}


def unsupported_replicas(document: Mapping[str, Any], written: KubeSchedulerConfiguration) -> Iterator[Fault]:
    """What `written` asks for where several replicas run, and Podium does not do. Not asked when nothing is run.

    Args:
        document: the file's content, which tells what is written.
        written: the same, typed.
    """
    yield from _leader_election(written.leader_election, written_out=document.get("leaderElection") is not None)
    if written.delay_cache_until_active:
        yield Fault("delayCacheUntilActive", "not supported yet: there is no leader election", "remove the field")


def unsupported(written: KubeSchedulerConfiguration, known: Mapping[str, PluginInfo]) -> Iterator[Fault]:
    """What else `written` asks for and Podium does not do.

    Args:
        written: the file's content, typed.
        known: the plugins that exist, with those that are supported marked.
    """
    if written.extenders:
        yield Fault(
            "extenders", "HTTP extenders are not supported yet", "remove them, or leave these pods to another scheduler"
        )
    for index, profile in enumerate(written.profiles):
        path = f"profiles[{index}]"
        yield from _plugins(profile, path, known)
        yield from _plugin_config(profile, path, known)


def taken_over(written: KubeSchedulerConfiguration) -> Iterator[Fault]:
    """What of the cluster's own scheduler `written` would take over. Not asked when the user passed `--take-over`."""
    hint = "use another name; or, with kube-scheduler stopped, pass --take-over"
    for index, profile in enumerate(written.profiles):
        if profile.scheduler_name == _CLUSTER_SCHEDULER_NAME:
            message = f"{show(_CLUSTER_SCHEDULER_NAME)} is the cluster's own scheduler"
            yield Fault(f"profiles[{index}].schedulerName", message, hint)
    election = written.leader_election
    lease = (election.resource_namespace, election.resource_name)
    if lease == _CLUSTER_LEASE and election.leader_elect is not False:
        yield Fault("leaderElection.resourceName", f"{show('/'.join(lease))} is kube-scheduler's lease", hint)


def notes(
    document: Mapping[str, Any], written: KubeSchedulerConfiguration, known: Mapping[str, PluginInfo]
) -> Iterator[str]:
    """What of a configuration has no effect, for the log: one sentence each.

    Args:
        document: the file's content without what does not fit the types, which tells what is written.
        written: the same, typed.
        known: the plugins that exist.
    """
    if "parallelism" in document:
        yield "parallelism has no effect: plugins work on all nodes at once"
    for field in ("enableProfiling", "enableContentionProfiling"):
        if document.get(field):
            yield f"{field} has no effect: there is no Go runtime to profile"
    client = document.get("clientConnection", {})
    for field in ("contentType", "acceptContentTypes"):
        if "json" not in (client.get(field) or "json"):
            yield f"clientConnection.{field} has no effect: Podium speaks JSON with the API server"
    for index, profile in enumerate(written.profiles):
        yield from _profile_notes(profile, f"profiles[{index}]", known)


def _profile_notes(profile: KubeSchedulerProfile, path: str, known: Mapping[str, PluginInfo]) -> Iterator[str]:
    for key, plugin_set in plugin_sets(profile.plugins):
        for position, plugin in enumerate(plugin_set.disabled):
            if plugin.name not in known and plugin.name != ALL_PLUGINS:
                place = f"{path}.plugins.{key}.disabled[{position}]"
                text = f"{place} has no effect: no plugin is named {show(plugin.name)}"
                hint = did_you_mean(plugin.name, known)
                yield f"{text} ({hint})" if hint else text
    missing = [
        (f"plugins.multiPoint.enabled[{i}]", each.name) for i, each in enumerate(profile.plugins.multi_point.enabled)
    ]
    missing += [(f"pluginConfig[{i}]", each.name) for i, each in enumerate(profile.plugin_config)]
    for place, name in missing:
        if _left_out(known.get(name)):
            yield f"{path}.{place} has no effect: the plugin {show(name)} is not supported yet"


def _leader_election(election: LeaderElectionConfiguration, *, written_out: bool) -> Iterator[Fault]:
    if election.leader_elect:
        yield Fault(
            "leaderElection.leaderElect", "leader election is not supported yet", "write false, run one replica"
        )
    elif election.leader_elect is None and written_out:
        message = "leader election, which kube-scheduler does unless told not to, is not supported yet"
        yield Fault("leaderElection", message, "write leaderElect: false, run one replica")


def _plugins(profile: KubeSchedulerProfile, path: str, known: Mapping[str, PluginInfo]) -> Iterator[Fault]:
    for key, plugin_set in plugin_sets(profile.plugins):
        seen: set[str] = set()
        for index, plugin in enumerate(plugin_set.enabled):
            place = f"{path}.plugins.{key}.enabled[{index}]"
            yield from _enabled_plugin(plugin.name, key, f"{place}.name", known)
            if plugin.name in seen:
                yield Fault(f"{place}.name", f"{show(plugin.name)} stands twice", "enable it once")
            seen.add(plugin.name)
            if plugin.weight is not None and plugin.weight < 0:
                yield Fault(f"{place}.weight", f"{plugin.weight} is negative", "disable the plugin instead")


def _enabled_plugin(name: str, key: str, path: str, known: Mapping[str, PluginInfo]) -> Iterator[Fault]:
    info = known.get(name)
    if key == _MULTI_POINT and _left_out(info):
        return
    if info is None or not info.supported:
        yield _no_such_plugin(name, path, known, way_out="remove it; a default plugin that Podium lacks is left out")
    elif key == _MULTI_POINT:
        return
    elif key not in _POINTS:
        yield Fault(path, f"nothing runs at {key}: pod groups are not supported yet", "remove it")
    elif _POINTS[key] not in info.points:
        served = ", ".join(point.key for point in ExtensionPoint if point in info.points)
        yield Fault(path, f"{show(name)} does not serve at {key}", f"it serves at {served}")


def _plugin_config(profile: KubeSchedulerProfile, path: str, known: Mapping[str, PluginInfo]) -> Iterator[Fault]:
    for index, entry in enumerate(profile.plugin_config):
        info = known.get(entry.name)
        if not _left_out(info) and (info is None or not info.supported):
            place = f"{path}.pluginConfig[{index}].name"
            yield _no_such_plugin(entry.name, place, known, way_out="remove the entry")


def _left_out(info: PluginInfo | None) -> bool:
    """Whether our default profile lacks a plugin of kube-scheduler's: writing that out in full asks no more of us."""
    return info is not None and info.in_default_profile and not info.supported


def _no_such_plugin(name: str, path: str, known: Mapping[str, PluginInfo], way_out: str) -> Fault:
    if name in known:
        return Fault(path, f"the plugin {show(name)} is not supported yet", way_out)
    if name in REMOVED_PLUGINS:
        return Fault(path, f"the plugin {show(name)} was removed", "NodeVolumeLimits does its work; remove it")
    return Fault(path, f"no plugin is named {show(name)}", did_you_mean(name, known))

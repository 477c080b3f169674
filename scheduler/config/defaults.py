"""Fills what a configuration leaves open, as kube-scheduler 1.37 does for v1.

Deliberately different: the single profile without a name is `podium`; leader election is off unless asked for; the
client is limited only when `qps` or `burst` is written; an absent `percentageOfNodesToScore` and absent
`minCandidateNodes…` mean all nodes. Plugins that Podium does not have are not in the default set.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from scheduler.config.duration import Duration
from scheduler.config.plugin_args import (
    ARGS_TYPES,
    DEFAULT_RESOURCES,
    DefaultPreemptionArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginArgs,
    ResourceSpec,
    VolumeBindingArgs,
)
from scheduler.config.plugin_names import PluginInfo
from scheduler.config.types import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnectionConfiguration,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

ALL_PLUGINS: Final = "*"
_ZERO: Final = Duration(0)
_DEFAULT_QPS: Final = 50.0
_DEFAULT_BURST: Final = 100


def with_defaults(written: KubeSchedulerConfiguration, known: Mapping[str, PluginInfo]) -> KubeSchedulerConfiguration:
    """The effective configuration: `written` with everything filled in that follows from it.

    Args:
        written: the configuration as it stands in the file.
        known: the plugins that exist; those of the default profile which are supported become the default set.
    """
    profiles = written.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = written.enable_contention_profiling
    return replace(
        written,
        leader_election=_leader_election(written.leader_election),
        client_connection=_client_connection(written.client_connection),
        enable_contention_profiling=written.enable_profiling if contention is None else contention,
        profiles=tuple(_profile(profile, known) for profile in profiles),
        extenders=tuple(_extender(extender) for extender in written.extenders),
    )


def default_plugins(known: Mapping[str, PluginInfo]) -> tuple[Plugin, ...]:
    """The plugins of a profile that says nothing, in order."""
    return tuple(
        Plugin(name=info.name, weight=info.default_weight)
        for info in known.values()
        if info.in_default_profile and info.supported
    )


def _leader_election(written: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    default = LeaderElectionConfiguration()
    return LeaderElectionConfiguration(
        leader_elect=bool(written.leader_elect),
        lease_duration=_unless_zero(written.lease_duration, default.lease_duration),
        renew_deadline=_unless_zero(written.renew_deadline, default.renew_deadline),
        retry_period=_unless_zero(written.retry_period, default.retry_period),
        resource_lock=written.resource_lock or default.resource_lock,
        resource_name=written.resource_name or default.resource_name,
        resource_namespace=written.resource_namespace or default.resource_namespace,
    )


def _unless_zero(written: Duration, default: Duration) -> Duration:
    return default if written == _ZERO else written


def _client_connection(written: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    """Zero is absent, as upstream; of `qps` and `burst` the one that is not written follows the other's being there."""
    qps, burst = written.qps or None, written.burst or None
    if qps is not None or burst is not None:
        qps = _DEFAULT_QPS if qps is None else qps
        burst = _DEFAULT_BURST if burst is None else burst
    content_type = written.content_type or ClientConnectionConfiguration().content_type
    return replace(written, content_type=content_type, qps=qps, burst=burst)


def _extender(written: Extender) -> Extender:
    return replace(written, http_timeout=_unless_zero(written.http_timeout, Duration.of_seconds(5)))


def _profile(written: KubeSchedulerProfile, known: Mapping[str, PluginInfo]) -> KubeSchedulerProfile:
    plugins = _merge(written.plugins, known)
    configured = tuple(
        replace(entry, args=_args(entry.args)) if entry.args is not None else _default_config(entry.name)
        for entry in written.plugin_config
    )
    names = {entry.name for entry in configured}
    enabled = {plugin.name for _, plugin_set in plugin_sets(plugins) for plugin in plugin_set.enabled}
    added = tuple(_default_config(name) for name in sorted(enabled - names) if name in ARGS_TYPES)
    return replace(written, plugins=plugins, plugin_config=configured + added)


def _default_config(name: str) -> PluginConfig:
    args_type = ARGS_TYPES.get(name)
    return PluginConfig(name=name, args=args_type() if args_type else None)  # type: ignore[arg-type]


def plugin_sets(plugins: Plugins) -> tuple[tuple[str, PluginSet], ...]:
    """The plugin sets with the names of their fields in the file, `multiPoint` among them."""
    return tuple((field.encode_name, getattr(plugins, field.name)) for field in msgspec.structs.fields(Plugins))


def _merge(written: Plugins, known: Mapping[str, PluginInfo]) -> Plugins:
    """Put the default plugins, which are all at multiPoint, under those of the file; what we lack is left out."""
    supported = (each for each in written.multi_point.enabled if each.name not in known or known[each.name].supported)
    written_set = replace(written.multi_point, enabled=tuple(supported))
    disabled = {plugin.name for plugin in written_set.disabled}
    defaults = () if ALL_PLUGINS in disabled else default_plugins(known)
    by_name = {plugin.name: plugin for plugin in written_set.enabled}
    # A default plugin that is enabled again keeps its place and takes the weight of the file.
    kept = tuple(by_name.get(plugin.name, plugin) for plugin in defaults if plugin.name not in disabled)
    kept_names = {plugin.name for plugin in kept}
    added = tuple(plugin for plugin in written_set.enabled if plugin.name not in kept_names)
    return replace(written, multi_point=replace(written_set, enabled=kept + added))


def _args(args: PluginArgs) -> PluginArgs:
    match args:
        case NodeResourcesFitArgs(scoring_strategy=strategy):
            return replace(args, scoring_strategy=replace(strategy, resources=_resources(strategy.resources)))
        case NodeResourcesBalancedAllocationArgs(resources=resources):
            return replace(args, resources=_resources(resources))
        case VolumeBindingArgs(shape=()):
            return replace(args, shape=VolumeBindingArgs().shape)
        case DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute):
            if percentage is None and absolute is None:
                return args
            return replace(
                args,
                min_candidate_nodes_percentage=10 if percentage is None else percentage,
                min_candidate_nodes_absolute=100 if absolute is None else absolute,
            )
    return args


def _resources(written: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(replace(resource, weight=resource.weight or 1) for resource in written) or DEFAULT_RESOURCES

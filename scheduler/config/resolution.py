"""Which plugins run at which extension point, in which order and with which weight.

The rules are those of kube-scheduler's framework runtime. At each point: first the plugins named at the point that also
come from multiPoint (in the point's order), then the rest of multiPoint, then the others named at the point. A point
that disables `*` takes nothing from multiPoint.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from scheduler.config.defaults import ALL_PLUGINS
from scheduler.config.plugin_names import IN_TREE_PLUGINS, ExtensionPoint, PluginInfo
from scheduler.config.types import KubeSchedulerProfile, Plugins, PluginSet


class ProfilePlugins(msgspec.Struct, frozen=True, kw_only=True):
    """The plugins of a profile: names in calling order for each extension point.

    `weights` holds the weight (1 or more) of each plugin at `score`.
    """

    pre_enqueue: tuple[str, ...]
    queue_sort: tuple[str, ...]
    pre_filter: tuple[str, ...]
    filter: tuple[str, ...]
    post_filter: tuple[str, ...]
    pre_score: tuple[str, ...]
    score: tuple[str, ...]
    reserve: tuple[str, ...]
    permit: tuple[str, ...]
    pre_bind: tuple[str, ...]
    bind: tuple[str, ...]
    post_bind: tuple[str, ...]
    weights: dict[str, int]

    def at(self, point: ExtensionPoint) -> tuple[str, ...]:
        """The plugins at `point`."""
        names: tuple[str, ...] = getattr(self, point.value)
        return names

    def names(self) -> frozenset[str]:
        """Every plugin that runs somewhere."""
        return frozenset(name for point in ExtensionPoint for name in self.at(point))


_DEFAULT_WEIGHT: Final = 1


def resolve_plugins(profile: KubeSchedulerProfile, known: Mapping[str, PluginInfo] = IN_TREE_PLUGINS) -> ProfilePlugins:
    """Expand the plugins of an effective profile (its defaults filled in, its names validated).

    Args:
        profile: a profile of the effective configuration.
        known: the plugins that exist, with their extension points. A name that is not in it is passed over.
    """
    at_point = {point.value: _expand(profile.plugins, point, known) for point in ExtensionPoint}
    weights = _weights(profile.plugins, at_point[ExtensionPoint.SCORE.value])
    return ProfilePlugins(**at_point, weights=weights)


def _expand(plugins: Plugins, point: ExtensionPoint, known: Mapping[str, PluginInfo]) -> tuple[str, ...]:
    at_point: PluginSet = getattr(plugins, point.value)
    named = [plugin.name for plugin in at_point.enabled if _serves(plugin.name, point, known)]
    disabled = {plugin.name for plugin in at_point.disabled}
    if ALL_PLUGINS in disabled:
        return tuple(named)
    from_multi_point = [
        plugin.name
        for plugin in plugins.multi_point.enabled
        if plugin.name not in disabled and _serves(plugin.name, point, known)
    ]
    overriding = [name for name in named if name in from_multi_point]
    rest = [name for name in from_multi_point if name not in named]
    others = [name for name in named if name not in from_multi_point]
    return tuple(overriding + rest + others)


def _serves(name: str, point: ExtensionPoint, known: Mapping[str, PluginInfo]) -> bool:
    info = known.get(name)
    return info is not None and info.supported and point in info.points


def _weights(plugins: Plugins, scoring: tuple[str, ...]) -> dict[str, int]:
    """A weight at `score` wins over one at multiPoint; a plugin named without a weight, or with 0, has 1.

    Weights have 32 bits, so the scores of all plugins together, 100 times the weight each, cannot overflow 64.
    """
    weights: dict[str, int] = {}
    for plugin in (*plugins.score.enabled, *plugins.multi_point.enabled):
        if plugin.name in scoring and plugin.name not in weights:
            weights[plugin.name] = plugin.weight or _DEFAULT_WEIGHT
    return weights

"""kube-scheduler's own plugins: names, extension points, default order and weights, and which of them Podium has.

This is the one table that grows when a plugin is added. Its order is that of kube-scheduler 1.37's default profile,
which is also the order of the Filter plugins.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec


class ExtensionPoint(StrEnum):
    """Where a profile can name plugins. The value is the attribute's name in `Plugins` and `ProfilePlugins`."""

    PRE_ENQUEUE = "pre_enqueue"
    QUEUE_SORT = "queue_sort"
    PRE_FILTER = "pre_filter"
    FILTER = "filter"
    POST_FILTER = "post_filter"
    PRE_SCORE = "pre_score"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "pre_bind"
    BIND = "bind"
    POST_BIND = "post_bind"

    @property
    def label(self) -> str:
        """The spelling in metrics and messages, e.g. `PreFilter`."""
        return "".join(word.capitalize() for word in self.value.split("_"))

    @property
    def key(self) -> str:
        """The spelling in a configuration, e.g. `preFilter`."""
        return self.label[0].lower() + self.label[1:]


class PluginInfo(msgspec.Struct, frozen=True):
    """A plugin as the configuration sees it.

    Attributes:
        name: its name in a configuration.
        points: the extension points it serves.
        default_weight: its weight in the default profile; None when the default profile gives none.
        in_default_profile: whether kube-scheduler runs it when the configuration does not mention it.
        supported: whether Podium runs it. One that is not supported may be disabled but not enabled.
    """

    name: str
    points: frozenset[ExtensionPoint]
    default_weight: int | None = None
    in_default_profile: bool = True
    supported: bool = False


def _table(*plugins: PluginInfo) -> Mapping[str, PluginInfo]:
    return MappingProxyType({plugin.name: plugin for plugin in plugins})


_PRE_ENQUEUE: Final = frozenset({ExtensionPoint.PRE_ENQUEUE})
_FILTERS: Final = frozenset({ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER})
_SCORES: Final = frozenset({ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE})
_BINDS_RESERVED: Final = frozenset({ExtensionPoint.RESERVE, ExtensionPoint.PRE_BIND})

IN_TREE_PLUGINS: Final = _table(
    PluginInfo("SchedulingGates", _PRE_ENQUEUE, supported=True),
    PluginInfo("PrioritySort", frozenset({ExtensionPoint.QUEUE_SORT}), supported=True),
    PluginInfo("NodeName", _FILTERS, supported=True),
    PluginInfo("NodeUnschedulable", _FILTERS, supported=True),
    PluginInfo("TaintToleration", _FILTERS | _SCORES, default_weight=3, supported=True),
    PluginInfo("NodeAffinity", _FILTERS | _SCORES, default_weight=2, supported=True),
    PluginInfo("NodePorts", _FILTERS, supported=True),
    PluginInfo("DeferredPodScheduling", _FILTERS | {ExtensionPoint.PERMIT}, in_default_profile=False),
    PluginInfo("NodeResourcesFit", _FILTERS | _SCORES, default_weight=1, supported=True),
    PluginInfo("VolumeRestrictions", _FILTERS, supported=True),
    PluginInfo("NodeVolumeLimits", _FILTERS, supported=True),
    PluginInfo("VolumeBinding", _FILTERS | _SCORES | _BINDS_RESERVED, supported=True),
    PluginInfo("VolumeZone", _FILTERS, supported=True),
    PluginInfo("PodTopologySpread", _FILTERS | _SCORES, default_weight=2, supported=True),
    PluginInfo("InterPodAffinity", _FILTERS | _SCORES, default_weight=2, supported=True),
    PluginInfo(
        "DynamicResources",
        _PRE_ENQUEUE | _FILTERS | _BINDS_RESERVED | {ExtensionPoint.POST_FILTER, ExtensionPoint.SCORE},
        default_weight=2,
    ),
    PluginInfo("DefaultPreemption", _PRE_ENQUEUE | {ExtensionPoint.POST_FILTER}, supported=True),
    PluginInfo("NodeResourcesBalancedAllocation", _SCORES, default_weight=1, supported=True),
    PluginInfo("ImageLocality", frozenset({ExtensionPoint.SCORE}), default_weight=1, supported=True),
    PluginInfo("DefaultBinder", frozenset({ExtensionPoint.BIND}), supported=True),
    PluginInfo("NodeDeclaredFeatures", _FILTERS, supported=True),
    PluginInfo("GangScheduling", _PRE_ENQUEUE | {ExtensionPoint.PERMIT}, in_default_profile=False),
    PluginInfo("TopologyPlacementGenerator", frozenset(), in_default_profile=False),
    PluginInfo("PodGroupPodsCount", frozenset(), in_default_profile=False),
)
"""Every plugin that kube-scheduler 1.37 brings along, by name."""

REMOVED_PLUGINS: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Names that kube-scheduler refuses in a v1 configuration; NodeVolumeLimits does their work."""

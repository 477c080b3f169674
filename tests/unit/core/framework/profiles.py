"""Profiles made of the in-tree plugins."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from scheduler.api.types import PersistentVolume, PersistentVolumeClaim
from scheduler.config.loading import load_configuration
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.interface import (
    Binder,
    BindPlugin,
    FilterPlugin,
    Handle,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    VolumeWriter,
)
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.registry import PluginFactory
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.registry import IN_TREE


class NoApiServer(Binder, VolumeWriter):
    """Nothing is bound in these tests."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        raise AssertionError("no test of the core binds")

    async def bind_volume(self, volume: PersistentVolume) -> PersistentVolume:
        raise AssertionError("no test of the core binds")

    async def select_node(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        raise AssertionError("no test of the core binds")

    async def until(
        self, settled: Callable[[], bool], claims: Sequence[tuple[str, str]], timeout_seconds: float
    ) -> bool:
        raise AssertionError("no test of the core binds")


def no_api_server(cluster: ClusterState | None = None) -> Handle:
    """A handle on a cluster, an empty one if none is given."""
    server = NoApiServer()
    return Handle(cluster or ClusterState(), server, server)


def default_framework(args: Mapping[str, object], cluster: ClusterState | None = None) -> Framework:
    """The default profile, with args for some of its plugins; on an empty cluster if none is given."""
    (plugins,) = load_configuration(None).plugins.values()
    return Framework("podium", plugins, args, IN_TREE, no_api_server(cluster), SilentRecorder())


def framework_with(*added: Plugin, weight: int = 1) -> Framework:
    """The default profile with further plugins at the end of each extension point that they implement."""
    (plugins,) = load_configuration(None).plugins.values()
    points: dict[str, type[Plugin]] = {
        "pre_filter": PreFilterPlugin,
        "filter": FilterPlugin,
        "post_filter": PostFilterPlugin,
        "score": ScorePlugin,
        "reserve": ReservePlugin,
        "pre_bind": PreBindPlugin,
        "bind": BindPlugin,
        "post_bind": PostBindPlugin,
    }
    extended = {
        point: (*getattr(plugins, point), *(each.name for each in added if isinstance(each, contract)))
        for point, contract in points.items()
    }
    weights = {**plugins.weights, **dict.fromkeys((each.name for each in added), weight)}
    profile = replace(plugins, **extended, weights=weights)
    registry = {**IN_TREE, **{each.name: giving(each) for each in added}}
    return Framework("podium", profile, {}, registry, no_api_server(), SilentRecorder())


def giving(plugin: Plugin) -> PluginFactory:
    """A factory of one ready plugin."""
    return lambda args, handle: plugin

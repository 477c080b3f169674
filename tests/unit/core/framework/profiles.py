"""Profiles made of the in-tree plugins."""

from collections.abc import Mapping

from scheduler.config.loading import load_configuration
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import PodInfo
from scheduler.core.plugins.registry import IN_TREE


class NoApiServer(Handle):
    """Nothing is bound in these tests."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        raise AssertionError("no test of the core binds")


def default_framework(args: Mapping[str, object]) -> Framework:
    """The default profile, with args for some of its plugins."""
    (plugins,) = load_configuration(None).plugins.values()
    return Framework("podium", plugins, args, IN_TREE, NoApiServer(), SilentRecorder())

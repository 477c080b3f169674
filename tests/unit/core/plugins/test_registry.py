"""The registry: what the configuration calls supported is there, under its own name, with the points it serves."""

import pytest

from scheduler.config.plugin_names import IN_TREE_PLUGINS, ExtensionPoint
from scheduler.core.framework import interface
from scheduler.core.framework.interface import Plugin
from scheduler.core.plugins.registry import IN_TREE
from tests.unit.core.framework.profiles import no_api_server

CONTRACTS: dict[ExtensionPoint, type[Plugin]] = {
    ExtensionPoint.PRE_ENQUEUE: interface.PreEnqueuePlugin,
    ExtensionPoint.QUEUE_SORT: interface.QueueSortPlugin,
    ExtensionPoint.PRE_FILTER: interface.PreFilterPlugin,
    ExtensionPoint.FILTER: interface.FilterPlugin,
    ExtensionPoint.POST_FILTER: interface.PostFilterPlugin,
    ExtensionPoint.SCORE: interface.ScorePlugin,
    ExtensionPoint.RESERVE: interface.ReservePlugin,
    ExtensionPoint.PRE_BIND: interface.PreBindPlugin,
    ExtensionPoint.BIND: interface.BindPlugin,
    ExtensionPoint.POST_BIND: interface.PostBindPlugin,
}
OFTEN_PART_OF_SIGNATURES = {ExtensionPoint.PRE_FILTER, ExtensionPoint.PRE_SCORE}
# Here a preemptor stays in flight until its victims' deletes are out, so there is nothing to hold back.
HAS_NO_USE_FOR = {"DefaultPreemption": {ExtensionPoint.PRE_ENQUEUE}}


def test_what_is_supported_is_there() -> None:
    """The table of names and the registry agree."""
    assert set(IN_TREE) == {name for name, info in IN_TREE_PLUGINS.items() if info.supported}


@pytest.mark.parametrize("name", IN_TREE)
def test_a_plugin_serves_where_its_name_may_stand(name: str) -> None:
    """Each is made without args, has its name, and implements the points that the configuration allows it at."""
    plugin = IN_TREE[name](None, no_api_server())
    points = IN_TREE_PLUGINS[name].points
    assert plugin.name == name
    for point, contract in CONTRACTS.items():
        if isinstance(plugin, contract):
            assert point in points
        else:
            assert point not in points - OFTEN_PART_OF_SIGNATURES - HAS_NO_USE_FOR.get(name, set())

"""The table of plugins."""

import msgspec

from scheduler.config.plugin_args import ARGS_TYPES
from scheduler.config.plugin_names import IN_TREE_PLUGINS, REMOVED_PLUGINS, ExtensionPoint
from scheduler.config.resolution import ProfilePlugins
from scheduler.config.types import Plugins


def test_every_extension_point_is_a_field() -> None:
    """Each extension point has a field in the file and in the resolved plugins, under the same name."""
    keys = {field.name: field.encode_name for field in msgspec.structs.fields(Plugins)}
    resolved = {field.name for field in msgspec.structs.fields(ProfilePlugins)}
    for point in ExtensionPoint:
        assert keys[point.value] == point.key
        assert point.value in resolved


def test_labels_are_kube_schedulers() -> None:
    """The spelling in metrics is upstream's."""
    assert ExtensionPoint.PRE_ENQUEUE.label == "PreEnqueue"
    assert ExtensionPoint.FILTER.label == "Filter"


def test_args_belong_to_plugins() -> None:
    """Each args type belongs to a plugin of the table, and no removed name is in it."""
    assert set(ARGS_TYPES) <= set(IN_TREE_PLUGINS)
    assert not REMOVED_PLUGINS & set(IN_TREE_PLUGINS)

"""The profiles of a configuration, put to work: one framework each. Used by whatever schedules with a configuration."""

from scheduler.config.loading import LoadedConfiguration
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.recorder import CycleRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.plugins.registry import IN_TREE
from scheduler.core.plugins.unsupported_features import UnsupportedFeatures


def build_frameworks(loaded: LoadedConfiguration, handle: Handle, recorder: CycleRecorder) -> dict[str, Framework]:
    """The frameworks by schedulerName, in the order of the profiles; each has plugins of its own."""
    frameworks: dict[str, Framework] = {}
    for profile in loaded.configuration.profiles:
        name = str(profile.scheduler_name)
        frameworks[name] = Framework(
            name,
            loaded.plugins[name],
            {entry.name: entry.args for entry in profile.plugin_config},
            IN_TREE,
            handle,
            recorder,
            required=(UnsupportedFeatures(),),
            percentage_of_nodes_to_score=loaded.configuration.percentage_for(profile),
        )
    return frameworks

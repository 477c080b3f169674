"""From a plugin's name to the object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from scheduler.core.framework.interface import Handle, Plugin

PluginFactory: TypeAlias = "Callable[[object | None, Handle], Plugin]"
"""Makes the plugin from its decoded args (None when the profile gives none) and the handle. Called once per profile."""

Registry: TypeAlias = "Mapping[str, PluginFactory]"
"""Factories by plugin name. The in-tree one is `scheduler.core.plugins.registry.IN_TREE`."""

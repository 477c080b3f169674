"""What plugins keep for themselves during one scheduling cycle."""

from typing import TypeVar

T = TypeVar("T")


class CycleState:
    """A place per plugin for what it computes in PreFilter or PreScore and reads later in the same cycle.

    Made anew for each attempt; read and written by plugins on the scheduling loop only.
    """

    __slots__ = ("_data", "record_plugin_metrics")

    def __init__(self, record_plugin_metrics: bool = False) -> None:
        self._data: dict[str, object] = {}
        self.record_plugin_metrics = record_plugin_metrics

    def write(self, key: str, value: object) -> None:
        """Keep `value` under `key` (by custom the plugin's name)."""
        self._data[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """The value under `key`.

        Raises:
            KeyError: nothing was written under it, or something of another type.
        """
        value = self._data.get(key)
        if not isinstance(value, kind):
            raise KeyError(f"{key}: no {kind.__name__} in the cycle state")
        return value

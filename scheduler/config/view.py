"""The effective configuration as plain data, in the spelling of the file: for `/configz` and for showing it."""

from typing import Any, Final

import msgspec

from scheduler.config.types import KubeSchedulerConfiguration

_SECRET: Final = "keyData"  # noqa: S105  the field's name
_AFFINITY: Final = "addedAffinity"
"""Where a list without terms is something else than none: no node matches it."""
_REDACTED: Final = "--- REDACTED ---"


def configuration_view(configuration: KubeSchedulerConfiguration) -> dict[str, Any]:
    """`configuration` as mappings, lists and scalars; what is unset is left out, private keys are redacted."""
    view: dict[str, Any] = _tidy(msgspec.to_builtins(configuration, enc_hook=str))
    return view


def _tidy(value: Any, *, drop_empty: bool = True) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tidy(item, drop_empty=drop_empty) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {}
    for key, item in value.items():
        empty_is_absent = drop_empty and key != _AFFINITY
        tidied = _REDACTED if key == _SECRET and item else _tidy(item, drop_empty=empty_is_absent)
        if tidied is not None and not (empty_is_absent and tidied in ({}, [])):
            shown[key] = tidied
    return shown

"""The effective configuration as plain data, in the spelling of the file: for `/configz` and for showing it."""

from typing import Any, Final

import msgspec

from scheduler.config.types import KubeSchedulerConfiguration

_SECRET: Final = "keyData"  # noqa: S105  the field's name
_REDACTED: Final = "--- REDACTED ---"


def configuration_view(configuration: KubeSchedulerConfiguration) -> dict[str, Any]:
    """`configuration` as mappings, lists and scalars; what is unset is left out, private keys are redacted."""
    view: dict[str, Any] = _tidy(msgspec.to_builtins(configuration, enc_hook=str))
    return view


def _tidy(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tidy(item) for item in value]
    if isinstance(value, dict):
        shown = {key: _REDACTED if key == _SECRET and item else _tidy(item) for key, item in value.items()}
        return {key: item for key, item in shown.items() if item not in (None, {}, [])}
    return value

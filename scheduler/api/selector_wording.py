"""What kube-scheduler says of a label selector that no API server takes, word for word.

Our own errors name field and fault; these texts are for the messages of pods, which are compared with kube-scheduler's.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler.api.meta import LabelSelector, LabelSelectorRequirement
from scheduler.api.selectors import Operator

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME_BYTES: Final = 63
_LONGEST_PREFIX_BYTES: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY_RULE: Final = (
    f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_PREFIX_RULE: Final = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def kubernetes_wording(selector: LabelSelector | None) -> str:
    """Of the first requirement that is wrong; empty when all is well."""
    if selector is None:
        return ""
    labels = (selector.match_labels or {}).items()
    requirements = [LabelSelectorRequirement(key, Operator.IN, (label,)) for key, label in labels]
    for each in (*requirements, *(selector.match_expressions or ())):
        faults = list(_faults(each.key, each.operator, each.values or ()))
        if faults:
            return aggregated(faults)
    return ""


def aggregated(faults: Sequence[str]) -> str:
    """Several faults as one text."""
    return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"


def _faults(key: str, operator: str, values: tuple[str, ...]) -> Iterator[str]:
    if operator not in (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST):
        yield f"{_quoted(operator)} is not a valid label selector operator"
        return
    if wrong := "; ".join(_key_faults(key)):
        yield f"key: Invalid value: {_quoted(key)}: {wrong}"
    if operator in (Operator.IN, Operator.NOT_IN):
        if not values:
            yield "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    elif values:
        yield f"values: Invalid value: {_quoted(values)}: values set must be empty for exists and does not exist"
    for index, value in enumerate(values):
        if wrong := "; ".join(_value_faults(value)):
            yield f"values[{index}][{key}]: Invalid value: {_quoted(value)}: {wrong}"


def _key_faults(key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield _KEY_RULE
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        if len(prefix.encode()) > _LONGEST_PREFIX_BYTES:
            yield f"prefix part must be no more than {_LONGEST_PREFIX_BYTES} bytes"
        if _PREFIX.fullmatch(prefix) is None:
            yield _PREFIX_RULE
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > _LONGEST_NAME_BYTES:
        yield f"name part must be no more than {_LONGEST_NAME_BYTES} bytes"
    if _NAME.fullmatch(name) is None:
        yield f"name part {_NAME_RULE}"


def _value_faults(value: str) -> Iterator[str]:
    if len(value.encode()) > _LONGEST_NAME_BYTES:
        yield f"must be no more than {_LONGEST_NAME_BYTES} bytes"
    if value and _NAME.fullmatch(value) is None:
        yield _VALUE_RULE


def _quoted(value: str | tuple[str, ...]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

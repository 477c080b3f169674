"""Rules of the API server that parts of several kinds share.

Each yields the path of a field and what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scheduler.api.quantity import nano_value
from scheduler.api.selectors import SelectorError, compile_label_selector, compile_node_selector
from scheduler.api.types import LabelSelector, NodeSelector, ResourceList
from scheduler.config.label_syntax import label_value_problem, qualified_name_problem

Problems = Iterator[tuple[str, str]]

INT32: Final = range(-(2**31), 2**31)
POLICIES: Final = ("PreemptLowerPriority", "Never")

_DNS_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


def namespace(text: str, path: str) -> Problems:
    """The name of a namespace."""
    if not _DNS_LABEL.fullmatch(text):
        rule = "up to 63 lower-case letters, digits and -, and it begins and ends with a letter or digit"
        yield path, f'"{text}": the name of a namespace has {rule}'


def labels(written: dict[str, str]) -> Problems:
    """Keys and values of labels; the path is the key."""
    for name, value in written.items():
        problem = qualified_name_problem(name) or label_value_problem(value)
        if problem:
            yield name, f'"{value}": {problem}' if problem == label_value_problem(value) else problem


def one_of(value: str | None, allowed: Sequence[str], path: str) -> Problems:
    """A name out of a few."""
    if value is not None and value not in allowed:
        yield path, f'"{value}" is not one of {", ".join(allowed)}'


def amounts(resources: ResourceList | None, path: str) -> Problems:
    """Amounts of resources."""
    for name, amount in (resources or {}).items():
        if nano_value(amount) < 0:
            yield f"{path}.{name}", f"{amount} is below 0"


def label_selector(selector: LabelSelector | None, path: str) -> Problems:
    """A selector of labels."""
    try:
        compile_label_selector(selector)
    except SelectorError as error:
        at, _, message = str(error).partition(": ")
        yield f"{path}.{at}", message


def node_selector(selector: NodeSelector, path: str) -> Problems:
    """The terms of a selector of nodes."""
    for fault in compile_node_selector(selector).faults:
        at, _, message = fault.partition(": ")
        yield f"{path}.{at}", message

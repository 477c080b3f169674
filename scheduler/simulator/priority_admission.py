"""Which priority a pod gets when it is created: what the admission plugin `Priority` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from scheduler.api.types import PriorityClass

Object = dict[str, Any]

_PREEMPT: Final = "PreemptLowerPriority"
_BUILT_IN: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityAdmission:
    """The priority classes that there are, the built-in ones among them."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = {name: (name, value, _PREEMPT) for name, value in _BUILT_IN.items()}
        self._default = ("", 0, _PREEMPT)
        lowest: int | None = None
        for each in classes:
            name = each.metadata.name
            entry = self._by_name[name] = (name, each.value, each.preemption_policy or _PREEMPT)
            if each.global_default and (lowest is None or each.value < lowest):
                self._default, lowest = entry, each.value

    def missing_class(self, spec: Object) -> str | None:
        """The class that a pod asks for and that there is not; one that has its priority already asks for none."""
        name = spec.get("priorityClassName")
        return name if name and spec.get("priority") is None and name not in self._by_name else None

    def admit(self, spec: Object) -> Object:
        """The pod's spec with class, priority and preemption policy. A priority that it has already stands."""
        name, priority = spec.get("priorityClassName"), spec.get("priority")
        if priority is not None and (not name or name not in self._by_name):
            return spec
        class_name, value, policy = self._by_name[name] if name else self._default
        return {
            **spec,
            "priorityClassName": class_name or None,
            "priority": value if priority is None else priority,
            "preemptionPolicy": spec.get("preemptionPolicy") or policy,
        }

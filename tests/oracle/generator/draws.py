"""What every part of a random cluster draws from and adds to."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.oracle.generator.profiles import RATES

T = TypeVar("T")
Object = dict[str, Any]
"""An API object or a part of one, as JSON."""
Labels = dict[str, str]
Amounts = dict[str, int]
"""Thousandths of a core, bytes and numbers by resource."""


class Draws:
    """The state of one random cluster while it is made.

    Attributes:
        random: where all chance comes from.
        objects: of all kinds, in the order of the case.
        nodes: name, labels and allocatable amounts.
        free: amounts left by node.
        claims: claims by namespace.
        roomy: nodes with room show the filters that come after NodeResourcesFit.
        uniform: equal nodes and pods give ties.
    """

    def __init__(self, seed: str, profile: str, index: int, fewest_nodes: int, most_nodes: int) -> None:
        self.random = random.Random(f"{seed}/{profile}/{index}")
        self.name = f"{profile}-{seed}-{index}"
        self.fewest_nodes, self.most_nodes = fewest_nodes, most_nodes
        self.objects: list[Object] = []
        self.nodes: list[tuple[str, Labels, Amounts]] = []
        self.free: dict[str, Amounts] = {}
        self.serial = 0
        self.classes: list[str] = []
        self.claims: dict[str, list[Object]] = {}
        self.namespaces = ["default", "a", "b"][: self.random.choice([1, 2, 3, 3])]
        self._rates = RATES[profile]
        self.roomy = self.chance(self.rate("roomy"))
        self.uniform = self.chance(self.rate("uniform"))

    def rate(self, what: str) -> float:
        """How often the profile wants something; 0 where it does not name it."""
        return self._rates.get(what, 0)

    def maybe(self, what: str, scale: float = 1.0) -> bool:
        """Whether to have it this time."""
        return self.random.random() < self.rate(what) * scale

    def wants(self, what: str) -> bool:
        """As `maybe`; but where the profile does not name it nothing is drawn, so that its cases stay what they are."""
        return what in self._rates and self.maybe(what)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def spelling(self, table: dict[int, list[str]], amount: int) -> str:
        """One of the notations of an amount."""
        return self.random.choice(table[amount])

    def some(self, items: Sequence[T], low: int = 0, high: int | None = None) -> list[T]:
        """Between `low` and `high` of the items, without repetition."""
        high = len(items) if high is None else min(high, len(items))
        return self.random.sample(items, self.random.randint(min(low, high), high))

    def add(self, new: Object) -> Object:
        self.objects.append(new)
        return new

    def obj(self, api: str, kind: str, name: str, namespace: str | None = None, labels: Labels | None = None) -> Object:
        """An object of this kind with its metadata."""
        metadata: Object = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        if labels:
            metadata["labels"] = dict(labels)
        return {"apiVersion": api, "kind": kind, "metadata": metadata}

    def node_names(self) -> list[str]:
        return [name for name, _, _ in self.nodes]

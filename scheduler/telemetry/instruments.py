"""Counters and histograms that cost almost nothing to use, exposed through prometheus-client.

An instrument has one child for each combination of label values; whoever measures often keeps the child and calls its
`observe` or `inc` (about 100 ns against prometheus-client's 300 to 900). Children are written by one thread, the
scheduling loop; a scrape reads them from another: every read is of one integer, one float, or a copied list, so it
never sees a half-written value, and at worst misses the observation in progress.

Labels are bounded by design: never give one the name of a pod, a node or anything else that users make.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` upper bounds from `start`, each `factor` times the one before; rounded as in Go's client."""
    bounds = [float(start)]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


class CounterChild:
    """The count of one combination of label values."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self, amount: int = 1) -> None:
        """Count `amount` more."""
        self.value += amount


class HistogramChild:
    """The observations of one combination of label values: how many fell into each bucket, and their sum."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count `value` in the bucket with the smallest bound that is not below it."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[int]:
        """How many observations are at most each bound; the last is the count of all."""
        return list(accumulate(list(self._counts)))


Child = TypeVar("Child", CounterChild, HistogramChild)


class _Instrument(Collector, Generic[Child]):
    """Children by label values; what counters and histograms share."""

    def __init__(self, name: str, help_text: str, label_names: tuple[str, ...], registry: CollectorRegistry) -> None:
        self.name = name
        self.label_names = label_names
        self._help = help_text
        self._children: dict[tuple[str, ...], Child] = {}
        registry.register(self)

    def labels(self, *values: str) -> Child:
        """The child for these label values, in the order of `label_names`; the same object every time."""
        child = self._children.get(values)
        return self._add(values) if child is None else child

    def _add(self, values: tuple[str, ...]) -> Child:
        if len(values) != len(self.label_names):
            raise ValueError(f"{self.name} has the labels {self.label_names}, got the values {values}")
        child = self._children[values] = self._new_child()
        return child

    def _new_child(self) -> Child:
        raise NotImplementedError

    def _items(self) -> list[tuple[tuple[str, ...], Child]]:
        """A copy, because the loop may add a child while a scrape goes through them."""
        return list(self._children.items())


class Counter(_Instrument[CounterChild]):
    """A number that only grows. Without label names it is exposed from the start, as 0."""

    def __init__(
        self, name: str, help_text: str, registry: CollectorRegistry, label_names: tuple[str, ...] = ()
    ) -> None:
        super().__init__(name, help_text, label_names, registry)
        if not label_names:
            self.labels()

    def _new_child(self) -> CounterChild:
        return CounterChild()

    def collect(self) -> Iterable[Metric]:
        """Called by the registry at each scrape."""
        family = CounterMetricFamily(self.name, self._help, labels=self.label_names)
        for values, child in self._items():
            family.add_metric(values, child.value)
        yield family

    def describe(self) -> Iterable[Metric]:
        """The names that registering claims."""
        yield CounterMetricFamily(self.name, self._help)


class Histogram(_Instrument[HistogramChild]):
    """A distribution over fixed buckets. Without label names it is exposed from the start, empty."""

    def __init__(
        self,
        name: str,
        help_text: str,
        registry: CollectorRegistry,
        buckets: Sequence[float],
        label_names: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, help_text, label_names, registry)
        self.buckets = tuple(buckets)
        self._bucket_labels = [
            floatToGoString(bound)  # type: ignore[no-untyped-call]
            for bound in (*self.buckets, float("inf"))
        ]
        if not label_names:
            self.labels()

    def _new_child(self) -> HistogramChild:
        return HistogramChild(self.buckets)

    def collect(self) -> Iterable[Metric]:
        """Called by the registry at each scrape."""
        family = HistogramMetricFamily(self.name, self._help, labels=self.label_names)
        for values, child in self._items():
            total = child.total
            family.add_metric(values, list(zip(self._bucket_labels, child.cumulative(), strict=True)), total)
        yield family

    def describe(self) -> Iterable[Metric]:
        """The names that registering claims."""
        yield HistogramMetricFamily(self.name, self._help)

"""What Podium measured of itself, read from the text it serves at `/metrics`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


@dataclass(frozen=True)
class Distribution:
    """A histogram at one moment.

    Attributes:
        buckets: upper bound and number of observations up to it, ascending; the last bound is infinite.
        total: sum of all observations.
    """

    buckets: Sequence[tuple[float, float]]
    total: float

    @property
    def count(self) -> int:
        """Number of observations."""
        return int(self.buckets[-1][1]) if self.buckets else 0

    @property
    def mean(self) -> float | None:
        """Exact, as far as observations are; None without any."""
        return self.total / self.count if self.count else None

    def quantile(self, share: float) -> float | None:
        """The value that `share` (0..1) of the observations do not exceed; None without any.

        An estimate, as Prometheus' histogram_quantile makes it: observations count as evenly spread within their
        bucket, the lowest of which begins at 0; of those beyond the highest finite bound that bound is all one knows.
        """
        if not self.count:
            return None
        rank = share * self.count
        lower_bound, below = 0.0, 0.0
        for bound, up_to in self.buckets:
            if up_to >= rank and up_to > below:
                if bound == inf:
                    return lower_bound
                return lower_bound + (bound - lower_bound) * (rank - below) / (up_to - below)
            lower_bound, below = bound, up_to
        return lower_bound


class Scrape:
    """One answer of `/metrics`."""

    def __init__(self, text: str) -> None:
        self._samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def number(self, name: str, **labels: str) -> float:
        """A gauge, or a counter by its full name; added up over the labels that are not given."""
        return sum(sample.value for sample in self._matching(name, labels))

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """`number` by the values of one label."""
        numbers: defaultdict[str, float] = defaultdict(float)
        for sample in self._matching(name, {}):
            numbers[sample.labels[label]] += sample.value
        return dict(numbers)

    def distribution(self, name: str, **labels: str) -> Distribution:
        """A histogram, added up over the labels that are not given; empty when there is none."""
        buckets: defaultdict[float, float] = defaultdict(float)
        for sample in self._matching(f"{name}_bucket", labels):
            buckets[float(sample.labels["le"])] += sample.value
        return Distribution(sorted(buckets.items()), self.number(f"{name}_sum", **labels))

    def _matching(self, name: str, labels: Mapping[str, str]) -> list[Sample]:
        return [sample for sample in self._samples if sample.name == name and labels.items() <= sample.labels.items()]

"""Counters and histograms, held against prometheus-client's own."""

import math

import prometheus_client
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from scheduler.telemetry.instruments import Counter, Histogram, exponential_buckets

BUCKETS = exponential_buckets(0.001, 2, 6)


def without_creation(text: bytes) -> list[bytes]:
    """The lines without the creation times, which Go's client does not write."""
    return [line for line in text.splitlines() if b"_created" not in line]


@pytest.mark.parametrize("generate", [generate_latest, generate_openmetrics])
@settings(max_examples=25)
@given(values=st.lists(st.floats(min_value=0, max_value=1) | st.sampled_from(BUCKETS), max_size=30))
def test_a_histogram_is_exposed_like_prometheus_clients_own(generate: object, values: list[float]) -> None:
    """Whatever is observed, bounds included, both expositions equal those of the library's histogram."""
    assert callable(generate)
    ours_registry, theirs_registry = CollectorRegistry(), CollectorRegistry()
    ours = Histogram("h_seconds", "Help.", ours_registry, BUCKETS, ("a", "b"))
    theirs = prometheus_client.Histogram(
        "h_seconds", "Help.", labelnames=("a", "b"), buckets=BUCKETS, registry=theirs_registry
    )
    for index, value in enumerate(values):
        labels = ("x", str(index % 2))
        ours.labels(*labels).observe(value)
        theirs.labels(*labels).observe(value)
    assert without_creation(generate(ours_registry)) == without_creation(generate(theirs_registry))


@pytest.mark.parametrize("generate", [generate_latest, generate_openmetrics])
def test_a_counter_is_exposed_like_prometheus_clients_own(generate: object) -> None:
    """Both expositions equal those of the library's counter, also for odd label values."""
    assert callable(generate)
    ours_registry, theirs_registry = CollectorRegistry(), CollectorRegistry()
    ours = Counter("c_total", "Help.", ours_registry, ("a",))
    theirs = prometheus_client.Counter("c_total", "Help.", labelnames=("a",), registry=theirs_registry)
    for value in ("x", 'q"\\\n', "x"):
        ours.labels(value).inc()
        theirs.labels(value).inc()
    assert without_creation(generate(ours_registry)) == without_creation(generate(theirs_registry))


def test_without_labels_it_is_there_from_the_start() -> None:
    """An instrument without labels shows 0 before anything happened, one with labels shows nothing."""
    registry = CollectorRegistry()
    Counter("plain_total", "Help.", registry)
    Histogram("plain_seconds", "Help.", registry, BUCKETS)
    Counter("labelled_total", "Help.", registry, ("a",))
    assert registry.get_sample_value("plain_total") == 0
    assert registry.get_sample_value("plain_seconds_count") == 0
    assert registry.get_sample_value("plain_seconds_bucket", {"le": "+Inf"}) == 0
    assert not any(sample.name == "labelled_total" for metric in registry.collect() for sample in metric.samples)


def test_openmetrics_is_well_formed() -> None:
    """The strict parser of the OpenMetrics format takes what is written."""
    registry = CollectorRegistry()
    Histogram("h_seconds", "Help.", registry, exponential_buckets(1, 2, 5), ("a",)).labels("x").observe(3)
    Counter("c_total", "Help.", registry).labels().inc(4)
    text = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    assert {family.name for family in families} == {"h_seconds", "c"}


def test_labels_give_the_same_child_every_time() -> None:
    """A bound child and a later look-up count into the same place."""
    registry = CollectorRegistry()
    counter = Counter("c_total", "Help.", registry, ("a",))
    counter.labels("x").inc(2)
    assert counter.labels("x") is counter.labels("x")
    assert registry.get_sample_value("c_total", {"a": "x"}) == 2


@pytest.mark.parametrize("values", [(), ("x",), ("x", "y", "z")])
def test_wrong_labels_are_refused(values: tuple[str, ...]) -> None:
    """Too few or too many label values name the instrument and its labels."""
    counter = Counter("c_total", "Help.", CollectorRegistry(), ("a", "b"))
    with pytest.raises(ValueError, match=r"c_total has the labels \('a', 'b'\)"):
        counter.labels(*values)


def test_names_are_claimed_once() -> None:
    """Two instruments of one name do not go into one registry."""
    registry = CollectorRegistry()
    Counter("c_total", "Help.", registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Counter("c_total", "Help.", registry)
    Histogram("h_seconds", "Help.", registry, BUCKETS)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        Histogram("h_seconds", "Help.", registry, BUCKETS)


def test_bounds_are_gos() -> None:
    """Bounds come from repeated multiplication, so that they print like kube-scheduler's."""
    assert exponential_buckets(0.00001, 1.5, 3) == (1e-05, 1.5000000000000002e-05, 2.2500000000000005e-05)
    assert exponential_buckets(1, 2, 5) == (1, 2, 4, 8, 16)


def test_a_value_beyond_all_bounds_counts_only_in_the_last_bucket() -> None:
    """It is in +Inf, in the count and in the sum."""
    registry = CollectorRegistry()
    histogram = Histogram("h_seconds", "Help.", registry, BUCKETS)
    histogram.labels().observe(99.0)
    assert registry.get_sample_value("h_seconds_bucket", {"le": "0.032"}) == 0
    assert registry.get_sample_value("h_seconds_bucket", {"le": "+Inf"}) == 1
    assert registry.get_sample_value("h_seconds_count") == 1
    assert math.isclose(registry.get_sample_value("h_seconds_sum") or 0, 99.0)

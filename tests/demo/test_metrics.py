"""Figures estimated from histograms and read from the text format."""

from math import inf

import pytest

from tests.demo.metrics import Distribution, Scrape

_TEXT = """
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1",result="ok"} 1
wait_seconds_bucket{le="2",result="ok"} 3
wait_seconds_bucket{le="+Inf",result="ok"} 3
wait_seconds_sum{result="ok"} 4.5
wait_seconds_count{result="ok"} 3
wait_seconds_bucket{le="1",result="error"} 0
wait_seconds_bucket{le="2",result="error"} 0
wait_seconds_bucket{le="+Inf",result="error"} 1
wait_seconds_sum{result="error"} 9
wait_seconds_count{result="error"} 1
# TYPE attempts counter
attempts_total{result="ok",profile="a"} 2
attempts_total{result="ok",profile="b"} 3
attempts_total{result="error",profile="a"} 1
"""


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.25, 0.5), (0.5, 1.0), (0.75, 2.0), (0.99, 4.0), (1.0, 4.0)],
)
def test_quantile_lies_where_its_rank_falls_in_a_bucket(share: float, expected: float) -> None:
    """Observations are spread evenly within their bucket; beyond the last finite bound that bound is the answer."""
    distribution = Distribution([(1.0, 2), (2.0, 3), (4.0, 3), (inf, 4)], total=9.0)
    assert distribution.quantile(share) == pytest.approx(expected)


def test_quantile_skips_empty_buckets() -> None:
    """The bucket that holds the rank gives both ends of the interpolation, however many empty ones lie below it."""
    assert Distribution([(1.0, 0), (2.0, 0), (4.0, 4), (inf, 4)], total=12.0).quantile(0.5) == pytest.approx(3.0)


def test_nothing_observed_has_no_quantile_and_no_mean() -> None:
    """An empty histogram gives None, not 0."""
    for empty in (Distribution([], total=0.0), Distribution([(1.0, 0), (inf, 0)], total=0.0)):
        assert empty.quantile(0.99) is None
        assert empty.mean is None


def test_histograms_add_up_over_labels_not_given() -> None:
    """A label that is given selects, one that is not is added up."""
    scrape = Scrape(_TEXT)
    assert scrape.distribution("wait_seconds", result="ok").buckets == [(1.0, 1), (2.0, 3), (inf, 3)]
    everything = scrape.distribution("wait_seconds")
    assert everything.buckets == [(1.0, 1), (2.0, 3), (inf, 4)]
    assert everything.mean == pytest.approx(13.5 / 4)


def test_counters_add_up_over_labels_not_given() -> None:
    """As a whole, for one value of a label, and by the values of a label."""
    scrape = Scrape(_TEXT)
    assert scrape.number("attempts_total") == 6
    assert scrape.number("attempts_total", profile="a") == 3
    assert scrape.by_label("attempts_total", "result") == {"ok": 5, "error": 1}
    assert scrape.number("no_such_metric") == 0

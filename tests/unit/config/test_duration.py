"""Durations: reading and writing them as Go does."""

import pytest

from scheduler.config.duration import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("15s", 15_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h0m0.5s", 3_600_500_000_000),
        ("100ms", 100_000_000),
        ("1.5us", 1_500),
        ("1.5µs", 1_500),
        ("7ns", 7),
        (".5s", 500_000_000),
        ("5.s", 5_000_000_000),
        ("+2s", 2_000_000_000),
        ("-2m3.25s", -123_250_000_000),
        ("0", 0),
        ("0.3333333333333333333s", 333_333_333),
    ],
)
def test_reads_what_go_reads(text: str, nanoseconds: int) -> None:
    """Every unit, fractions, signs and the bare zero are read exactly, in nanoseconds."""
    assert Duration.parse(text).nanoseconds == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "1d", ".s", "s", "1 s", "1s ", "--1s", "1s2", "PT15S", "٣s"])
def test_refuses_what_go_refuses(text: str) -> None:
    """A missing or unknown unit is an error that shows how a duration is written."""
    with pytest.raises(ValueError, match="15s"):
        Duration.parse(text)


def test_refuses_more_than_go_holds() -> None:
    """A span beyond 64 bits of nanoseconds is refused, not wrapped."""
    with pytest.raises(ValueError, match="292 years"):
        Duration.parse("2562048h")


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("3600.001s", "1h0m0.001s"),
        ("1500ms", "1.5s"),
        ("0.1s", "100ms"),
        ("1500ns", "1.5µs"),
        ("999ns", "999ns"),
        ("0s", "0s"),
        ("-90s", "-1m30s"),
    ],
)
def test_is_written_as_go_writes_it(text: str, spelled: str) -> None:
    """The text is Go's, whatever way the span was written."""
    assert str(Duration.parse(text)) == spelled


def test_compares_by_length() -> None:
    """Spans are equal and ordered by their length, and equal ones are one key."""
    minute = Duration.parse("60s")
    assert minute == Duration.parse("1m")
    assert len({minute, Duration.of_seconds(60)}) == 1
    assert Duration.parse("59s") < minute <= Duration.parse("1m")
    assert minute != 60
    assert minute.seconds == 60.0
    assert repr(minute) == "Duration('1m0s')"

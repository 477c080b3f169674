"""The scanner of watch lines."""

import pytest

from tests.bench.errors import BenchError
from tests.bench.sightings import Sight, SightingScanner, Stream


def line(kind: str, name: str, version: int) -> bytes:
    """A watch line as the API server writes it for an object's metadata."""
    metadata = (
        f'"name":"{name}","namespace":"bench","uid":"u","resourceVersion":"{version}","labels":{{"name":"not-this"}},'
        f'"annotations":{{"a":"\\"resourceVersion\\":\\"999\\""}}'
    )
    kinds = '"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"'
    return f'{{"type":"{kind}","object":{{{kinds},"metadata":{{{metadata}}}}}}}\n'.encode()


@pytest.mark.parametrize(
    ("stream", "kind", "expected"),
    [
        (Stream.BOUND_PODS, "ADDED", Sight.BOUND),
        (Stream.BOUND_PODS, "MODIFIED", Sight.CHANGED),
        (Stream.BOUND_PODS, "DELETED", Sight.GONE),
        (Stream.NOMINATED_PODS, "ADDED", Sight.NOMINATED),
    ],
)
def test_what_a_pod_stream_tells(stream: Stream, kind: str, expected: Sight) -> None:
    """The stream and the type of the line say what was done to the pod."""
    assert SightingScanner(stream, "1").feed(line(kind, "run1-7", 5), 2.5) == [(expected, "run1-7", 2.5)]


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (Stream.NOMINATED_PODS, "MODIFIED"),
        (Stream.NOMINATED_PODS, "DELETED"),
        (Stream.SCHEDULED_EVENTS, "MODIFIED"),
        (Stream.SCHEDULED_EVENTS, "DELETED"),
    ],
)
def test_what_tells_nothing_only_moves_the_version(stream: Stream, kind: str) -> None:
    """A repeated or deleted event and the end of a nomination are no sightings."""
    scanner = SightingScanner(stream, "1")
    assert scanner.feed(line(kind, "run1-7.a1", 6), 0.0) == []
    assert scanner.resource_version == "6"


def test_an_event_is_that_of_its_pod() -> None:
    """The pod's name is the event's without its suffix."""
    scanner = SightingScanner(Stream.SCHEDULED_EVENTS, "1")
    assert scanner.feed(line("ADDED", "run1-7.18a3f", 5), 1.0) == [(Sight.SCHEDULED, "run1-7", 1.0)]


def test_lines_may_be_cut_anywhere() -> None:
    """However the bytes arrive, each line is seen once, when it is complete."""
    content = line("ADDED", "run1-0", 2) + line("ADDED", "run1-1", 3) + line("DELETED", "run1-0", 4)
    for cut in range(len(content)):
        scanner = SightingScanner(Stream.BOUND_PODS, "1")
        seen = scanner.feed(content[:cut], 1.0) + scanner.feed(content[cut:], 2.0)
        assert [(sight, name) for sight, name, _ in seen] == [
            (Sight.BOUND, "run1-0"),
            (Sight.BOUND, "run1-1"),
            (Sight.GONE, "run1-0"),
        ]
        assert scanner.resource_version == "4"


def test_a_new_stream_repeats_the_incomplete_line() -> None:
    """What was left of a stream that was cut does not spoil the next one."""
    scanner = SightingScanner(Stream.BOUND_PODS, "1")
    scanner.feed(line("ADDED", "run1-0", 2)[:40], 1.0)
    scanner.restart()
    assert scanner.feed(line("ADDED", "run1-0", 2), 2.0) == [(Sight.BOUND, "run1-0", 2.0)]


def test_a_bookmark_moves_the_version() -> None:
    """A bookmark has no name and is no sighting, but says where to go on."""
    scanner = SightingScanner(Stream.BOUND_PODS, "1")
    bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"77","creationTimestamp":null}}}\n'
    assert scanner.feed(bookmark, 1.0) == []
    assert scanner.resource_version == "77"


@pytest.mark.parametrize("text", [b'{"type":"ERROR","object":{"code":410}}\n', b"<html>\n"])
def test_a_failure_is_not_passed_over(text: bytes) -> None:
    """An error of the server, and what is no watch line at all, end the watch with a message that shows it."""
    with pytest.raises(BenchError, match=r"watch of bound pods failed: .+"):
        SightingScanner(Stream.BOUND_PODS, "1").feed(text, 1.0)

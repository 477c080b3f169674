"""Objects out of lists and watch lines."""

import msgspec
import pytest
from structlog.testing import capture_logs

from scheduler.client.errors import AnswerLost, Gone
from scheduler.client.watch_decoding import ObjectDecoder, WatchEvent, decode_page
from tests.unit.client.fakes import Counts
from tests.unit.client.objects import Thing, bookmark, decode_thing, error_line, key, line, page, thing

_UNREADABLE = b'{"metadata":{"name":"bad","namespace":"ns","resourceVersion":"9","uid":7}}'


def _decoder(counts: Counts | None = None) -> ObjectDecoder[Thing]:
    return ObjectDecoder("Thing", decode_thing, counts or Counts())


def test_lines_become_events_in_order() -> None:
    """Additions and changes bring the object, deletions its key only; the last version seen counts."""
    decoded = _decoder().decode_lines(
        [line("ADDED", thing("a", "3")), line("MODIFIED", thing("a", "4")), line("DELETED", thing("b", "5"))]
    )
    assert decoded.events == [
        WatchEvent(key("a"), thing("a", "3")),
        WatchEvent(key("a"), thing("a", "4")),
        WatchEvent(key("b"), None),
    ]
    assert decoded.resource_version == "5"
    assert decoded.fault is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"type": "ADDED", "object": %b}',
        b'{"object":%b,"type":"ADDED"}',
        b'{"type":"ADDED","object":%b,"more":{}}',
        b'  {"type":"ADDED","object":%b}  ',
    ],
)
def test_envelope_may_have_any_shape(text: bytes) -> None:
    """A line that the short cut does not fit is read all the same."""
    decoded = _decoder().decode_lines([text % msgspec.json.encode(thing("a", "3"))])
    assert decoded.events == [WatchEvent(key("a"), thing("a", "3"))]


def test_object_without_namespace() -> None:
    """The namespace of a kind that has none is empty in its key."""
    found = thing("node-1", namespace="")
    assert _decoder().decode_lines([line("ADDED", found)]).events == [WatchEvent(("", "node-1"), found)]
    assert _decoder().decode_lines([line("DELETED", found)]).events == [WatchEvent(("", "node-1"), None)]


def test_bookmark_advances_the_version_only() -> None:
    """A bookmark is no event."""
    decoded = _decoder().decode_lines([bookmark("77")])
    assert decoded.events == []
    assert decoded.resource_version == "77"


def test_unreadable_object_is_left_out_and_the_rest_goes_on() -> None:
    """It is counted and logged with its kind and name, and its version counts like any other."""
    counts = Counts()
    with capture_logs() as logs:
        decoded = _decoder(counts).decode_lines(
            [line("ADDED", thing("a", "8")), b'{"type":"MODIFIED","object":%b}' % _UNREADABLE]
        )
    assert decoded.events == [WatchEvent(key("a"), thing("a", "8"))]
    assert decoded.unreadable == [key("bad")]
    assert decoded.resource_version == "9"
    assert counts.malformed_kinds == ["Thing"]
    assert [(entry["kind"], entry["namespace"], entry["name"]) for entry in logs] == [("Thing", "ns", "bad")]
    assert "$.metadata.uid" in logs[0]["error"]


def test_deletion_of_an_unreadable_object_counts() -> None:
    """A deletion needs no more than the name."""
    decoded = _decoder().decode_lines([b'{"type":"DELETED","object":%b}' % _UNREADABLE])
    assert decoded.events == [WatchEvent(key("bad"), None)]


@pytest.mark.parametrize(
    "text",
    [
        b'{"type":"DELETED","object":{"metadata":{}}}',
        b'{"type":"DELETED","object":7}',
        b'{"type":"RENAMED","object":{"metadata":{"name":"a"}}}',
        b'{"type":"ADDED","object":null}',
    ],
)
def test_line_that_tells_nothing_is_counted(text: bytes) -> None:
    """What names no object, or is of an unknown type, is left out and counted."""
    counts = Counts()
    decoded = _decoder(counts).decode_lines([text, line("ADDED", thing("a", "3"))])
    assert decoded.events == [WatchEvent(key("a"), thing("a", "3"))]
    assert counts.malformed_kinds == ["Thing"]


def test_error_event_is_the_fault_after_what_came_before() -> None:
    """What stood before an ERROR event is not lost with it, what follows is."""
    decoded = _decoder().decode_lines([line("ADDED", thing("a", "3")), error_line(410), line("ADDED", thing("b", "4"))])
    assert decoded.events == [WatchEvent(key("a"), thing("a", "3"))]
    assert decoded.resource_version == "3"
    assert isinstance(decoded.fault, Gone)


@pytest.mark.parametrize("cut_at", [1, 12, 40, -1])
def test_torn_line_is_a_lost_answer(cut_at: int) -> None:
    """A line that is no whole JSON breaks the watch and counts as no malformed object."""
    counts = Counts()
    decoded = _decoder(counts).decode_lines([line("ADDED", thing("a", "3"))[:cut_at]])
    assert isinstance(decoded.fault, AnswerLost)
    assert decoded.events == []
    assert counts.malformed_kinds == []


def test_items_of_a_list_are_read_one_by_one() -> None:
    """An unreadable item is named as existing, the others are read."""
    found = decode_page(page([thing("a"), thing("b")], "12", "more", extra=(_UNREADABLE,)))
    assert (found.metadata.resource_version, found.metadata.continue_) == ("12", "more")
    decoded = _decoder().decode_items(found.items or [])
    assert decoded.events == [WatchEvent(key("a"), thing("a")), WatchEvent(key("b"), thing("b"))]
    assert decoded.unreadable == [key("bad")]


def test_empty_list_may_be_null() -> None:
    """Go writes an empty list as null at times."""
    assert decode_page(b'{"metadata":{"resourceVersion":"1"},"items":null}').items is None


@pytest.mark.parametrize("body", [b'{"metadata":{"resourceVersion":"1"},"items":[{"meta', b"{}", b'{"metadata":{}}'])
def test_torn_list_is_a_lost_answer(body: bytes) -> None:
    """A list that is not whole, or has no version to watch from, is not taken for one."""
    with pytest.raises(AnswerLost):
        decode_page(body)

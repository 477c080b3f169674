"""Events and their series."""

from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from scheduler.api.meta import ObjectReference
from scheduler.client.api_dispatcher import ApiDispatcher
from scheduler.client.errors import AnswerLost
from scheduler.client.event_recorder import EventRecorder, EventType, cut_note
from scheduler.client.round_tripper import RawResponse
from scheduler.client.transport import Transport, TransportSettings
from scheduler.testing.clock import FakeClock
from tests.unit.client.fakes import (
    Answer,
    Counts,
    FakeRoundTripper,
    RecordingSleep,
    credentials,
    ok,
    refusal,
    scripted,
    settle,
)

_NOON = 1_700_000_000.25


def _pod(name: str = "web-0", version: str = "1") -> ObjectReference:
    return ObjectReference("v1", "Pod", "shop", name, f"uid-{name}", version)


class _Bench:
    """A recorder on a scripted server."""

    def __init__(self, *answers: Answer, max_series: int = 100, max_queued_events: int = 100) -> None:
        self.clock = FakeClock(_NOON)
        self.counts = Counts()
        self.round_tripper = FakeRoundTripper(scripted(*(answers or (ok(status=201),))))
        self.transport = Transport(
            credentials(), self.round_tripper, TransportSettings(tries=2), sleep=RecordingSleep()
        )
        self.dispatcher = ApiDispatcher(self.counts, max_queued_events=max_queued_events)
        self.recorder = EventRecorder(
            self.transport,
            self.dispatcher,
            "podium",
            "podium-host",
            max_series=max_series,
            clock=self.clock.now,
            random_bits=lambda _: 0xABC,
        )

    async def fail_to_schedule(self, note: str = "no room", pod: ObjectReference | None = None) -> None:
        self.recorder.record(pod or _pod(), EventType.WARNING, "FailedScheduling", "Scheduling", note)
        await settle()

    def sent(self) -> list[tuple[str, str]]:
        return [(one.method, one.target) for one in self.round_tripper.sent]

    def body(self, index: int = -1) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.round_tripper.sent[index].body or b"")
        return found


_EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


async def test_writes_an_event_as_the_api_wants_it() -> None:
    """The event names who reports what about whom, at a time with six digits."""
    bench = _Bench()
    node = ObjectReference("v1", "Node", None, "n1", "uid-n1")
    bench.recorder.record(_pod(), EventType.NORMAL, "Scheduled", "Binding", "assigned", node, once=True)
    await settle()
    assert bench.sent() == [("POST", _EVENTS)]
    assert bench.body() == {
        "metadata": {"name": "web-0.0000000000000abd", "namespace": "shop"},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "reportingController": "podium",
        "reportingInstance": "podium-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "uid-web-0",
            "resourceVersion": "1",
        },
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1"},
        "note": "assigned",
        "type": "Normal",
    }


async def test_event_about_a_node_stands_in_the_default_namespace() -> None:
    """What has no namespace reports to `default`."""
    bench = _Bench()
    node = ObjectReference("v1", "Node", None, "n1", "uid-n1")
    bench.recorder.record(node, EventType.NORMAL, "Seen", "Seeing", "a node", once=True)
    await settle()
    assert bench.sent() == [("POST", "/apis/events.k8s.io/v1/namespaces/default/events")]


async def test_names_are_unique_and_never_too_long() -> None:
    """Each event has a name of its own that the API accepts, however long the pod's name is."""
    bench = _Bench()
    long_name = "a" * 235 + "." + "b" * 17
    for _ in range(2):
        bench.recorder.record(_pod(long_name), EventType.NORMAL, "Scheduled", "Binding", "x", once=True)
    await settle()
    names = [bench.body(index)["metadata"]["name"] for index in range(2)]
    assert names == ["a" * 235 + ".0000000000000abd", "a" * 235 + ".0000000000000abe"]
    assert max(map(len, names)) <= 253


async def test_repeat_becomes_a_series_on_the_first_event() -> None:
    """The second occurrence is written as a series, further ones are only counted."""
    bench = _Bench()
    await bench.fail_to_schedule()
    bench.clock.advance(10.0)
    await bench.fail_to_schedule()
    bench.clock.advance(10.0)
    await bench.fail_to_schedule()
    assert bench.sent() == [("POST", _EVENTS), ("PATCH", f"{_EVENTS}/web-0.0000000000000abd")]
    assert bench.body() == {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:30.250000Z"}}
    assert bench.round_tripper.sent[-1].content_type == "application/strategic-merge-patch+json"


async def test_series_is_written_again_after_half_an_hour() -> None:
    """A long series shows its count every half hour."""
    bench = _Bench()
    for _ in range(20):
        await bench.fail_to_schedule()
        bench.clock.advance(100.0)
    assert bench.body()["series"]["count"] == 20
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH", "PATCH"]


async def test_silent_series_is_closed_with_its_last_count() -> None:
    """Six minutes after the last repeat the count is written, and the next occurrence is a new event."""
    bench = _Bench()
    for _ in range(5):
        await bench.fail_to_schedule()
    bench.clock.advance(359.0)
    bench.recorder.close_idle_series()
    await settle()
    assert len(bench.sent()) == 2
    bench.clock.advance(2.0)
    bench.recorder.close_idle_series()
    await settle()
    assert bench.body() == {"series": {"count": 5, "lastObservedTime": "2023-11-14T22:13:20.250000Z"}}
    await bench.fail_to_schedule()
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH", "PATCH", "POST"]


async def test_series_that_goes_on_does_not_keep_others_open() -> None:
    """Series are closed by their own silence, whichever began first."""
    bench = _Bench()
    for name in "abbb":
        await bench.fail_to_schedule(pod=_pod(name))
    bench.clock.advance(200.0)
    await bench.fail_to_schedule(pod=_pod("a"))
    bench.clock.advance(200.0)
    before = len(bench.sent())
    bench.recorder.close_idle_series()
    await settle()
    assert [target.split("/")[-1].split(".")[0] for _, target in bench.sent()[before:]] == ["b"]


async def test_single_event_is_forgotten_without_a_call() -> None:
    """What never repeated leaves nothing to write."""
    bench = _Bench()
    await bench.fail_to_schedule()
    bench.clock.advance(361.0)
    bench.recorder.close_idle_series()
    await settle()
    assert bench.sent() == [("POST", _EVENTS)]


async def test_changed_note_begins_a_new_event() -> None:
    """The latest reason is an event of its own, and the old series gets its last count."""
    bench = _Bench()
    for _ in range(3):
        await bench.fail_to_schedule("no room")
    await bench.fail_to_schedule("a taint")
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH", "PATCH", "POST"]
    assert bench.body(2)["series"]["count"] == 3
    assert bench.body()["note"] == "a taint"


async def test_other_version_of_the_pod_is_the_same_series() -> None:
    """Writing the pod's condition changes its version but not what the event is about."""
    bench = _Bench()
    await bench.fail_to_schedule(pod=_pod(version="1"))
    await bench.fail_to_schedule(pod=_pod(version="2"))
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH"]


async def test_other_object_type_action_or_reason_is_another_event() -> None:
    """Only the same thing said about the same object repeats."""
    bench = _Bench()
    recorder = bench.recorder
    recorder.record(_pod(), EventType.WARNING, "FailedScheduling", "Scheduling", "x")
    recorder.record(_pod("web-1"), EventType.WARNING, "FailedScheduling", "Scheduling", "x")
    recorder.record(_pod(), EventType.NORMAL, "FailedScheduling", "Scheduling", "x")
    recorder.record(_pod(), EventType.WARNING, "FailedBinding", "Scheduling", "x")
    recorder.record(_pod(), EventType.WARNING, "FailedScheduling", "Binding", "x")
    recorder.record(_pod(), EventType.WARNING, "FailedScheduling", "Scheduling", "x", _pod("web-1"))
    await settle()
    assert bench.sent() == [("POST", _EVENTS)] * 6


async def test_events_that_cannot_repeat_leave_nothing_behind() -> None:
    """An event recorded once is forgotten at once: the same again is a new event."""
    bench = _Bench()
    for _ in range(2):
        bench.recorder.record(_pod(), EventType.NORMAL, "Scheduled", "Binding", "x", once=True)
    await settle()
    assert bench.sent() == [("POST", _EVENTS)] * 2


async def test_memory_is_bounded() -> None:
    """Beyond the limit the series that was silent for longest makes room, with its count written."""
    bench = _Bench(max_series=2)
    for _ in range(3):
        await bench.fail_to_schedule(pod=_pod("a"))
    await bench.fail_to_schedule(pod=_pod("b"))
    await bench.fail_to_schedule(pod=_pod("c"))
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH", "POST", "PATCH", "POST"]
    await bench.fail_to_schedule(pod=_pod("a"))
    assert bench.sent()[-1] == ("POST", _EVENTS)


async def test_event_that_expired_on_the_server_begins_anew() -> None:
    """Where the series' event is gone, the next occurrence is a new event."""
    bench = _Bench(ok(status=201), refusal(404, "NotFound"), ok(status=201))
    for _ in range(3):
        await bench.fail_to_schedule()
    assert [method for method, _ in bench.sent()] == ["POST", "PATCH", "POST"]


async def test_event_that_could_not_be_written_begins_anew() -> None:
    """After a failed creation the next occurrence is created, not counted on nothing."""
    bench = _Bench(refusal(403, "Forbidden"), ok(status=201))
    with capture_logs():
        await bench.fail_to_schedule()
    await bench.fail_to_schedule()
    assert [method for method, _ in bench.sent()] == ["POST", "POST"]
    assert bench.counts.failed_calls == ["event"]


async def test_dropped_event_begins_anew() -> None:
    """What the full queue did not take is not remembered as written."""
    bench = _Bench(max_queued_events=0)
    await bench.fail_to_schedule()
    assert bench.counts.dropped_calls == ["event"]
    assert bench.sent() == []
    bench.dispatcher._max_queued_events = 10
    await bench.fail_to_schedule()
    assert bench.sent() == [("POST", _EVENTS)]


async def test_lost_answer_does_not_make_a_second_event() -> None:
    """A repeated creation that meets its own first try is a success."""
    bench = _Bench(AnswerLost("cut"), refusal(409, "AlreadyExists"), ok())
    await bench.fail_to_schedule()
    await bench.fail_to_schedule()
    assert [method for method, _ in bench.sent()] == ["POST", "POST", "PATCH"]
    assert bench.body(0) == bench.body(1)
    assert bench.counts.failed_calls == []


def _answer(status: int) -> RawResponse:
    return RawResponse(status, None, b"{}")


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("short", "short"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 512, "é" * 512),
        ("é" * 600, "é" * 510 + " ..."),
        ("€" * 400, "€" * 340 + " ..."),
        ("x" + "é" * 600, "x" + "é" * 509 + " ..."),
    ],
)
def test_note_is_cut_to_1024_bytes(note: str, expected: str) -> None:
    """A longer note ends in ` ...`, within 1,024 bytes and never in the middle of a character."""
    assert cut_note(note) == expected
    assert len(cut_note(note).encode()) <= 1024

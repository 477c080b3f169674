"""Lists and watches on a scripted server. The real one is met in tests/integration/test_client.py."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import parse_qs, urlsplit

import pytest
from structlog.testing import capture_logs

from scheduler.client.errors import AnswerLost, Forbidden, Unreachable
from scheduler.client.reflector import Reflector, ReflectorSettings, find_vanished
from scheduler.client.transport import Transport, TransportSettings
from scheduler.client.watch_decoding import Key, Resource, WatchEvent
from scheduler.testing.clock import FakeClock
from tests.unit.client.fakes import (
    Answer,
    Counts,
    FakeRoundTripper,
    FakeStream,
    RecordingSleep,
    credentials,
    finished,
    ok,
    refusal,
    scripted,
    settle,
)
from tests.unit.client.objects import Thing, bookmark, decode_thing, error_line, key, line, page, thing


class _Sink:
    """A store as plain as can be, and the story of how it was filled."""

    def __init__(self) -> None:
        self.store: dict[Key, Thing] = {}
        self.batches: list[int] = []
        self.lists = 0

    def apply(self, events: Sequence[WatchEvent[Thing]]) -> None:
        self.batches.append(len(events))
        for changed, found in events:
            if found is None:
                self.store.pop(changed, None)
            else:
                self.store[changed] = found

    def known_keys(self) -> Collection[Key]:
        return self.store.keys()

    def list_complete(self) -> None:
        self.lists += 1

    def versions(self) -> dict[str, str]:
        return {name: found.metadata.resource_version for (_, name), found in self.store.items()}


class _Bench:
    """A reflector on a server that gives these answers to lists and these streams to watches, then stays silent."""

    def __init__(self, lists: Sequence[Answer], streams: Iterable[FakeStream | Exception] = ()) -> None:
        self.clock = FakeClock()
        self.sleep = RecordingSleep(self.clock)
        self.counts = Counts()
        self.sink = _Sink()
        self.round_tripper = FakeRoundTripper(scripted(*lists), streams)
        transport = Transport(credentials(), self.round_tripper, TransportSettings(tries=1))
        self.reflector = Reflector(
            transport,
            Resource("Thing", "/things", {"fieldSelector": "a=b"}),
            decode_thing,
            self.sink,
            self.counts,
            ReflectorSettings(shortest_watch_seconds=300),
            clock=self.clock.now,
            sleep=self.sleep,
            random=lambda: 0.5,
        )

    async def run(self, turns: int = 60) -> None:
        """Runs until nothing more happens."""
        task = asyncio.create_task(self.reflector.run())
        await settle(turns)
        if task.done():
            await task
        task.cancel()
        await finished(task)

    def asked(self) -> list[dict[str, str]]:
        """Parameters of the lists and then of the watches."""
        sent = [*self.round_tripper.sent, *self.round_tripper.streamed]
        return [{name: values[0] for name, values in parse_qs(urlsplit(one.target).query).items()} for one in sent]


async def test_lists_in_pages_and_watches_from_the_lists_version() -> None:
    """Pages follow each other by their continue token, and the watch begins where the list ended."""
    bench = _Bench(
        [ok(page([thing("a")], "5", "token")), ok(page([thing("b")], "5"))],
        [FakeStream(200, [line("MODIFIED", thing("a", "6")) + b"\n" + line("DELETED", thing("b", "7")) + b"\n"])],
    )
    await bench.run()
    assert bench.sink.versions() == {"a": "6"}
    assert bench.sink.lists == 1
    first, second, watch, again = bench.asked()
    assert first == {"fieldSelector": "a=b", "limit": "500"}
    assert second == {"fieldSelector": "a=b", "limit": "500", "continue": "token"}
    assert watch == {
        "fieldSelector": "a=b",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "450",
        "resourceVersion": "5",
    }
    assert again["resourceVersion"] == "7"


async def test_resumes_after_a_cut_from_the_last_version() -> None:
    """A cut watch goes on where it was, bookmarks included, after a wait and without a list."""
    bench = _Bench(
        [ok(page([thing("a")], "5"))],
        [FakeStream(200, [line("MODIFIED", thing("a", "6")) + b"\n", bookmark("60") + b"\n"], AnswerLost("cut"))],
    )
    await bench.run()
    assert bench.asked()[-1]["resourceVersion"] == "60"
    assert bench.sink.lists == 1
    assert bench.sleep.slept == pytest.approx([1.2])


async def test_gone_watch_lists_again_and_takes_back_what_vanished() -> None:
    """After 410, objects that the new list does not name become deletions, the others come as they are now."""
    bench = _Bench(
        [ok(page([thing("a"), thing("b"), thing("c")], "5")), ok(page([thing("a"), thing("c", "8")], "9"))],
        [FakeStream(200, [error_line(410) + b"\n"])],
    )
    await bench.run()
    assert bench.sink.versions() == {"a": "1", "c": "8"}
    assert bench.sink.lists == 2
    assert bench.asked()[-1]["resourceVersion"] == "9"


async def test_watch_refused_with_410_lists_again() -> None:
    """410 counts the same as answer to the watch request."""
    bench = _Bench(
        [ok(page([thing("a")], "5")), ok(page([], "9"))],
        [FakeStream(410, [b'{"reason":"Expired","message":"too old"}'])],
    )
    await bench.run()
    assert bench.sink.versions() == {}


async def test_expired_continue_token_starts_the_list_again() -> None:
    """A list that takes longer than the server remembers starts again, and nothing of it counts before its end."""
    bench = _Bench(
        [
            ok(page([thing("a"), thing("b")], "5", "token")),
            refusal(410, "Expired"),
            ok(page([thing("b")], "8")),
        ]
    )
    await bench.run()
    assert bench.sink.versions() == {"b": "1"}
    assert bench.sink.lists == 1
    assert bench.asked()[2] == {"fieldSelector": "a=b", "limit": "500"}


async def test_version_of_the_future_lists_again() -> None:
    """A server whose store went back does not leave the watch waiting for ever."""
    bench = _Bench(
        [ok(page([thing("a")], "500")), ok(page([thing("a", "3")], "7"))],
        [FakeStream(504, [b'{"reason":"Timeout","message":"Too large resource version: 500, current: 7"}'])],
    )
    await bench.run()
    assert bench.sink.versions() == {"a": "3"}
    assert bench.asked()[-1]["resourceVersion"] == "7"


async def test_failures_wait_longer_each_time() -> None:
    """Lists and watches that fail are tried again after waits that double, with jitter."""
    bench = _Bench([Unreachable("down"), refusal(500, "InternalError"), ok(page([], "5"))], [Unreachable("down")])
    await bench.run()
    assert bench.sleep.slept == pytest.approx([1.2, 2.4, 4.8])


async def test_retry_after_of_a_watch_is_honoured() -> None:
    """A server that asks for a longer wait gets it."""
    refused = FakeStream(429, [b'{"reason":"TooManyRequests","message":"later"}'])
    refused.retry_after = "9"
    bench = _Bench([ok(page([], "5"))], [refused])
    await bench.run()
    assert bench.sleep.slept == pytest.approx([9.0])


async def test_watch_that_ends_in_good_order_is_opened_again_at_once() -> None:
    """The server ends each watch some time; that is no failure."""
    bench = _Bench([ok(page([], "5"))], [FakeStream(200, [bookmark("6") + b"\n"])])
    await bench.run()
    assert bench.sleep.slept == []
    assert bench.asked()[-1]["resourceVersion"] == "6"


async def test_watches_that_end_at_once_do_not_spin() -> None:
    """A server that ends every watch immediately is treated as failing."""
    bench = _Bench([ok(page([], "5"))], [FakeStream(200, []), FakeStream(200, [])])
    await bench.run()
    assert bench.sleep.slept == pytest.approx([1.2, 2.4])


async def test_unreadable_object_does_not_hide_others_nor_vanish() -> None:
    """An object that becomes unreadable keeps its last known state through a new list; the rest goes on."""
    unreadable = b'{"metadata":{"name":"b","namespace":"ns","uid":7,"resourceVersion":"8"}}'
    bench = _Bench(
        [ok(page([thing("a"), thing("b")], "5")), ok(page([thing("a", "9")], "9", extra=(unreadable,)))],
        [FakeStream(200, [b'{"type":"MODIFIED","object":%b}\n' % unreadable, error_line(410) + b"\n"])],
    )
    with capture_logs():
        await bench.run()
    assert bench.sink.versions() == {"a": "9", "b": "1"}
    assert bench.counts.malformed_kinds == ["Thing", "Thing"]


async def test_missing_right_ends_the_first_list() -> None:
    """Before anything was read, a refusal that waiting will not mend is raised."""
    bench = _Bench([refusal(403, "Forbidden", "things is forbidden")])
    with pytest.raises(Forbidden, match="things is forbidden"):
        await bench.run()


async def test_refusal_later_on_is_waited_out() -> None:
    """A server that starts up refuses for a moment what it allows later."""
    bench = _Bench([ok(page([thing("a")], "5"))], [FakeStream(403, [b"{}"]), FakeStream(200, [bookmark("8") + b"\n"])])
    await bench.run()
    assert bench.sleep.slept == pytest.approx([1.2])
    assert bench.asked()[-1]["resourceVersion"] == "8"


async def test_many_events_are_handed_over_in_small_batches() -> None:
    """However much arrives at once, no turn of the loop handles more than a few dozen objects."""
    things = [thing(f"t{number}") for number in range(100)]
    lines = b"".join(line("ADDED", thing(f"w{number}", "7")) + b"\n" for number in range(100))
    bench = _Bench([ok(page(things, "5"))], [FakeStream(200, [lines])])
    await bench.run()
    assert len(bench.sink.store) == 200
    assert max(bench.sink.batches) <= 32


async def test_last_activity_is_when_the_server_was_last_heard() -> None:
    """Readiness can see how long a server has been silent."""
    bench = _Bench([ok(page([], "5"))])
    bench.clock.advance(100.0)
    await bench.run()
    assert bench.reflector.last_activity_seconds == 100.0


def test_vanished_are_the_known_that_were_not_listed() -> None:
    """Only what is known and not listed has vanished."""
    assert find_vanished([key("a"), key("b")], {key("b"), key("c")}) == [key("a")]

"""Typed events and the store behind them."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from scheduler.client.informer import Added, Deleted, Informer, InformerError, Updated
from scheduler.client.transport import Transport, TransportSettings
from scheduler.client.watch_decoding import Decode, Resource, WatchEvent
from tests.unit.client.fakes import (
    Answer,
    Counts,
    FakeRoundTripper,
    FakeStream,
    RecordingSleep,
    credentials,
    ok,
    refusal,
    scripted,
    settle,
)
from tests.unit.client.objects import Thing, decode_thing, error_line, key, line, page, thing

Event = Added[Thing] | Updated[Thing] | Deleted[Thing]


class _Bench:
    """An informer on a scripted server, with one handler that remembers."""

    def __init__(
        self, lists: tuple[Answer, ...] = (), streams: tuple[FakeStream, ...] = (), decode: Decode[Thing] = decode_thing
    ) -> None:
        self.seen: list[Event] = []
        self.fatal: list[InformerError] = []
        self.counts = Counts()
        round_tripper = FakeRoundTripper(scripted(*lists or (ok(page([], "1")),)), streams)
        self.informer = Informer(
            Transport(credentials(), round_tripper, TransportSettings(tries=1)),
            Resource("Thing", "/things", {}),
            decode,
            on_fatal=self.fatal.append,
            recorder=self.counts,
            sleep=RecordingSleep(),
        )
        self.informer.add_handler(self.seen.append)

    def apply(self, *things: Thing) -> None:
        self.informer.apply([WatchEvent((one.metadata.namespace, one.metadata.name), one) for one in things])

    def remove(self, name: str) -> None:
        self.informer.apply([WatchEvent(key(name), None)])


async def test_additions_changes_and_deletions_carry_the_objects() -> None:
    """A change brings the very object that was handed out before, and so does a deletion."""
    bench = _Bench()
    first, second = thing("a", "1"), thing("a", "2")
    bench.apply(first)
    bench.apply(second)
    bench.remove("a")
    assert bench.seen == [Added(first), Updated(first, second), Deleted(second)]
    assert bench.informer.get("ns", "a") is None


async def test_unchanged_object_raises_nothing() -> None:
    """The same version again, as a new list brings it, is no event, and the old object stays."""
    bench = _Bench()
    first = thing("a")
    bench.apply(first)
    bench.apply(thing("a"))
    assert bench.seen == [Added(first)]
    assert bench.informer.get("ns", "a") is first


async def test_object_recreated_under_its_name_is_deleted_and_added() -> None:
    """Another UID is another object, even if nothing was seen in between; the store never shows the wrong one."""
    bench = _Bench()
    stored: list[Thing | None] = []
    bench.informer.add_handler(lambda _: stored.append(bench.informer.get("ns", "a")))
    old, new = thing("a", "1", uid="u1"), thing("a", "2", uid="u2")
    bench.apply(old)
    bench.apply(new)
    assert bench.seen == [Added(old), Deleted(old), Added(new)]
    assert stored == [old, None, new]


async def test_deletion_of_an_unknown_object_raises_nothing() -> None:
    """What was never handed out cannot be taken back."""
    bench = _Bench()
    bench.remove("a")
    assert bench.seen == []


_versions = st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from("uv"), st.sampled_from("123")))


@given(_versions, _versions)
def test_a_new_list_gives_the_net_change(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> None:
    """Whatever was known and whatever is listed, the store ends as the list, and events tell the difference only."""

    async def scenario() -> None:
        lists = [
            page([thing(name, version, uid) for name, (uid, version) in state.items()], "9")
            for state in (before, after)
        ]
        bench = _Bench((ok(lists[0]), ok(lists[1])), (FakeStream(200, [error_line(410) + b"\n"]),))

        with capture_logs():
            bench.informer.start()
            await settle(40)
            await bench.informer.stop()
        states = {one.metadata.name: (one.metadata.uid, one.metadata.resource_version) for one in bench.informer.list()}
        assert states == after
        changes = bench.seen[len(before) :]
        assert {event.obj.metadata.name for event in changes if isinstance(event, Deleted)} == {
            name for name, (uid, _) in before.items() if name not in after or after[name][0] != uid
        }
        assert {event.obj.metadata.name for event in changes if isinstance(event, Added)} == {
            name for name, (uid, _) in after.items() if name not in before or before[name][0] != uid
        }
        assert {event.new.metadata.name for event in changes if isinstance(event, Updated)} == {
            name
            for name in before.keys() & after.keys()
            if before[name][0] == after[name][0] and before[name] != after[name]
        }

    asyncio.run(scenario())


async def test_has_synced_after_the_handlers_saw_everything() -> None:
    """Synced means that all that was there has been handed to the handlers."""
    bench = _Bench((ok(page([thing("a")], "5", "token")), ok(page([thing("b")], "5"))))
    when_seen: list[bool] = []
    bench.informer.add_handler(lambda _: when_seen.append(bench.informer.has_synced))
    bench.informer.start()
    await bench.informer.wait_for_sync()
    assert when_seen == [False, False]
    assert bench.informer.has_synced
    assert [one.metadata.name for one in bench.informer.list()] == ["a", "b"]
    await bench.informer.stop()


async def test_an_empty_collection_syncs_too() -> None:
    """Nothing there is also known."""
    bench = _Bench()
    bench.informer.start()
    await bench.informer.wait_for_sync()
    assert list(bench.informer.list()) == []
    await bench.informer.stop()


async def test_handler_that_raises_does_not_hide_the_event_from_others() -> None:
    """A handler's fault is logged and counted, and everything goes on."""
    bench = _Bench((ok(page([thing("a")], "5")),), (FakeStream(200, [line("ADDED", thing("b", "6")) + b"\n"]),))
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise ValueError("broken")

    bench.informer.add_handler(broken)
    bench.informer.add_handler(seen.append)
    with capture_logs() as logs:
        bench.informer.start()
        await settle()
        await bench.informer.stop()
    assert seen == bench.seen == [Added(thing("a")), Added(thing("b", "6"))]
    assert bench.counts.failed_handlers == ["Thing", "Thing"]
    assert [entry["change"] for entry in logs if entry["event"] == "Event handler failed"] == ["Added", "Added"]
    assert bench.fatal == []


@pytest.mark.parametrize(
    ("answer", "way_out"),
    [
        (refusal(403, "Forbidden", "things is forbidden"), "let the scheduler's role get, list and watch it"),
        (refusal(401, "Unauthorized"), "give it a credential that this server accepts"),
        (refusal(404, "NotFound"), "this server does not have it"),
    ],
)
async def test_what_waiting_will_not_mend_is_fatal(answer: Answer, way_out: str) -> None:
    """The process is told in one line what cannot be followed, why, and what to do."""
    bench = _Bench((answer,))
    bench.informer.start()
    await settle()
    (error,) = bench.fatal
    assert str(error).startswith("cannot follow Thing at /things: 40")
    assert way_out in str(error)
    await bench.informer.stop()


async def test_a_bug_in_the_watch_is_fatal_and_not_silent() -> None:
    """A watch task that dies of anything tells the process."""

    def broken(_: bytes | memoryview) -> Thing:
        raise ZeroDivisionError("bug")

    bench = _Bench((ok(page([thing("a")], "5")),), decode=broken)
    with capture_logs():
        bench.informer.start()
        await settle()
    (error,) = bench.fatal
    assert "ZeroDivisionError: bug" in str(error)
    await bench.informer.stop()


async def test_handlers_are_added_before_the_start() -> None:
    """A handler that came later would miss events, so it is refused."""
    bench = _Bench()
    bench.informer.start()
    with pytest.raises(RuntimeError, match="before it starts"):
        bench.informer.add_handler(bench.seen.append)
    await bench.informer.stop()

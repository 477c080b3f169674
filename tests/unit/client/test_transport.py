"""What `Transport` adds to a round tripper: retries, credentials, limits, counting, lines.

Connections, TLS and the gate are tested in tests/integration/test_round_trippers.py.
"""

from collections.abc import Callable
from contextlib import aclosing

import pytest

from scheduler.client.credentials import Credentials
from scheduler.client.errors import (
    AnswerLost,
    Conflict,
    Fenced,
    Gone,
    RequestError,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from scheduler.client.transport import (
    MERGE_PATCH,
    NoRequestRecorder,
    Response,
    Retry,
    Transport,
    TransportSettings,
    user_agent,
)
from scheduler.testing.clock import FakeClock
from tests.unit.client.fakes import (
    Counts,
    FakeRoundTripper,
    FakeStream,
    RecordingSleep,
    Sent,
    Server,
    credentials,
    loaded,
    ok,
    refusal,
    scripted,
)

_DEFAULTS = TransportSettings()
_PATH = "/api/v1/namespaces/ns/pods/a/binding"


class _Bench:
    """A transport on a fake server."""

    def __init__(
        self,
        server: Server,
        *,
        streams: tuple[FakeStream | Exception, ...] = (),
        settings: TransportSettings = _DEFAULTS,
        using: Credentials | None = None,
        random: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.clock = FakeClock()
        self.sleep = RecordingSleep(self.clock)
        self.counts = Counts()
        self.round_tripper = FakeRoundTripper(server, streams)
        self.transport = Transport(
            using or credentials(),
            self.round_tripper,
            settings,
            self.counts,
            clock=self.clock.now,
            sleep=self.sleep,
            random=random,
        )


async def test_verbs_send_what_they_are_given() -> None:
    """Each verb has its method, content type, body and credential; parameters are encoded."""
    bench = _Bench(scripted(ok(b'{"a":1}', 201)))
    assert await bench.transport.get("/api/v1/pods", {"fieldSelector": "a=b,c!=d"}) == Response(201, b'{"a":1}')
    await bench.transport.post(_PATH, b"{}")
    await bench.transport.patch("/p", b"{}", MERGE_PATCH)
    await bench.transport.patch("/p", b"{}")
    await bench.transport.delete("/p")
    await bench.transport.delete("/p", b"{}")
    one = "Bearer one"
    assert bench.round_tripper.sent == [
        Sent("GET", "/api/v1/pods?fieldSelector=a%3Db%2Cc%21%3Dd", one, None, None),
        Sent("POST", _PATH, one, "application/json", b"{}"),
        Sent("PATCH", "/p", one, "application/merge-patch+json", b"{}"),
        Sent("PATCH", "/p", one, "application/strategic-merge-patch+json", b"{}"),
        Sent("DELETE", "/p", one, None, None),
        Sent("DELETE", "/p", one, "application/json", b"{}"),
    ]


@pytest.mark.parametrize(
    ("answer", "retry", "tries"),
    [
        (AnswerLost("cut"), Retry.NEVER, 1),
        (AnswerLost("cut"), Retry.IF_NOT_CARRIED_OUT, 1),
        (AnswerLost("cut"), Retry.IF_IN_DOUBT, 6),
        (Unreachable("down"), Retry.NEVER, 1),
        (Unreachable("down"), Retry.IF_NOT_CARRIED_OUT, 6),
        (Unreachable("down"), Retry.IF_IN_DOUBT, 6),
        (refusal(429, "TooManyRequests"), Retry.NEVER, 1),
        (refusal(429, "TooManyRequests"), Retry.IF_NOT_CARRIED_OUT, 6),
        (refusal(503, "ServiceUnavailable"), Retry.IF_NOT_CARRIED_OUT, 1),
        (refusal(503, "ServiceUnavailable"), Retry.IF_IN_DOUBT, 6),
        (refusal(409, "Conflict"), Retry.IF_IN_DOUBT, 1),
        (Fenced("gate"), Retry.IF_IN_DOUBT, 1),
    ],
)
async def test_tries_again_only_as_allowed(answer: Exception, retry: Retry, tries: int) -> None:
    """A call is repeated only where its policy allows it, and at most as often as the settings say."""
    bench = _Bench(scripted(answer))
    with pytest.raises(RequestError):
        await bench.transport.post(_PATH, b"{}", retry=retry)
    assert len(bench.round_tripper.sent) == tries


async def test_a_bind_whose_answer_is_lost_is_not_repeated() -> None:
    """By default a POST without an answer is sent once and the doubt is the caller's."""
    bench = _Bench(scripted(AnswerLost("cut"), ok()))
    with pytest.raises(AnswerLost, match="cut"):
        await bench.transport.post(_PATH, b"{}")
    assert len(bench.round_tripper.sent) == 1


async def test_waits_between_tries_grow_and_succeed() -> None:
    """Waits double with jitter until an answer comes."""
    bench = _Bench(scripted(Unreachable("down"), Unreachable("down"), ok(b"late")), random=lambda: 0.5)
    assert (await bench.transport.post(_PATH, b"{}")).body == b"late"
    assert bench.sleep.slept == pytest.approx([0.375, 0.75])


async def test_retry_after_is_honoured() -> None:
    """The server's wait is kept, plus ours, so that refused clients do not return together."""
    bench = _Bench(scripted(refusal(429, "TooManyRequests", retry_after="7"), ok()))
    await bench.transport.post(_PATH, b"{}")
    assert bench.sleep.slept == pytest.approx([7.25])


async def test_last_refusal_is_raised_when_tries_run_out() -> None:
    """The caller gets what the server said last."""
    bench = _Bench(scripted(Unreachable("down"), refusal(429, "TooManyRequests")), settings=TransportSettings(tries=3))
    with pytest.raises(TooManyRequests):
        await bench.transport.get("/x")
    assert len(bench.round_tripper.sent) == 3


async def test_refused_credential_is_renewed_once_and_the_call_sent_again() -> None:
    """A 401 was not carried out, so even a write goes again with the new credential."""

    def server(sent: Sent) -> object:
        return ok() if sent.authorization == "Bearer two" else refusal(401, "Unauthorized")

    clock = FakeClock()
    using = credentials(loaded("Bearer two"), clock=clock.now)
    clock.advance(60.0)
    bench = _Bench(server, using=using)  # type: ignore[arg-type]
    await bench.transport.post(_PATH, b"{}", retry=Retry.NEVER)
    assert [sent.authorization for sent in bench.round_tripper.sent] == ["Bearer one", "Bearer two"]


async def test_credential_that_stays_refused_is_an_error() -> None:
    """Without a new credential a 401 is raised."""
    clock = FakeClock()
    using = credentials(loaded("Bearer one"), clock=clock.now)
    clock.advance(60.0)
    bench = _Bench(scripted(refusal(401, "Unauthorized")), using=using)
    with pytest.raises(Unauthorized):
        await bench.transport.get("/x")
    assert len(bench.round_tripper.sent) == 1


async def test_client_rate_limit_delays_calls() -> None:
    """With a limit, calls beyond the burst wait for their token; without one none waits."""
    bench = _Bench(scripted(ok()), settings=TransportSettings(qps=10.0, burst=1))
    for _ in range(3):
        await bench.transport.get("/x")
    assert bench.sleep.slept == pytest.approx([0.1, 0.1])
    free = _Bench(scripted(ok()))
    for _ in range(3):
        await free.transport.get("/x")
    assert free.sleep.slept == []


async def test_every_try_is_observed() -> None:
    """Tries are counted with method, host and code; `<error>` stands for no answer."""
    bench = _Bench(scripted(Unreachable("down"), refusal(429, "TooManyRequests"), ok(status=201)))
    await bench.transport.post(_PATH, b"{}")
    assert [entry[:3] for entry in bench.counts.observed] == [
        ("POST", "api.test:8080", "<error>"),
        ("POST", "api.test:8080", "429"),
        ("POST", "api.test:8080", "201"),
    ]


async def test_a_refused_write_is_no_request() -> None:
    """What the gate held back was not sent and is not counted as a request."""
    bench = _Bench(scripted(Fenced("gate")))
    with pytest.raises(Fenced):
        await bench.transport.post(_PATH, b"{}")
    assert bench.counts.observed == []


async def test_duration_is_that_of_the_try() -> None:
    """The observed time runs from sending to the answer."""
    bench = _Bench(scripted(ok()))

    def slow(_: Sent) -> object:
        bench.clock.advance(0.25)
        return ok()

    bench.round_tripper._server = slow  # type: ignore[assignment]
    await bench.transport.get("/x")
    assert bench.counts.observed == [("GET", "api.test:8080", "200", 0.25)]


async def _lines(transport: Transport) -> list[list[bytes]]:
    async with aclosing(transport.stream("/w", {"watch": "true"}, 60.0)) as groups:
        return [lines async for lines in groups]


async def test_stream_groups_lines_as_they_arrive() -> None:
    """Lines that one chunk completes come together; an unfinished last line is dropped; the stream is closed."""
    stream = FakeStream(200, [b"a\nb\nc", b"c\n", b"torn"])
    bench = _Bench(scripted(ok()), streams=(stream,))
    assert await _lines(bench.transport) == [[b"a", b"b"], [b"cc"]]
    assert bench.round_tripper.streamed[0].target == "/w?watch=true"
    assert stream.closed


async def test_refused_stream_is_an_error_of_its_class() -> None:
    """A watch that is refused raises what the Status in its body says."""
    stream = FakeStream(410, [b'{"reason":"Expired",', b'"message":"too old"}'])
    bench = _Bench(scripted(ok()), streams=(stream,))
    with pytest.raises(Gone, match="410 Expired: too old"):
        await _lines(bench.transport)
    assert stream.closed


async def test_stream_renews_a_refused_credential() -> None:
    """A watch answered with 401 is opened again with the new credential."""
    clock = FakeClock()
    using = credentials(loaded("Bearer two"), clock=clock.now)
    clock.advance(60.0)
    bench = _Bench(scripted(ok()), streams=(FakeStream(401, []), FakeStream(200, [b"a\n"])), using=using)
    assert await _lines(bench.transport) == [[b"a"]]
    assert [sent.authorization for sent in bench.round_tripper.streamed] == ["Bearer one", "Bearer two"]


async def test_cut_stream_raises_after_its_lines() -> None:
    """What came before the cut is handed out."""
    bench = _Bench(scripted(ok()), streams=(FakeStream(200, [b"a\n"], AnswerLost("cut")),))
    async with aclosing(bench.transport.stream("/w", {}, 60.0)) as groups:
        assert await anext(groups) == [b"a"]
        with pytest.raises(AnswerLost):
            await anext(groups)


async def test_server_error_and_conflict_reach_the_caller() -> None:
    """A write that failed for a reason of the server's is the caller's to judge."""
    for answer, kind in ((refusal(500, "InternalError"), ServerError), (refusal(409, "AlreadyExists"), Conflict)):
        with pytest.raises(kind):
            await _Bench(scripted(answer)).transport.post(_PATH, b"{}")


async def test_close_closes_the_connections() -> None:
    """Closing a transport closes what is below it; a transport without a recorder counts nothing."""
    round_tripper = FakeRoundTripper(scripted(ok()))
    transport = Transport(credentials(), round_tripper, recorder=NoRequestRecorder())
    await transport.get("/x")
    await transport.close()
    assert round_tripper.closed


def test_user_agent_names_product_and_replica() -> None:
    """The User-Agent carries version and identity, and an identity that no header can hold is refused."""
    assert user_agent("node-1_42").startswith("podium/")
    assert user_agent("node-1_42").endswith(" (node-1_42)")
    with pytest.raises(ValueError, match="identity"):
        user_agent("a\r\nHost: b")

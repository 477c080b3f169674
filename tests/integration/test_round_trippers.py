"""Both round trippers, held to the same contract, on a server that misbehaves as servers do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from scheduler.client.aiohttp_round_tripper import AiohttpRoundTripper
from scheduler.client.credentials import Credentials, LoadedCredential, Tls
from scheduler.client.errors import AnswerLost, Fenced, Unreachable
from scheduler.client.http1 import Http1RoundTripper
from scheduler.client.round_tripper import Gate, RawResponse
from tests.controlplane.credentials import Credentials as Certificates
from tests.integration.loopback_server import CHUNKED_HEAD, LoopbackServer, Request, chunk, sized

RoundTripper = Http1RoundTripper | AiohttpRoundTripper
Kind = type[Http1RoundTripper] | type[AiohttpRoundTripper]


@pytest.fixture(params=[Http1RoundTripper, AiohttpRoundTripper])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each test runs with both."""
    found: Kind = request.param
    return found


def _credentials(url: str, tls: Tls | None = None, server_name: str | None = None) -> Credentials:
    first = LoadedCredential(url, None, tls, server_name, None, None)
    return Credentials(lambda: first, first)


@asynccontextmanager
async def _open(
    kind: Kind,
    target: str | Credentials,
    *,
    max_calls: int = 10,
    timeout_seconds: float = 10.0,
    gate: Gate | None = None,
) -> AsyncIterator[RoundTripper]:
    credentials = _credentials(target) if isinstance(target, str) else target
    opened = kind(
        credentials,
        "podium/test",
        max_calls=max_calls,
        timeout_seconds=timeout_seconds,
        connect_timeout_seconds=5.0,
        gate=gate,
    )
    try:
        yield opened
    finally:
        await opened.close()


async def _post(round_tripper: RoundTripper, target: str = "/p", body: bytes = b"{}") -> RawResponse:
    return await round_tripper.call("POST", target, "Bearer t", "application/json", body)


async def _get(round_tripper: RoundTripper, target: str = "/g") -> RawResponse:
    return await round_tripper.call("GET", target, "Bearer t", None, None)


async def _echo(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(sized(request.body or request.target.encode()))


async def test_request_arrives_as_sent_and_the_answer_comes_back(kind: Kind) -> None:
    """Method, target, headers and body are those given, and nothing is asked for that we cannot read."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(sized(b"busy", "429 Too Many Requests", "Retry-After: 3"))

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        target = "/api/v1/pods?fieldSelector=a%3Db&continue=x%2By"
        assert await _post(round_tripper, target, b'{"a":1}') == RawResponse(429, "3", b"busy")
        (request,) = server.requests
        assert (request.method, request.target, request.body) == ("POST", target, b'{"a":1}')
        assert request.headers == {
            "host": server.url.removeprefix("http://"),
            "user-agent": "podium/test",
            "accept": "application/json",
            "authorization": "Bearer t",
            "content-type": "application/json",
            "content-length": "7",
        }


async def test_base_path_of_the_server_url_is_kept(kind: Kind) -> None:
    """A server behind a path, as some gateways have it, is called below that path."""
    async with LoopbackServer(_echo) as server, _open(kind, server.url + "/clusters/c1") as round_tripper:
        assert (await _get(round_tripper, "/version")).body == b"/clusters/c1/version"


async def test_connection_is_used_again(kind: Kind) -> None:
    """Calls one after the other share a connection."""
    async with LoopbackServer(_echo) as server, _open(kind, server.url) as round_tripper:
        for _ in range(5):
            await _post(round_tripper)
        assert server.connections == 1


async def test_connection_the_server_closes_is_not_used_again(kind: Kind) -> None:
    """A server that announces the end of a connection gets the next call on a new one."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(sized(b"ok", "200 OK", "Connection: close"))
        await writer.drain()
        writer.close()

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        for _ in range(3):
            assert (await _post(round_tripper)).body == b"ok"
        assert server.connections == 3


async def test_large_chunked_answer(kind: Kind) -> None:
    """An answer of many megabytes in chunks of odd sizes comes back whole."""
    body = bytes(range(256)) * 40_000

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED_HEAD)
        for start in range(0, len(body), 77_777):
            writer.write(chunk(body[start : start + 77_777]))
            await writer.drain()
        writer.write(chunk(b""))

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        assert (await _get(round_tripper)).body == body
        assert (await _get(round_tripper)).body == body
        assert server.connections == 1


async def test_calls_in_flight_are_bounded(kind: Kind) -> None:
    """No more calls than allowed reach the server at once; the others follow."""
    release = asyncio.Event()
    under_way, most = 0, 0

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await release.wait()
        under_way -= 1
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=3) as round_tripper:
        calls = [asyncio.create_task(_post(round_tripper)) for _ in range(10)]
        await server.arrived(3)
        release.set()
        await asyncio.gather(*calls)
        assert most == 3
        assert len(server.requests) == 10


async def test_gate_is_asked_when_the_connection_is_had(kind: Kind) -> None:
    """A write that waited for a connection is refused by a gate that closed meanwhile, and nothing of it is sent."""
    release = asyncio.Event()
    asked: list[tuple[str, str]] = []
    is_open = True

    def gate(method: str, target: str) -> bool:
        asked.append((method, target))
        return is_open

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=1, gate=gate) as round_tripper:
        first = asyncio.create_task(_post(round_tripper, "/first"))
        await server.arrived(1)
        second = asyncio.create_task(_post(round_tripper, "/second"))
        await asyncio.sleep(0.05)
        assert asked == [("POST", "/first")]
        is_open = False
        release.set()
        assert (await first).body == b"ok"
        with pytest.raises(Fenced, match="/second"):
            await second
        assert asked == [("POST", "/first"), ("POST", "/second")]
        assert (await _get(round_tripper, "/read")).status == 200
        assert [request.target for request in server.requests] == ["/first", "/read"]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
async def test_gate_holds_every_kind_of_write(kind: Kind, method: str) -> None:
    """Every method that changes something is asked for, also on a new connection, and is refused without a byte."""
    async with LoopbackServer(_echo) as server, _open(kind, server.url, gate=lambda *_: False) as round_tripper:
        for _ in range(2):
            with pytest.raises(Fenced):
                await round_tripper.call(method, "/x", None, "application/json", b"{}")
        assert server.requests == []


async def test_no_server_is_unreachable(kind: Kind) -> None:
    """A call to a port where nobody listens was certainly not carried out."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        async with _open(kind, url) as round_tripper:
            with pytest.raises(Unreachable, match=url):
                await _post(round_tripper)
            with pytest.raises(Unreachable, match=url):
                await round_tripper.open_stream("/w", None, 5.0)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 201 Cre", sized(b"whole body")[:-3], CHUNKED_HEAD + chunk(b"one"), b"no http at all\r\n\r\n"],
)
async def test_connection_cut_before_the_answers_end_is_a_lost_answer(kind: Kind, answer: bytes) -> None:
    """A write whose answer breaks off may have been carried out, and is sent once."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        with pytest.raises(AnswerLost):
            await _post(round_tripper)
        assert len(server.requests) == 1


async def test_silent_server_is_a_lost_answer(kind: Kind) -> None:
    """A call without an answer ends after the time agreed, and its place is free again."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/silent":
            await asyncio.get_running_loop().create_future()
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=1, timeout_seconds=0.2) as opened:
        with pytest.raises(AnswerLost):
            await _post(opened, "/silent")
        assert (await _post(opened)).body == b"ok"


async def test_slow_answer_that_moves_is_no_lost_answer(kind: Kind) -> None:
    """The time limit is on silence, not on the length of an answer."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED_HEAD)
        for _ in range(8):
            writer.write(chunk(b"x"))
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(chunk(b""))

    async with LoopbackServer(respond) as server, _open(kind, server.url, timeout_seconds=0.5) as round_tripper:
        assert (await _get(round_tripper)).body == b"x" * 8


async def test_cancelled_call_frees_its_place(kind: Kind) -> None:
    """A call that its caller gives up closes its connection and lets the next one go."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/stuck":
            await asyncio.get_running_loop().create_future()
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=1) as round_tripper:
        stuck = asyncio.create_task(_post(round_tripper, "/stuck"))
        await server.arrived(1)
        waiting = asyncio.create_task(_post(round_tripper, "/never"))
        following = asyncio.create_task(_post(round_tripper, "/next"))
        await asyncio.sleep(0.02)
        waiting.cancel()
        stuck.cancel()
        assert (await following).body == b"ok"
        assert [request.target for request in server.requests] == ["/stuck", "/next"]
        await asyncio.gather(stuck, waiting, return_exceptions=True)


async def test_cancelled_just_when_its_place_came(kind: Kind) -> None:
    """A place that is given to a call at the moment it is cancelled passes on to the next."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=1) as round_tripper:

        async def post_then_cancel() -> None:
            await _post(round_tripper)
            waiting.cancel()

        first = asyncio.create_task(post_then_cancel())
        await server.arrived(1)
        waiting = asyncio.create_task(_post(round_tripper, "/never"))
        following = asyncio.create_task(_post(round_tripper, "/next"))
        assert (await asyncio.wait_for(following, 5)).body == b"ok"
        await asyncio.gather(first, waiting, return_exceptions=True)
        assert [request.target for request in server.requests] == ["/p", "/next"]


async def test_stream_brings_what_comes_as_it_comes(kind: Kind) -> None:
    """A streamed answer is read piece by piece, while the server still writes, until its end."""
    goes_on = asyncio.Event()

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED_HEAD + chunk(b"one\n"))
        await writer.drain()
        await goes_on.wait()
        writer.write(chunk(b"two\n") + chunk(b""))

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        stream = await round_tripper.open_stream("/w?watch=true", "Bearer t", 10.0)
        assert stream.status == 200
        assert await stream.read() == b"one\n"
        goes_on.set()
        assert await stream.read() == b"two\n"
        assert await stream.read() == b""
        stream.close()
        assert server.requests[0].headers["authorization"] == "Bearer t"


async def test_refused_stream_shows_status_and_body(kind: Kind) -> None:
    """A refusal of a stream can be read like any answer."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(sized(b"too old", "410 Gone", "Retry-After: 2"))

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        stream = await round_tripper.open_stream("/w", None, 10.0)
        assert (stream.status, stream.retry_after, await stream.read()) == (410, "2", b"too old")
        stream.close()


async def test_cut_stream_is_a_lost_answer_after_what_came(kind: Kind) -> None:
    """What came before a cut is handed out first."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED_HEAD + chunk(b"one\n"))
        await writer.drain()
        writer.close()

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        stream = await round_tripper.open_stream("/w", None, 10.0)
        assert await stream.read() == b"one\n"
        with pytest.raises(AnswerLost):
            await stream.read()
        stream.close()


@pytest.mark.parametrize("head", [b"", CHUNKED_HEAD + chunk(b"one\n")])
async def test_silent_stream_is_a_lost_answer(kind: Kind, head: bytes) -> None:
    """A stream on which nothing comes for the time agreed is given up, before its head and after."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await writer.drain()
        await asyncio.get_running_loop().create_future()

    async def read_all(round_tripper: RoundTripper) -> None:
        stream = await round_tripper.open_stream("/w", None, 0.2)
        try:
            while await stream.read():
                pass
        finally:
            stream.close()

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        with pytest.raises(AnswerLost):
            await read_all(round_tripper)


async def test_streams_are_not_counted_among_calls(kind: Kind) -> None:
    """Watches that stay open for minutes take no call's place."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/w":
            writer.write(CHUNKED_HEAD + chunk(b"one\n"))
            await writer.drain()
            await asyncio.get_running_loop().create_future()
        writer.write(sized(b"ok"))

    async with LoopbackServer(respond) as server, _open(kind, server.url, max_calls=1) as round_tripper:
        streams = [await round_tripper.open_stream("/w", None, 10.0) for _ in range(3)]
        assert (await _post(round_tripper)).body == b"ok"
        for stream in streams:
            stream.close()


async def test_slow_reader_holds_the_server_back(kind: Kind) -> None:
    """A stream that is not read fills no memory: the server has to wait, and nothing is lost."""
    total = 64 << 20
    piece = b"x" * (1 << 20)
    written = 0

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(CHUNKED_HEAD)
        while written < total:
            writer.write(chunk(piece))
            written += len(piece)
            await writer.drain()
        writer.write(chunk(b""))

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        stream = await round_tripper.open_stream("/w", None, 10.0)
        received = len(await stream.read())
        await asyncio.sleep(0.3)
        assert written < total / 2
        while read := await stream.read():
            received += len(read)
        stream.close()
        assert received == total


async def test_close_ends_what_is_under_way(kind: Kind) -> None:
    """Calls and streams under way end in AnswerLost when the connections are closed."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/w":
            writer.write(CHUNKED_HEAD + chunk(b"one\n"))
            await writer.drain()
        await asyncio.get_running_loop().create_future()

    async with LoopbackServer(respond) as server, _open(kind, server.url) as round_tripper:
        call = asyncio.create_task(_post(round_tripper))
        stream = await round_tripper.open_stream("/w", None, 10.0)
        await stream.read()
        await server.arrived(2)
        reading = asyncio.create_task(stream.read())
        await asyncio.sleep(0.02)
        await round_tripper.close()
        with pytest.raises(AnswerLost):
            await call
        with pytest.raises(AnswerLost):
            await reading
        stream.close()


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """A certificate authority and a server certificate for 127.0.0.1."""
    return Certificates(tmp_path)


def _tls(ca_file: Path | None, *, verify: bool = True) -> Tls:
    return Tls.read(None if ca_file is None else str(ca_file), None, None, verify)


async def test_tls_with_a_trusted_server(kind: Kind, certificates: Certificates) -> None:
    """Calls and streams go over TLS when the server's certificate is of the given authority."""
    async with LoopbackServer(_echo, certificates.server_context()) as server:
        credentials = _credentials(server.url, _tls(certificates.ca_file))
        async with _open(kind, credentials) as round_tripper:
            assert (await _post(round_tripper, body=b"secret")).body == b"secret"
            stream = await round_tripper.open_stream("/w", None, 5.0)
            assert await stream.read() == b"/w"
            stream.close()


async def test_tls_refuses_an_unknown_server(kind: Kind, certificates: Certificates) -> None:
    """A server of an unknown authority, or of another name, is not talked to, and the error says what to check."""
    async with LoopbackServer(_echo, certificates.server_context()) as server:
        for credentials in (
            _credentials(server.url, _tls(None)),
            _credentials(server.url, _tls(certificates.ca_file), "other.test"),
        ):
            async with _open(kind, credentials) as round_tripper:
                with pytest.raises(Unreachable, match=r"not trusted.*tls-server-name"):
                    await _post(round_tripper)
        assert server.requests == []


async def test_tls_server_name_and_insecure(kind: Kind, certificates: Certificates) -> None:
    """The name to expect can be set, and checking can be switched off."""
    async with LoopbackServer(_echo, certificates.server_context()) as server:
        for credentials in (
            _credentials(server.url, _tls(certificates.ca_file), "kubernetes.default.svc"),
            _credentials(server.url, _tls(None, verify=False)),
        ):
            async with _open(kind, credentials) as round_tripper:
                assert (await _post(round_tripper)).status == 200


async def test_new_certificates_mean_new_connections(kind: Kind, certificates: Certificates) -> None:
    """Connections made before the certificates were renewed are not used afterwards."""
    async with LoopbackServer(_echo, certificates.server_context()) as server:
        credentials = _credentials(server.url, _tls(certificates.ca_file))
        async with _open(kind, credentials) as round_tripper:
            await _post(round_tripper)
            credentials.ssl_context = _tls(certificates.ca_file).context()
            await _post(round_tripper)
            await _post(round_tripper)
            assert server.connections == 2


async def test_http_proxy_is_gone_through() -> None:
    """With a proxy the call goes to it and names the server's whole URL, and the gate is asked all the same."""
    asked: list[str] = []

    def gate(method: str, target: str) -> bool:
        asked.append(target)
        return target != "/held"

    async with LoopbackServer(_echo) as proxy:
        first = LoadedCredential("http://api.invalid:6443", None, None, None, proxy.url, None)
        async with _open(AiohttpRoundTripper, Credentials(lambda: first, first), gate=gate) as round_tripper:
            assert (await _post(round_tripper, "/api", b"{}")).status == 200
            with pytest.raises(Fenced):
                await _post(round_tripper, "/held", b"{}")
        assert [request.target for request in proxy.requests] == ["http://api.invalid:6443/api"]
        assert asked == ["/api", "/held"]


async def test_uvloop_drives_both(kind: Kind, certificates: Certificates) -> None:
    """The same over uvloop, on which the scheduler runs: calls, streams, timeouts and close over TLS."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/silent":
            await asyncio.get_running_loop().create_future()
        await _echo(request, writer)

    async def scenario() -> None:
        async with LoopbackServer(respond, certificates.server_context()) as server:
            credentials = _credentials(server.url, _tls(certificates.ca_file))
            async with _open(kind, credentials, timeout_seconds=0.2) as round_tripper:
                answers = await asyncio.gather(*(_post(round_tripper, body=b"%d" % n) for n in range(50)))
                assert [answer.body for answer in answers] == [b"%d" % n for n in range(50)]
                with pytest.raises(AnswerLost):
                    await _post(round_tripper, "/silent")
                stream = await round_tripper.open_stream("/w", None, 5.0)
                assert await stream.read() == b"/w"
                stream.close()

    await asyncio.to_thread(uvloop.run, scenario())

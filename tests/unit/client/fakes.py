"""Stand-ins for what the client is given: a server, waiting, counting. Nothing here does I/O or takes time."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from scheduler.client.credentials import Credentials, LoadedCredential
from scheduler.client.round_tripper import RawResponse
from scheduler.testing.clock import FakeClock


class Sent(NamedTuple):
    """One request that reached the fake server."""

    method: str
    target: str
    authorization: str | None
    content_type: str | None
    body: bytes | None


class FakeStream:
    """A streamed answer that brings the chunks given and then ends, or fails with the fault given."""

    def __init__(self, status: int, chunks: Iterable[bytes], fault: Exception | None = None) -> None:
        self.status = status
        self.retry_after: str | None = None
        self.closed = False
        self._chunks = iter(chunks)
        self._fault = fault

    async def read(self) -> bytes:
        chunk = next(self._chunks, None)
        if chunk is not None:
            return chunk
        if self._fault is not None:
            raise self._fault
        return b""

    def close(self) -> None:
        self.closed = True


Answer = RawResponse | Exception
Server = Callable[[Sent], Answer]


class FakeRoundTripper:
    """Answers calls by asking `server`, and streams from `streams`, one after the other."""

    def __init__(self, server: Server, streams: Iterable[FakeStream | Exception] = ()) -> None:
        self.sent: list[Sent] = []
        self.streamed: list[Sent] = []
        self.closed = False
        self._server = server
        self._streams = iter(streams)

    async def call(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> RawResponse:
        sent = Sent(method, target, authorization, content_type, body)
        self.sent.append(sent)
        answer = self._server(sent)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def open_stream(self, target: str, authorization: str | None, idle_seconds: float) -> FakeStream:
        self.streamed.append(Sent("GET", target, authorization, None, None))
        stream = next(self._streams, None)
        if stream is None:
            # Nothing more is scripted: a watch on which nothing happens.
            await asyncio.get_running_loop().create_future()
            raise AssertionError
        if isinstance(stream, Exception):
            raise stream
        return stream

    async def close(self) -> None:
        self.closed = True


class RecordingSleep:
    """Takes no time of ours, but moves the clock; remembers how long it was asked to wait."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.slept: list[float] = []
        self._clock = clock or FakeClock()

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._clock.advance(seconds)
        await asyncio.sleep(0)


class Counts:
    """Counts for every recorder the client asks for."""

    def __init__(self) -> None:
        self.observed: list[tuple[str, str, str, float]] = []
        self.malformed_kinds: list[str] = []
        self.failed_handlers: list[str] = []
        self.dropped_calls: list[str] = []
        self.failed_calls: list[str] = []

    def observe(self, verb: str, host: str, code: str, seconds: float) -> None:
        self.observed.append((verb, host, code, seconds))

    def malformed(self, kind: str) -> None:
        self.malformed_kinds.append(kind)

    def handler_failed(self, kind: str) -> None:
        self.failed_handlers.append(kind)

    def dropped(self, call_type: str) -> None:
        self.dropped_calls.append(call_type)

    def failed(self, call_type: str) -> None:
        self.failed_calls.append(call_type)


def loaded(authorization: str | None = "Bearer one", life_seconds: float | None = None) -> LoadedCredential:
    """A credential for a server over plain http."""
    return LoadedCredential("http://api.test:8080", authorization, None, None, None, life_seconds)


def credentials(*later: LoadedCredential, clock: Callable[[], float] | None = None) -> Credentials:
    """Credentials of which the first reading is `Bearer one`, and further readings are those given."""
    readings = iter(later)
    return Credentials(lambda: next(readings), loaded(), clock=clock or FakeClock().now)


def scripted(*answers: Answer) -> Server:
    """A server that gives these answers, the last one for ever."""
    following = itertools.chain(answers, itertools.repeat(answers[-1]))
    return lambda _: next(following)


def ok(body: bytes = b"{}", status: int = 200) -> RawResponse:
    """A success."""
    return RawResponse(status, None, body)


def refusal(status: int, reason: str, message: str = "no", retry_after: str | None = None) -> RawResponse:
    """A refusal with a Status object, as the API server writes it."""
    body = f'{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","reason":"{reason}"}}'
    return RawResponse(status, retry_after, body.encode())


async def settle(turns: int = 20) -> None:
    """Lets tasks that can go on do so."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def finished(task: Awaitable[object]) -> None:
    """Waits for a task that was cancelled."""
    await asyncio.gather(task, return_exceptions=True)

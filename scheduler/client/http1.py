"""HTTP/1.1 round tripper on asyncio protocols: what calls and watches go through unless a proxy is in the way.

Written by us because a call through a general client costs several times as much CPU, and two calls a pod are most of
what scheduling a pod costs. One request at a time on a connection:

  (new) ──open──► IDLE ──request written──► BUSY ──whole answer──► IDLE      (or closed if the peer wants that)
                                              └── cut, overdue, cancelled ──► closed
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from typing import TypeVar, cast
from urllib.parse import urlsplit

from scheduler.client.credentials import Credentials
from scheduler.client.errors import AnswerLost, Fenced, Unreachable
from scheduler.client.http1_parser import ProtocolError, ResponseParser
from scheduler.client.round_tripper import Gate, RawResponse

_STREAM_HIGH_WATER_BYTES = 1 << 20
# How long the kernel may wait for a peer to acknowledge, sending or idle, before it gives the connection up.
_PEER_LOST_SECONDS = 20
_CLOSED = "connection closed"

C = TypeVar("C", bound="_Connection")


class _Connection(asyncio.Protocol):
    """What calls and streams have in common: the socket's life."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.lost = loop.create_future()
        self.context: ssl.SSLContext | None = None
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._aborted = False
        self._parser = ResponseParser()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's do not inherit from it
        raw: socket.socket = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PEER_LOST_SECONDS)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _PEER_LOST_SECONDS * 1000)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(_CLOSED if exc is None else f"{_CLOSED}: {exc}")
        if not self.lost.done():
            self.lost.set_result(None)

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._aborted and not self._transport.is_closing()

    def abort(self, why: str = _CLOSED) -> None:
        """Closes without waiting for the peer; what is under way fails for the reason given."""
        self._fail(why)
        if self._transport is not None and not self._aborted:
            # Not at once: this may be a callback of the transport, which would go on using what it closed.
            self._loop.call_soon(self._transport.abort)
        self._aborted = True

    def _write(self, request: bytes) -> None:
        assert self._transport is not None
        self._transport.write(request)

    def _fail(self, why: str) -> None:
        raise NotImplementedError


class _CallConnection(_Connection):
    """Carries one call after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: asyncio.Future[RawResponse] | None = None
        self._pieces: list[bytes] = []
        self._timeout_seconds = 0.0
        self._deadline = 0.0

    def exchange(self, request: bytes, timeout_seconds: float) -> asyncio.Future[RawResponse]:
        """Writes the request; the future brings its answer or AnswerLost."""
        self._parser = ResponseParser()
        self._pieces = []
        self._timeout_seconds = timeout_seconds
        self._deadline = self._loop.time() + timeout_seconds
        self._answer = answer = self._loop.create_future()
        self._write(request)
        return answer

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()
            return
        try:
            piece = self._parser.feed(data)
        except ProtocolError as error:
            self.abort(str(error))
            return
        if self._parser.done:
            self._finish(piece)
        else:
            self._pieces.append(piece)
            self._deadline = self._loop.time() + self._timeout_seconds

    def eof_received(self) -> None:
        self._parser.end_of_stream()
        if self._parser.done and self._answer is not None:
            self._finish(b"")

    def check_deadline(self, now: float) -> None:
        """Gives up a call whose answer has not moved for the time agreed."""
        if self._answer is not None and now > self._deadline:
            self.abort(f"no answer for {self._timeout_seconds:g} s")

    def _finish(self, last_piece: bytes) -> None:
        parser, answer = self._parser, self._answer
        self._answer = None
        if not parser.keep_alive and self._transport is not None:
            self._transport.close()
        body = b"".join((*self._pieces, last_piece)) if self._pieces else last_piece
        self._pieces = []
        if answer is not None and not answer.done():
            answer.set_result(RawResponse(parser.status, parser.retry_after, body))

    def _fail(self, why: str) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(AnswerLost(why))


class _StreamConnection(_Connection):
    """Carries one streamed answer; a `ResponseStream`."""

    def __init__(self, idle_seconds: float) -> None:
        super().__init__()
        self.status = 0
        self.retry_after: str | None = None
        self._idle_seconds = idle_seconds
        self._chunks: deque[bytes] = deque()
        self._buffered_bytes = 0
        self._paused = False
        self._fault: AnswerLost | None = None
        self._reader: asyncio.Future[None] | None = None

    async def start(self, request: bytes) -> None:
        """Writes the request and waits for the head of the answer."""
        self._write(request)
        while not self.status:
            await self._wait_for_data()
            if self._fault is not None:
                raise self._fault

    async def read(self) -> bytes:
        while not self._chunks:
            if self._parser.done:
                return b""
            if self._fault is not None:
                raise self._fault
            await self._wait_for_data()
        data = b"".join(self._chunks) if len(self._chunks) > 1 else self._chunks[0]
        self._chunks.clear()
        self._buffered_bytes = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        self.abort()

    def data_received(self, data: bytes) -> None:
        if self._aborted:
            return
        try:
            piece = self._parser.feed(data)
        except ProtocolError as error:
            self.abort(str(error))
            return
        self.status = self._parser.status if self._parser.status >= 200 else 0
        self.retry_after = self._parser.retry_after
        if piece:
            self._chunks.append(piece)
            self._buffered_bytes += len(piece)
            if self._buffered_bytes > _STREAM_HIGH_WATER_BYTES and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._parser.end_of_stream()
        self._wake()

    async def _wait_for_data(self) -> None:
        self._reader = self._loop.create_future()
        timer = self._loop.call_later(self._idle_seconds, self.abort, f"stream silent for {self._idle_seconds:g} s")
        try:
            await self._reader
        finally:
            timer.cancel()
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _fail(self, why: str) -> None:
        if self._fault is None:
            self._fault = AnswerLost(why)
        self._wake()


class Http1RoundTripper:
    """A `RoundTripper` with a pool of connections for calls and one connection for each stream.

    `max_calls` bounds the calls in flight, and so the pool. `timeout_seconds` is the longest time in which an answer
    makes no progress, checked once a second; `connect_timeout_seconds` covers name, TCP and TLS.
    """

    def __init__(
        self,
        credentials: Credentials,
        user_agent: str,
        *,
        max_calls: int,
        timeout_seconds: float,
        connect_timeout_seconds: float,
        gate: Gate | None,
    ) -> None:
        address = urlsplit(credentials.server)
        self._credentials = credentials
        self._host = address.hostname or ""
        self._port = address.port or (443 if address.scheme == "https" else 80)
        self._prefix = address.path.rstrip("/")
        self._common = (
            f" HTTP/1.1\r\nHost: {address.netloc.rpartition('@')[2]}\r\nUser-Agent: {user_agent}\r\n"
            "Accept: application/json\r\n"
        )
        self._authorization: str | None = None
        self._headers = self._common
        self._max_calls = max_calls
        self._timeout_seconds = timeout_seconds
        self._connect_timeout_seconds = connect_timeout_seconds
        self._gate = gate
        self._calls_in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._idle: list[_CallConnection] = []
        self._busy: set[_CallConnection] = set()
        self._streams: set[_StreamConnection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def call(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> RawResponse:
        """See `RoundTripper.call`."""
        request = self._request(method, target, authorization, content_type, body)
        await self._take_slot()
        try:
            connection = self._pop_idle() or await self._open_call()
            try:
                self._ask_gate(method, target)
                self._busy.add(connection)
                response = await connection.exchange(request, self._timeout_seconds)
            except BaseException:
                connection.abort()
                raise
            finally:
                self._busy.discard(connection)
            if connection.usable:
                self._idle.append(connection)
            return response
        finally:
            self._give_slot()

    async def open_stream(self, target: str, authorization: str | None, idle_seconds: float) -> _StreamConnection:
        """See `RoundTripper.open_stream`."""
        request = self._request("GET", target, authorization, None, None)
        stream = await self._open(_StreamConnection(idle_seconds))
        self._streams.add(stream)
        stream.lost.add_done_callback(lambda _: self._streams.discard(stream))
        try:
            await stream.start(request)
        except BaseException:
            stream.close()
            raise
        return stream

    async def close(self) -> None:
        """See `RoundTripper.close`."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        connections: list[_Connection] = [*self._idle, *self._busy, *self._streams]
        self._idle.clear()
        for connection in connections:
            connection.abort("transport closed")
        if connections:
            await asyncio.wait([connection.lost for connection in connections])

    def _ask_gate(self, method: str, target: str) -> None:
        if self._gate is not None and method != "GET" and not self._gate(method, target):
            raise Fenced(f"{method} {target} not sent: this process must not write now")

    def _request(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> bytes:
        """The request's bytes, its body included."""
        if authorization is not self._authorization:
            self._authorization = authorization
            self._headers = self._common + (f"Authorization: {authorization}\r\n" if authorization else "")
        if method == "GET":
            return f"{method} {self._prefix}{target}{self._headers}\r\n".encode("ascii")
        body = body or b""
        kind = f"Content-Type: {content_type}\r\n" if content_type else ""
        head = f"{method} {self._prefix}{target}{self._headers}{kind}Content-Length: {len(body)}\r\n\r\n"
        return head.encode("ascii") + body

    async def _take_slot(self) -> None:
        if self._calls_in_flight < self._max_calls:
            self._calls_in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_slot()
            raise

    def _give_slot(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)  # the slot passes on, the count stays
                return
        self._calls_in_flight -= 1

    def _pop_idle(self) -> _CallConnection | None:
        """The connection used last; those that were closed, or made before the certificates changed, are dropped."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                if connection.context is self._credentials.ssl_context:
                    return connection
                connection.abort()
        return None

    async def _open_call(self) -> _CallConnection:
        if self._sweeper is None:
            self._sweep()
        return await self._open(_CallConnection())

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in tuple(self._busy):
            connection.check_deadline(now)
        self._sweeper = loop.call_later(min(1.0, self._timeout_seconds / 4), self._sweep)

    async def _open(self, connection: C) -> C:
        context = self._credentials.ssl_context
        name = (self._credentials.tls_server_name or self._host) if context is not None else None
        connection.context = context
        try:
            async with asyncio.timeout(self._connect_timeout_seconds):
                await asyncio.get_running_loop().create_connection(
                    lambda: connection, self._host, self._port, ssl=context, server_hostname=name
                )
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the certificate of {self._credentials.server} is not trusted ({error.verify_message}); "
                "check `certificate-authority` and `tls-server-name`"
            ) from error
        except OSError as error:
            text = str(error) or f"no connection within {self._connect_timeout_seconds:g} s"
            raise Unreachable(f"cannot connect to {self._credentials.server}: {text}") from error
        if self._closed:
            connection.abort()
            raise Unreachable("transport closed")
        return connection

"""A server on loopback that says exactly the bytes a test wants, to see what a client makes of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self


class Request(NamedTuple):
    """One request as it came; header names are lower-cased. `connection` numbers the connections from 0."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


Respond = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class LoopbackServer:
    """Reads HTTP/1.1 requests and lets `respond` write the answer; use it as an async context manager."""

    def __init__(self, respond: Respond, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._respond = respond
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        scheme = "http" if self._context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def arrived(self, count: int) -> None:
        """Waits until so many requests have come."""
        async with asyncio.timeout(10):
            while len(self.requests) < count:  # noqa: ASYNC110 - the server is a test's, the wait is short
                await asyncio.sleep(0.005)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number = self.connections
        self.connections += 1
        try:
            while True:
                request = await _read_request(reader, number)
                self.requests.append(request)
                await self._respond(request, writer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            writer.transport.abort()
            self._tasks.discard(task)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body, connection)


def sized(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer with its length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunk(body: bytes) -> bytes:
    """One chunk; the empty one ends the body."""
    return b"%x\r\n%b\r\n" % (len(body), body)


CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

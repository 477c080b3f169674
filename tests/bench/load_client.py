"""A client that costs as little as can be: it makes the load, and measures what the API server itself can do.

Answers are checked for their status and thrown away, so it asks for the short form of objects.
"""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self, cast

import msgspec

from tests.bench.endpoint import Endpoint
from tests.bench.errors import BenchError

_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length: "
# Encoded JSON holds no line break, so that a body cannot contain this.
_LAST_CHUNK = b"\r\n0\r\n\r\n"


class LoadClient:
    """Sends requests over connections that are kept, one request at a time on each. An asynchronous context manager."""

    def __init__(self, endpoint: Endpoint, connections: int = 32) -> None:
        self._endpoint = endpoint
        self._free: asyncio.LifoQueue[_Connection] = asyncio.LifoQueue()
        self._connections: list[_Connection] = []
        self._connection_count = connections

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        context = self._endpoint.context()
        for _ in range(self._connection_count):
            _, connection = await loop.create_connection(
                _Connection, self._endpoint.host, self._endpoint.port, ssl=context
            )
            self._connections.append(connection)
            self._free.put_nowait(connection)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections:
            connection.close()

    def encode(self, method: str, target: str, body: Any, content_type: str = "application/json") -> bytes:
        """A request with a JSON body, ready to be sent as often as wanted."""
        content = msgspec.json.encode(body)
        head = self._endpoint.request_head(method, target, "1.1", _METADATA_ONLY)
        return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content

    async def send(self, request: bytes) -> None:
        """Send the request when a connection is free and await the answer. Raises BenchError when it is a refusal."""
        connection = await self._free.get()
        answer = await connection.exchange(request)
        self._free.put_nowait(connection)
        if not answer.startswith(b"HTTP/1.1 2"):
            target = request.partition(b" HTTP/")[0].decode()
            text = answer.partition(_END_OF_HEAD)[2].decode(errors="replace").strip()
            raise BenchError(f"{target} was answered {answer[9:12].decode(errors='replace')}: {text}")

    async def send_all(self, requests: Iterable[bytes]) -> None:
        """Send all requests, over all connections at once; the first failure is raised."""
        remaining = iter(requests)

        async def work() -> None:
            for request in remaining:
                await self.send(request)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._connection_count):
                    group.create_task(work())
        except ExceptionGroup as failures:
            raise first_failure(failures) from failures


def first_failure(failures: ExceptionGroup) -> Exception:
    """The first of the failures of a task group that is not a group itself."""
    failure = failures.exceptions[0]
    return first_failure(failure) if isinstance(failure, ExceptionGroup) else failure


class _Connection(asyncio.Protocol):
    """One connection: idle --exchange--> waiting for the answer --complete--> idle."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not derived from asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._answer is not None and not self._answer.done() and is_whole_answer(self._received):
            self._answer.set_result(bytes(self._received))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError(f"the API server closed a connection in use: {error}"))

    async def exchange(self, request: bytes) -> bytes:
        """Send one request and return the whole answer."""
        if self._transport is None:
            raise BenchError("the API server closed an idle connection")
        self._received.clear()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Close the connection, at once."""
        if self._transport is not None:
            self._transport.abort()


def is_whole_answer(received: bytes | bytearray) -> bool:
    """Whether the bytes are a complete HTTP answer, of known length or in chunks."""
    head_length = received.find(_END_OF_HEAD)
    if head_length < 0:
        return False
    head = received[:head_length].lower()
    at = head.find(_LENGTH)
    if at < 0:
        return received.endswith(_LAST_CHUNK)
    length = int(head[at + len(_LENGTH) :].partition(b"\r\n")[0])
    return len(received) >= head_length + len(_END_OF_HEAD) + length

"""Calls to the API server: four verbs and a stream of lines.

A call goes through these steps, and through them again for each further try:

  client rate limit ──► connection ──► gate (writes) ──► sent ──► answer
                                                          ├── 2xx: Response
                                                          ├── 401: credential renewed, once more at once
                                                          ├── 429, 5xx, no answer: again as `Retry` allows
                                                          └── else: the ApiError of its class

`errors` draws the exceptions a call can end in.
"""

from __future__ import annotations

import asyncio
import random as random_module
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

from scheduler.client.aiohttp_round_tripper import AiohttpRoundTripper
from scheduler.client.backoff import Backoff
from scheduler.client.credentials import Credentials
from scheduler.client.errors import (
    AnswerLost,
    ApiError,
    RequestError,
    ServerError,
    TooManyRequests,
    Unreachable,
    api_error,
)
from scheduler.client.http1 import Http1RoundTripper
from scheduler.client.line_splitter import LineSplitter
from scheduler.client.rate_limit import TokenBucket
from scheduler.client.round_tripper import Gate, RawResponse, ResponseStream, RoundTripper

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

_FIRST_RETRY_SECONDS = 0.25
_LONGEST_RETRY_SECONDS = 8.0


_Answer = TypeVar("_Answer", RawResponse, ResponseStream)


class Retry(Enum):
    """When a call that failed is sent again."""

    NEVER = "never"
    """One try."""
    IF_NOT_CARRIED_OUT = "if not carried out"
    """Where the server cannot have acted on it: no connection, or 429. For writes that must not happen twice."""
    IF_IN_DOUBT = "if in doubt"
    """Also after 5xx and lost answers. For reads and for writes that do no harm when they are repeated."""


class Response(NamedTuple):
    """A 2xx answer: its code and its body, as bytes of JSON."""

    status: int
    body: bytes


class RequestRecorder(Protocol):
    """Where each try is counted: rest_client_requests_total and rest_client_request_duration_seconds."""

    def observe(self, verb: str, host: str, code: str, seconds: float) -> None:
        """Called on the loop after each try; `code` is the HTTP status, or "<error>" where there was no answer."""
        ...


class NoRequestRecorder:
    """Counts nothing; for tools that serve no metrics."""

    def observe(self, verb: str, host: str, code: str, seconds: float) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """What an operator can choose. `qps` None means no client limit; `tries` counts the first one."""

    max_calls: int = 80
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 10.0
    qps: float | None = None
    burst: int = 1
    tries: int = 6


def user_agent(identity: str) -> str:
    """The User-Agent of this replica: product, version and who it is; raises ValueError on what no header can hold."""
    if not identity.isascii() or not identity.isprintable():
        raise ValueError(f"identity {identity!r}: only printable ASCII can be sent as User-Agent")
    return f"podium/{version('podium-scheduler')} ({identity})"


def open_transport(
    credentials: Credentials,
    identity: str,
    settings: TransportSettings = TransportSettings(),
    recorder: RequestRecorder = NoRequestRecorder(),  # noqa: B008 - stateless
    gate: Gate | None = None,
) -> Transport:
    """The transport of a process; to be called on the running loop and closed on it. Opens no connection yet."""
    kind = Http1RoundTripper if credentials.proxy is None else AiohttpRoundTripper
    round_tripper = kind(
        credentials,
        user_agent(identity),
        max_calls=settings.max_calls,
        timeout_seconds=settings.timeout_seconds,
        connect_timeout_seconds=settings.connect_timeout_seconds,
        gate=gate,
    )
    return Transport(credentials, round_tripper, settings, recorder)


class Transport:
    """Calls to one API server as one user; used from any number of tasks of one loop.

    Paths start with `/`; names in them are Kubernetes names and need no encoding, `params` are encoded here.
    Each verb raises a `RequestError`, see `errors`.
    """

    def __init__(
        self,
        credentials: Credentials,
        round_tripper: RoundTripper,
        settings: TransportSettings = TransportSettings(),
        recorder: RequestRecorder = NoRequestRecorder(),  # noqa: B008 - stateless
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._credentials = credentials
        self._round_tripper = round_tripper
        self._recorder = recorder
        self._tries = settings.tries
        self._bucket = None if settings.qps is None else TokenBucket(settings.qps, settings.burst, clock)
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._host = urlsplit(credentials.server).netloc.rpartition("@")[2]

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, retry: Retry = Retry.IF_IN_DOUBT
    ) -> Response:
        """Reads an object or a list."""
        return await self._call("GET", _target(path, params), None, None, retry)

    async def post(self, path: str, body: bytes, retry: Retry = Retry.IF_NOT_CARRIED_OUT) -> Response:
        """Creates an object; a lost answer is not tried again unless `retry` says so."""
        return await self._call("POST", path, JSON, body, retry)

    async def patch(
        self,
        path: str,
        body: bytes,
        content_type: str = STRATEGIC_MERGE_PATCH,
        retry: Retry = Retry.IF_NOT_CARRIED_OUT,
    ) -> Response:
        """Changes parts of an object."""
        return await self._call("PATCH", path, content_type, body, retry)

    async def delete(self, path: str, body: bytes | None = None, retry: Retry = Retry.IF_NOT_CARRIED_OUT) -> Response:
        """Deletes an object; `body` is a DeleteOptions, for instance with the object's UID as a precondition."""
        return await self._call("DELETE", path, None if body is None else JSON, body, retry)

    async def stream(
        self, path: str, params: Mapping[str, str], idle_seconds: float
    ) -> AsyncGenerator[list[bytes], None]:
        """The lines of a watch, in the groups in which they arrive; one try, no client rate limit.

        Ends when the server ends the stream; a last line without its line end is dropped. Raises AnswerLost when the
        connection is cut or silent for `idle_seconds`. The caller closes the iterator (`contextlib.aclosing`).
        """
        target = _target(path, params)
        authorization = self._credentials.authorization()
        stream = await self._observed("GET", self._round_tripper.open_stream(target, authorization, idle_seconds))
        try:
            if stream.status == 401 and await self._credentials.renew_after_refusal(authorization):
                stream.close()
                authorization = self._credentials.authorization()
                stream = await self._observed(
                    "GET", self._round_tripper.open_stream(target, authorization, idle_seconds)
                )
            if stream.status != 200:
                raise api_error(stream.status, await _read_all(stream.read), stream.retry_after)
            splitter = LineSplitter()
            while chunk := await stream.read():
                if lines := splitter.feed(chunk):
                    yield lines
        finally:
            stream.close()

    async def close(self) -> None:
        """Closes all connections; what is under way ends in AnswerLost."""
        await self._round_tripper.close()

    async def _call(
        self, method: str, target: str, content_type: str | None, body: bytes | None, retry: Retry
    ) -> Response:
        failed = await self._try(method, target, content_type, body)
        if isinstance(failed, Response):
            return failed
        backoff = Backoff(_FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS, clock=self._clock, random=self._random)
        for _ in range(1, self._tries):
            if not _may_be_tried_again(failed, retry):
                raise failed
            asked_seconds = failed.retry_after_seconds if isinstance(failed, ApiError) else None
            await self._sleep((asked_seconds or 0.0) + backoff.next_seconds())
            failed = await self._try(method, target, content_type, body)
            if isinstance(failed, Response):
                return failed
        raise failed

    async def _try(
        self, method: str, target: str, content_type: str | None, body: bytes | None
    ) -> Response | RequestError:
        """One try, or two if the first one showed that the credential had to be renewed."""
        try:
            authorization = self._credentials.authorization()
            answer = await self._send(method, target, authorization, content_type, body)
            if answer.status == 401 and await self._credentials.renew_after_refusal(authorization):
                authorization = self._credentials.authorization()
                answer = await self._send(method, target, authorization, content_type, body)
        except (Unreachable, AnswerLost) as error:
            return error
        if 200 <= answer.status < 300:
            return Response(answer.status, answer.body)
        return api_error(answer.status, answer.body, answer.retry_after)

    async def _send(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> RawResponse:
        if self._bucket is not None and (wait_seconds := self._bucket.take()):
            await self._sleep(wait_seconds)
        return await self._observed(method, self._round_tripper.call(method, target, authorization, content_type, body))

    async def _observed(self, method: str, answer: Awaitable[_Answer]) -> _Answer:
        started = self._clock()
        try:
            result = await answer
        except (Unreachable, AnswerLost):
            self._recorder.observe(method, self._host, "<error>", self._clock() - started)
            raise
        self._recorder.observe(method, self._host, str(result.status), self._clock() - started)
        return result


def _may_be_tried_again(failed: RequestError, retry: Retry) -> bool:
    if retry is Retry.NEVER:
        return False
    if isinstance(failed, (Unreachable, TooManyRequests)):
        return True
    return retry is Retry.IF_IN_DOUBT and isinstance(failed, (AnswerLost, ServerError))


def _target(path: str, params: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(params)}" if params else path


async def _read_all(read: Callable[[], Awaitable[bytes]]) -> bytes:
    pieces = []
    while piece := await read():
        pieces.append(piece)
    return b"".join(pieces)

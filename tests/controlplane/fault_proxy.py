"""An HTTP proxy on loopback before the real API server that lets faults happen, by rule."""

import asyncio
import logging
import re
import ssl
import threading
import weakref
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import msgspec
from aiohttp import web
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from multidict import CIMultiDict
from yarl import URL

from tests.controlplane.client import Client
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.faults import (
    ActiveRule,
    CutAfterCommit,
    Delay,
    ExpireWatch,
    Fault,
    Hold,
    Refuse,
    RequestLine,
    Rewrite,
    Rule,
    RuleBook,
    SilentWatch,
    Truncate,
)
from tests.controlplane.ports import LOOPBACK, ReservedPort
from tests.controlplane.resources import Manifest

# Headers that concern one connection, or that the libraries set themselves.
_OWN_HEADERS = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding", "date"}
_LARGEST_BODY_BYTES = 16 << 20
_SHUTDOWN_SECONDS = 0.1
_POLL_SECONDS = 0.02
# The reasons the API server gives; 410 of a list or watch is Expired.
_REASONS = {
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.GATEWAY_TIMEOUT: "Timeout",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
}
_log = logging.getLogger(__name__)


@dataclass
class LoggedRequest:
    """A request the proxy has seen."""

    line: RequestLine
    user_agent: str
    status: int | None = None
    """What the client was answered; None while there is no answer and when the connection was cut."""
    faults: tuple[Fault, ...] = ()


class _Connector(aiohttp.TCPConnector):
    """Connections to the API server, each of which can be ended whatever became of the request that used it.

    One whose request was cancelled or cut short leaves aiohttp's care at once, but ends only when the server agrees:
    it may outlive the proxy's loop, and is then reported as forgotten.
    """

    def __init__(self, *, limit: int, ssl: ssl.SSLContext) -> None:
        super().__init__(limit=limit, ssl=ssl)
        self._transports: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  (the parameter is aiohttp's)
    ) -> Connection:
        """Remember the transport of each connection."""
        connection = await super().connect(req, traces, timeout)
        if connection.transport is not None:
            self._transports.add(connection.transport)
        return connection

    async def abort(self) -> None:
        """End all connections without a word to the server, also those still being opened."""
        await self.close(abort_ssl=True)
        for transport in list(self._transports):
            transport.abort()
        await asyncio.sleep(0)


class FaultProxy:
    """Passes requests to the control plane's API server, except where a rule says otherwise.

    It runs in a thread with a loop of its own, so that synchronous and asynchronous tests use it alike. An API server
    that cannot be reached shows as a cut connection.
    """

    def __init__(self, control_plane: ControlPlane, *, tls: bool = True, seed: int = 0) -> None:
        """`tls` concerns the client's side; the API server is always called over TLS. `seed` rolls probabilities."""
        self._control_plane = control_plane
        self._tls = tls
        self._rules = RuleBook(seed)
        self._requests: list[LoggedRequest] = []
        self._reserved_port = ReservedPort()
        self.port = self._reserved_port.number
        self.url = f"{'https' if tls else 'http'}://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Listen; returns when connections are accepted."""
        started: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="fault-proxy")
        self._thread.start()
        started.result()

    def stop(self) -> None:
        """Cut all connections and end."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._reserved_port.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def add(self, rule: Rule) -> ActiveRule:
        """Put a rule in force, also for watches that are running; its counts can be read from the result."""
        return self._rules.add(rule)

    def remove(self, active: ActiveRule) -> None:
        """End a rule."""
        self._rules.remove(active)

    def clear(self) -> None:
        """End all rules; the log of requests stays."""
        self._rules.clear()

    def requests(self, method: str = "", path: str = "", query: str = "") -> list[LoggedRequest]:
        """The requests seen so far that match the regular expressions, in order of arrival."""
        return [
            logged
            for logged in list(self._requests)
            if re.search(method, logged.line.method)
            and re.search(path, logged.line.path)
            and re.search(query, logged.line.query)
        ]

    def kubeconfig(self, user: User = User.ADMIN) -> Path:
        """A kubeconfig file of the user that leads to the proxy."""
        return self._control_plane.credentials.write_kubeconfig(user, self.url, f"fault-proxy-{self.port}")

    def client(self, user: User = User.ADMIN) -> Client:
        """A client of the proxy that acts as the user. The caller closes it."""
        context = self._control_plane.credentials.client_context() if self._tls else None
        return Client(self.port, self._control_plane.token(user), context)

    async def _serve(self, started: "Future[None]") -> None:
        credentials = self._control_plane.credentials
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        application = web.Application(client_max_size=_LARGEST_BODY_BYTES)
        application.router.add_route("*", "/{path:.*}", self._handle)
        # A silent watch ends when its client leaves, which only a cancelled handler learns.
        runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        connector = _Connector(limit=0, ssl=credentials.client_context())
        async with aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False
        ) as self._session:
            await runner.setup()
            try:
                await web.TCPSite(
                    runner, LOOPBACK, self.port, ssl_context=credentials.server_context() if self._tls else None
                ).start()
            except OSError as error:
                started.set_exception(error)
            else:
                started.set_result(None)
                await self._stopping.wait()
            finally:
                await runner.cleanup()
                await connector.abort()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        is_watch = request.query.get("watch") in ("1", "true")
        line = RequestLine(request.method, request.path, request.query_string, is_watch)
        logged = LoggedRequest(line, request.headers.get("User-Agent", ""))
        self._requests.append(logged)
        faults = self._rules.faults_of_request(line)
        logged.faults = tuple(faults)
        for fault in faults:
            match fault:
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Hold(released):
                    # It is set by a test, in a thread that knows nothing of this loop.
                    while not released.is_set():  # noqa: ASYNC110
                        await asyncio.sleep(_POLL_SECONDS)
                case Refuse(status, retry_after_seconds):
                    logged.status = status
                    return _refusal(status, retry_after_seconds)
        try:
            return await self._pass_on(request, logged)
        except (aiohttp.ClientError, OSError) as error:
            _log.info("cut %s %s: %r", line.method, line.path, error)
            return _cut(request)

    async def _pass_on(self, request: web.Request, logged: LoggedRequest) -> web.StreamResponse:
        """Let the server answer, and apply what happens to its answer."""
        target = URL(f"{self._control_plane.url}{request.raw_path}", encoded=True)
        # Uncompressed, so that an event is a line and half a body is half a JSON.
        headers = _forwarded(request.headers)
        headers["Accept-Encoding"] = "identity"
        body = await request.read()
        async with self._session.request(
            request.method, target, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            if logged.line.is_watch and answer.status == HTTPStatus.OK:
                return await self._stream(request, answer, logged)
            content = await answer.read()
            if CutAfterCommit() in logged.faults:
                return _cut(request)
            for fault in logged.faults:
                if isinstance(fault, Rewrite):
                    content = _rewritten(content, fault)
            logged.status = answer.status
            response = web.StreamResponse(status=answer.status, headers=_forwarded(answer.headers))
            truncation = next((fault for fault in logged.faults if isinstance(fault, Truncate)), None)
            sent = content if truncation is None else content[: len(content) // 2]
            response.content_length = len(content) if truncation and not truncation.clean_end else len(sent)
            await response.prepare(request)
            await response.write(sent)
            return response if len(sent) == response.content_length else _cut(request, response)

    async def _stream(
        self, request: web.Request, answer: aiohttp.ClientResponse, logged: LoggedRequest
    ) -> web.StreamResponse:
        """Pass on a watch event by event."""
        logged.status = answer.status
        response = web.StreamResponse(status=answer.status, headers=_forwarded(answer.headers))
        response.enable_chunked_encoding()
        await response.prepare(request)
        async for event in _lines(answer.content):
            fault = self._rules.fault_of_event(logged.line)
            if fault is None:
                await response.write(event)
                continue
            logged.faults += (fault,)
            match fault:
                case Rewrite():
                    await response.write(_rewritten(event, fault))
                    continue
                case SilentWatch():
                    await asyncio.Event().wait()
                case ExpireWatch():
                    status = _status(HTTPStatus.GONE, "too old resource version")
                    await response.write(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n")
                case Truncate(clean_end):
                    await response.write(event[: len(event) // 2])
                    if not clean_end:
                        return _cut(request, response)
            break
        return response


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines of any length, with their line end, and what stands after the last one."""
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def _rewritten(json: bytes, rewrite: Rewrite) -> bytes:
    return json.replace(rewrite.old.encode(), rewrite.new.encode())


def _forwarded(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OWN_HEADERS)


def _cut(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """Close the client's connection after what is written; aiohttp wants a response nevertheless."""
    if request.transport is not None:
        request.transport.close()
    return response or web.Response()


def _refusal(status: HTTPStatus, retry_after_seconds: int | None) -> web.Response:
    headers = {} if retry_after_seconds is None else {"Retry-After": str(retry_after_seconds)}
    body = msgspec.json.encode(_status(status, f"refused by the fault proxy: {status.phrase}"))
    return web.Response(status=status, headers=headers, body=body, content_type="application/json")


def _status(status: HTTPStatus, message: str) -> Manifest:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(status, ""),
        "code": status,
    }

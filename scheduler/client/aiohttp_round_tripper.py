"""Round tripper on aiohttp, for clusters behind an HTTP proxy (`proxy-url` or the environment's)."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from scheduler.client.credentials import Credentials
from scheduler.client.errors import AnswerLost, Fenced, Unreachable
from scheduler.client.round_tripper import Gate, RawResponse

_NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)
_STREAM_BUFFER_BYTES = 1 << 20


class _GatedConnector(aiohttp.TCPConnector):
    """Asks the gate when a write has got its connection; aiohttp writes the request next, without waiting again."""

    def __init__(self, gate: Gate | None) -> None:
        super().__init__(limit=0)
        self._gate = gate

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> Connection:
        """Overrides aiohttp's own; called once for each try to send a request."""
        connection = await super().connect(req, traces, timeout)
        if self._gate is not None and req.method != "GET" and not self._gate(req.method, req.url.raw_path_qs):
            connection.release()
            raise Fenced(f"{req.method} {req.url.raw_path_qs} not sent: this process must not write now")
        return connection


class _Stream:
    """A `ResponseStream` over an aiohttp response."""

    def __init__(self, response: aiohttp.ClientResponse, open_streams: set[_Stream]) -> None:
        self.status = response.status
        self.retry_after = response.headers.get("Retry-After")
        self._response = response
        self._open_streams = open_streams
        open_streams.add(self)

    async def read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise AnswerLost(f"stream cut: {error}") from error

    def close(self) -> None:
        self._open_streams.discard(self)
        self._response.close()


class AiohttpRoundTripper:
    """A `RoundTripper` on an aiohttp session.

    The parameters are those of `Http1RoundTripper`.
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
        self._credentials = credentials
        self._connect_timeout_seconds = connect_timeout_seconds
        self._limits = aiohttp.ClientTimeout(
            total=None, sock_connect=connect_timeout_seconds, sock_read=timeout_seconds
        )
        # Not the connector's own limit, which loses its turn when a call that waits for it is cancelled.
        self._slots = asyncio.Semaphore(max_calls)
        self._session = aiohttp.ClientSession(
            connector=_GatedConnector(gate),
            headers={"User-Agent": user_agent, "Accept": "application/json"},
            skip_auto_headers=("Accept-Encoding", "Content-Type"),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_STREAM_BUFFER_BYTES,
        )
        self._open_streams: set[_Stream] = set()

    async def call(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> RawResponse:
        """See `RoundTripper.call`."""
        try:
            async with (
                self._slots,
                await self._send(method, target, authorization, content_type, body, self._limits) as response,
            ):
                return RawResponse(response.status, response.headers.get("Retry-After"), await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise AnswerLost(f"no answer from {self._credentials.server}: {type(error).__name__} {error}") from error

    async def open_stream(self, target: str, authorization: str | None, idle_seconds: float) -> _Stream:
        """See `RoundTripper.open_stream`."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout_seconds, sock_read=idle_seconds)
        try:
            response = await self._send("GET", target, authorization, None, None, limits)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise AnswerLost(f"no answer from {self._credentials.server}: {type(error).__name__} {error}") from error
        return _Stream(response, self._open_streams)

    async def close(self) -> None:
        """See `RoundTripper.close`."""
        for stream in tuple(self._open_streams):
            stream.close()  # closing the session would leave a reader waiting
        await self._session.close()

    async def _send(
        self,
        method: str,
        target: str,
        authorization: str | None,
        content_type: str | None,
        body: bytes | None,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        headers = {} if authorization is None else {"Authorization": authorization}
        if content_type is not None:
            headers["Content-Type"] = content_type
        credentials = self._credentials
        try:
            return await self._session.request(
                method,
                URL(credentials.server + target, encoded=True),
                data=body,
                headers=headers,
                ssl=True if credentials.ssl_context is None else credentials.ssl_context,
                server_hostname=credentials.tls_server_name,
                proxy=credentials.proxy,
                timeout=limits,
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise Unreachable(
                f"the certificate of {credentials.server} is not trusted ({error.certificate_error}); "
                "check `certificate-authority` and `tls-server-name`"
            ) from error
        except _NEVER_CONNECTED as error:
            raise Unreachable(f"cannot connect to {credentials.server}: {error}") from error

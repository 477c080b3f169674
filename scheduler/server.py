"""The HTTP side of a scheduler: health, metrics and the effective configuration.

It runs in a thread with an event loop of its own, so that health is answered while the scheduling loop is stuck; a
check says whether that loop still turns. What runs here on behalf of the scheduler (checks, gauges, configz) only
reads. A connection carries one request and has a deadline, and a new connection displaces the oldest when there are too
many: slow or silent clients cannot keep a probe out.

Paths: `/healthz`, `/livez`, `/readyz` (`?verbose`, `?exclude=name`, `/livez/name` for a single check), `/metrics`,
`/configz`.
"""

import asyncio
import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Final, cast

import msgspec
import structlog
from aiohttp import web

from scheduler.telemetry.logging import verbosity
from scheduler.telemetry.metrics import Metrics

MAXIMUM_CONNECTIONS: Final = 128
CONNECTION_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)

Check = Callable[[], str | None]
"""Gives None while all is well, else what is wrong. Called on the server's thread; must answer at once."""


class ServerError(Exception):
    """The server cannot listen; the text names address, cause and way out."""


class Endpoint(StrEnum):
    """The health endpoints: healthz is the old name of livez; readyz says whether the process does its work."""

    HEALTHZ = "healthz"
    LIVEZ = "livez"
    READYZ = "readyz"


ALL_ENDPOINTS: Final = frozenset(Endpoint)


class HealthChecks:
    """Named checks and how their results are told, in the words of Kubernetes' own health endpoints."""

    def __init__(self) -> None:
        self._checks: dict[str, tuple[Check, Collection[Endpoint]]] = {"ping": (lambda: None, ALL_ENDPOINTS)}

    def add(self, name: str, check: Check, endpoints: Collection[Endpoint] = ALL_ENDPOINTS) -> None:
        """Ask `check` under `name` at these endpoints from now on. Called while the process is put together."""
        if name in self._checks:
            raise ValueError(f"there is a health check named {name!r} already")
        self._checks[name] = (check, endpoints)

    def answer(self, endpoint: Endpoint, *, verbose: bool, excluded: Collection[str]) -> tuple[HTTPStatus, str]:
        """Ask every check of `endpoint` but the excluded ones.

        Returns:
            The HTTP status, 200 or 500, and the text: `ok`, or a line a check when `verbose` or when one failed.
        """
        lines: list[str] = []
        healthy = True
        checks = {name: check for name, (check, endpoints) in self._checks.items() if endpoint in endpoints}
        for name, check in checks.items():
            problem = None if name in excluded else check()
            healthy = healthy and problem is None
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            else:
                lines.append(f"[+]{name} ok" if problem is None else f"[-]{name} failed: {problem}")
        unknown = [name for name in excluded if name not in checks]
        if unknown:
            names = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if not healthy:
            return HTTPStatus.INTERNAL_SERVER_ERROR, "\n".join([*lines, f"{endpoint} check failed\n"])
        return HTTPStatus.OK, "\n".join([*lines, f"{endpoint} check passed\n"]) if verbose else "ok"

    def answer_one(self, endpoint: Endpoint, name: str) -> tuple[HTTPStatus, str]:
        """Ask the check `name` alone; 404 when `endpoint` has no such check."""
        check, endpoints = self._checks.get(name, (None, ()))
        if check is None or endpoint not in endpoints:
            return HTTPStatus.NOT_FOUND, f"{endpoint} has no check {name}\n"
        problem = check()
        if problem is None:
            return HTTPStatus.OK, "ok"
        return HTTPStatus.INTERNAL_SERVER_ERROR, f"{name} failed: {problem}\n"


class HttpServer:
    """A server at work; made by `start_server`. `port` is the one in use."""

    def __init__(
        self,
        listener: socket.socket,
        metrics: Metrics,
        checks: HealthChecks,
        configz: Callable[[], Mapping[str, object]],
    ) -> None:
        self.port: int = listener.getsockname()[1]
        self._metrics = metrics
        self._checks = checks
        self._configz = configz
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._scraping = asyncio.Lock()
        self._connections: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._thread = threading.Thread(target=self._run, args=(listener,), name="http-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close all connections and end the thread; blocks for as long, some seconds at most. Called once."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_SECONDS)

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        runner = web.AppRunner(self._application(), handle_signals=False, handler_cancellation=True)
        await runner.setup()
        manager = cast("web.Server", runner.server)
        server = await self._loop.create_server(
            lambda: _Connection(manager, self._loop, self._connections), sock=listener
        )
        await self._stopping.wait()
        server.close()
        for transport in list(self._connections):
            transport.abort()
        await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[_one_request_a_connection])
        application.router.add_get("/{endpoint:healthz|livez|readyz}", self._health)
        application.router.add_get("/{endpoint:healthz|livez|readyz}/{name}", self._health_of_one)
        application.router.add_get("/metrics", self._serve_metrics)
        application.router.add_get("/configz", self._serve_configz)
        return application

    async def _health(self, request: web.Request) -> web.Response:
        endpoint = Endpoint(request.match_info["endpoint"])
        excluded = [name for name in request.query.getall("exclude", []) if name]
        status, text = self._checks.answer(endpoint, verbose="verbose" in request.query, excluded=excluded)
        if status != HTTPStatus.OK and verbosity.level >= 2:
            log.info("Health check failed", endpoint=endpoint, checks=text.splitlines())
        return web.Response(status=status, text=text)

    async def _health_of_one(self, request: web.Request) -> web.Response:
        endpoint = Endpoint(request.match_info["endpoint"])
        status, text = self._checks.answer_one(endpoint, request.match_info["name"])
        return web.Response(status=status, text=text)

    async def _serve_metrics(self, request: web.Request) -> web.Response:
        # In a thread, lest health wait for it; one at a time, lest scrapes take the interpreter from the scheduler.
        async with self._scraping:
            accept = request.headers.get("Accept", "")
            body, content_type = await asyncio.to_thread(self._metrics.exposition, accept)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _serve_configz(self, _request: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(self._configz()), content_type="application/json")


def start_server(
    address: str,
    port: int,
    metrics: Metrics,
    checks: HealthChecks,
    configz: Callable[[], Mapping[str, object]],
) -> HttpServer:
    """Listen, and serve from now on until the server is stopped.

    Args:
        address: the IP address to listen on.
        port: the port; 0 takes a free one.
        metrics: what `/metrics` exposes.
        checks: what the health endpoints ask.
        configz: gives what `/configz` shows, as values that JSON has; called on the server's thread.

    Raises:
        ServerError: when the address cannot be listened on.
    """
    server = HttpServer(_listen(address, port), metrics, checks, configz)
    log.info("Serving HTTP", address=address, port=server.port)
    return server


@web.middleware
async def _one_request_a_connection(
    request: web.Request, handler: Callable[[web.Request], object]
) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)  # type: ignore[misc]
    except web.HTTPException as refusal:
        refusal.force_close()
        raise
    response.force_close()
    return response


class _Connection(web.RequestHandler):
    """A connection that is cut when its time is up, or when it is the oldest and another one needs its place."""

    __slots__ = ("_connections", "_own_transport")

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        connections: dict[asyncio.Transport, asyncio.TimerHandle],
    ) -> None:
        # aiohttp takes None for "no access log", whatever its annotation says.
        super().__init__(server, loop=loop, access_log=None)  # type: ignore[arg-type]
        self._connections = connections
        self._own_transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the connection."""
        super().connection_made(transport)
        opened = self._own_transport = cast("asyncio.Transport", transport)
        if len(self._connections) >= MAXIMUM_CONNECTIONS:
            oldest = next(iter(self._connections))
            self._connections.pop(oldest).cancel()
            oldest.abort()
        self._connections[opened] = self._loop.call_later(CONNECTION_SECONDS, opened.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the clock."""
        super().connection_lost(exc)
        clock = self._connections.pop(self._own_transport, None) if self._own_transport else None
        if clock is not None:
            clock.cancel()


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(MAXIMUM_CONNECTIONS)
    except OSError as error:
        listener.close()
        hint = {
            errno.EADDRINUSE: "choose another --metrics-port; 0 takes a free one",
            errno.EADDRNOTAVAIL: "choose an address of this machine with --bind-address",
            errno.EACCES: "choose a --metrics-port above 1023",
        }.get(error.errno or 0, "choose another --bind-address or --metrics-port")
        raise ServerError(f"cannot listen on {address} port {port}: {error.strerror} ({hint})") from error
    return listener

"""The HTTP server over real sockets: paths and formats, stuck loops, slow and rude clients, occupied ports."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from scheduler import server as server_module
from scheduler.server import HealthChecks, HttpServer, ServerError, start_server
from scheduler.telemetry.gauges import SchedulerGauges
from scheduler.telemetry.metrics import Metrics

ADDRESS = "127.0.0.1"


@pytest.fixture
def checks() -> HealthChecks:
    """Health checks that only know that they are asked."""
    return HealthChecks()


@pytest.fixture
def metrics() -> Metrics:
    """Metrics of a process that has done nothing."""
    return Metrics()


@pytest.fixture
def server(checks: HealthChecks, metrics: Metrics) -> Iterator[HttpServer]:
    """A server on a free port."""
    running = start_server(ADDRESS, 0, metrics, checks, lambda: {"componentconfig": {"parallelism": 16}})
    yield running
    running.stop()


def get(server: HttpServer, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    """Status, content type and body of one request."""
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()
    finally:
        connection.close()


def connected(server: HttpServer) -> socket.socket:
    """A connection on which nothing was said yet."""
    return socket.create_connection((ADDRESS, server.port), timeout=20)


def test_paths(server: HttpServer, checks: HealthChecks) -> None:
    """Health, a single check, configz, and what is not there."""
    checks.add("loop", lambda: "stuck")
    assert get(server, "/healthz?exclude=loop") == (200, "text/plain; charset=utf-8", "ok")
    assert get(server, "/livez/ping") == (200, "text/plain; charset=utf-8", "ok")
    status, _, text = get(server, "/readyz")
    assert status == 500
    assert text == "[+]ping ok\n[-]loop failed: stuck\nreadyz check failed\n"
    assert get(server, "/readyz?verbose&exclude=loop")[2].endswith("readyz check passed\n")
    assert get(server, "/configz") == (200, "application/json", '{"componentconfig":{"parallelism":16}}')
    assert get(server, "/livez/nothing")[0] == 404
    assert get(server, "/nothing")[0] == 404
    assert get(server, "/metrics", method="POST")[0] == 405
    assert get(server, "/livez/ping", method="HEAD")[0] == 200


def test_metrics_in_both_formats(server: HttpServer, metrics: Metrics) -> None:
    """Text by default, OpenMetrics when asked; gauges are read for each scrape."""
    metrics.watch_gauges(lambda: SchedulerGauges(active=5))
    status, content_type, text = get(server, "/metrics")
    assert (status, content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'scheduler_pending_pods{queue="active"} 5.0\n' in text
    _, content_type, text = get(server, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


async def test_health_is_answered_while_the_loop_is_stuck(server: HttpServer, checks: HealthChecks) -> None:
    """This coroutine blocks its loop on the answer, which comes nevertheless."""
    checks.add("loop", lambda: "has not turned for 20s")
    assert get(server, "/livez/ping")[0] == 200
    assert get(server, "/livez")[0] == 500


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/configz"])
def test_a_failing_reader_is_an_error_and_no_more(
    server: HttpServer, path: str, request: pytest.FixtureRequest
) -> None:
    """An exception in a check, a gauge or configz answers 500, and the next request is served."""

    def broken() -> str:
        raise RuntimeError("broken")

    request.getfixturevalue("checks").add("broken", broken)
    request.getfixturevalue("metrics").watch_gauges(broken)
    server._configz = broken  # type: ignore[assignment]
    assert get(server, path)[0] == 500
    assert get(server, "/livez/ping")[0] == 200


def test_silent_clients_are_displaced_and_cut(
    checks: HealthChecks, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More silent connections than places do not keep a probe out; all of them are cut when their time is up."""
    monkeypatch.setattr(server_module, "MAXIMUM_CONNECTIONS", 4)
    monkeypatch.setattr(server_module, "CONNECTION_SECONDS", 0.5)
    running = start_server(ADDRESS, 0, metrics, checks, dict)
    silent = [connected(running) for _ in range(10)]
    try:
        silent[-1].sendall(b"GET /metrics HTTP/1.1\r\n")
        assert get(running, "/livez")[0] == 200
        for connection in silent:
            assert _ended(connection)
    finally:
        for connection in silent:
            connection.close()
        running.stop()


def _ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _rest(connection: socket.socket) -> int:
    """How many bytes still come before the connection ends."""
    received = 0
    try:
        while chunk := connection.recv(1 << 20):
            received += len(chunk)
    except ConnectionResetError:
        pass
    return received


def test_a_reader_that_stops_reading_is_cut(
    checks: HealthChecks, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that is never read does not hold its connection open beyond its time."""
    monkeypatch.setattr(server_module, "CONNECTION_SECONDS", 0.5)
    running = start_server(ADDRESS, 0, metrics, checks, lambda: {"big": "x" * 50_000_000})
    connection = connected(running)
    try:
        connection.sendall(b"GET /configz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        while running._connections:
            assert get(running, "/livez")[0] == 200
        assert _rest(connection) < 50_000_000
    finally:
        connection.close()
        running.stop()


@pytest.mark.parametrize(
    "rubbish", [b"rubbish\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000]
)
def test_rubbish_is_refused(server: HttpServer, rubbish: bytes) -> None:
    """What is not HTTP, TLS included, is answered with 400 or cut, and the server goes on."""
    connection = connected(server)
    try:
        connection.sendall(rubbish)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(12)[:12] in {b"HTTP/1.0 400", b"HTTP/1.1 400", b""}
    finally:
        connection.close()
    assert get(server, "/livez")[0] == 200


def test_an_occupied_port_is_named(server: HttpServer, checks: HealthChecks, metrics: Metrics) -> None:
    """The error is one line with address, cause and way out."""
    with pytest.raises(ServerError) as caught:
        start_server(ADDRESS, server.port, metrics, checks, dict)
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1 port {server.port}: Address already in use "
        "(choose another --metrics-port; 0 takes a free one)"
    )


def test_a_foreign_address_is_named(checks: HealthChecks, metrics: Metrics) -> None:
    """An address that this machine does not have leads to --bind-address."""
    with pytest.raises(ServerError, match=r"192\.0\.2\.1 port 0: .* \(choose an address of this machine"):
        start_server("192.0.2.1", 0, metrics, checks, dict)


def test_stop_ends_the_thread_and_frees_the_port(checks: HealthChecks, metrics: Metrics) -> None:
    """After stop nothing listens, idle connections are closed and the thread is gone."""
    running = start_server(ADDRESS, 0, metrics, checks, dict)
    idle = connected(running)
    assert get(running, "/livez")[0] == 200
    running.stop()
    assert _ended(idle)
    idle.close()
    assert not running._thread.is_alive()
    with pytest.raises(ConnectionRefusedError):
        connected(running)

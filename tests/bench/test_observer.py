"""The observer's process, against a server that serves watch streams as it is told."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.bench.endpoint import Endpoint
from tests.bench.errors import BenchError
from tests.bench.observer import Assignment, Observer
from tests.bench.sightings import Sight, Sighting
from tests.controlplane.credentials import Credentials
from tests.controlplane.ports import LOOPBACK

OK = b"HTTP/1.0 200 OK\r\n\r\n"


def line(name: str, version: int) -> bytes:
    """The watch line of a pod that became bound."""
    return f'{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}}}\n'.encode()


@contextmanager
def watch_server(directory: Path, answers: dict[str, list[bytes]]) -> Iterator[Assignment]:
    """Serves the watch of bound pods: the answer for the resourceVersion asked from, then the end of the connection.

    Where no answer is left, and on the other streams, the connection stays open and silent.
    """
    credentials = Credentials(directory)
    context = credentials.server_context()
    listener = socket.create_server((LOOPBACK, 0))
    held: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                raw, _ = listener.accept()
                connection = context.wrap_socket(raw, server_side=True)
                held.append(connection)
                target = connection.recv(65536).decode().split(" ")[1]
                version = target.partition("resourceVersion=")[2].partition("&")[0]
                remaining = answers.get(version, []) if "nodeName" in target else []
                connection.sendall(remaining.pop(0) if remaining else OK)
                if "nodeName" in target and version in answers:
                    connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        endpoint = Endpoint(LOOPBACK, listener.getsockname()[1], "token", str(credentials.ca_file))
        yield Assignment(endpoint, "bench", "1", gathering_seconds=0.0)
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in held:
            connection.close()


def receive(observer: Observer, count: int) -> list[Sighting]:
    """The next `count` sightings."""
    seen: list[Sighting] = []
    while len(seen) < count:
        news = observer.receive(10)
        assert news, f"only {seen} was seen"
        seen += news
    return seen


def test_a_watch_that_is_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    """No sighting is lost or repeated, even when the cut goes through a line."""
    answers = {"1": [OK + line("a", 5) + line("b", 6)[:30]], "5": [OK + line("b", 6) + line("c", 7)]}
    with watch_server(tmp_path, answers) as assignment, Observer(assignment) as observer:
        seen = receive(observer, 3)
    assert [(sight, name) for sight, name, _ in seen] == [(Sight.BOUND, name) for name in "abc"]


def test_a_server_that_is_overloaded_is_asked_again(tmp_path: Path) -> None:
    """A refusal for the moment does not end the watch."""
    busy = b"HTTP/1.0 429 Too Many Requests\r\n\r\n"
    answers = {"1": [OK + line("a", 5)], "5": [busy, busy, OK + line("b", 6)]}
    with watch_server(tmp_path, answers) as assignment, Observer(assignment) as observer:
        assert [name for _, name, _ in receive(observer, 2)] == ["a", "b"]


def test_a_version_that_is_forgotten_fails_loudly(tmp_path: Path) -> None:
    """What was missed meanwhile cannot be known, so the run is worth nothing."""
    answers = {"1": [OK + line("a", 5)], "5": [b"HTTP/1.0 410 Gone\r\n\r\ntoo old"]}
    with (
        watch_server(tmp_path, answers) as assignment,
        Observer(assignment) as observer,
        pytest.raises(BenchError, match="watch of bound pods was refused with 410: too old"),
    ):
        receive(observer, 2)

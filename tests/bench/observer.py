"""The independent observer: a process of its own that watches the API server and stamps what it sees.

It shares the cores with the schedulers, so it wakes up seldom: for a backlog, it lets a few milliseconds of news gather
before it reads them.
"""

import multiprocessing
import os
import select
import signal
import socket
import ssl
import time
from dataclasses import dataclass
from http import HTTPStatus
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from tests.bench.endpoint import Endpoint
from tests.bench.errors import BenchError
from tests.bench.sightings import Sighting, SightingScanner, Stream

GATHERING_SECONDS = 0.005
"""How long news gather where a whole backlog is timed: the error of one measurement is at most this."""
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_READY_SECONDS = 30.0
_RECONNECT_SECONDS = 10.0
_CHECK_PARENT_SECONDS = 2.0
_CHUNK_BYTES = 1 << 18
_SELECTORS = {
    Stream.BOUND_PODS: ("/api/v1/namespaces/{}/pods", "spec.nodeName!="),
    Stream.NOMINATED_PODS: ("/api/v1/namespaces/{}/pods", "status.nominatedNodeName!="),
    Stream.SCHEDULED_EVENTS: ("/apis/events.k8s.io/v1/namespaces/{}/events", "reason=Scheduled"),
}


@dataclass(frozen=True)
class Assignment:
    """What an observer shall watch: a namespace, from a resourceVersion on."""

    endpoint: Endpoint
    namespace: str
    resource_version: str
    gathering_seconds: float


class Observer:
    """The observer's handle in the process of the benchmark. A context manager; entered, all streams are open."""

    def __init__(self, assignment: Assignment) -> None:
        context = multiprocessing.get_context("spawn")
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_observe, args=(assignment, sender, os.getpid()), daemon=True)
        self._sender = sender

    def __enter__(self) -> Self:
        self._process.start()
        self._sender.close()
        try:
            self._wait_until_ready()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def receive(self, timeout_seconds: float) -> list[Sighting]:
        """What was seen since the last call, in order of each stream; empty when nothing was until the time is up.

        Raises BenchError when the observer has failed.
        """
        return self._take() if self._receiver.poll(timeout_seconds) else []

    def _wait_until_ready(self) -> None:
        if not self._receiver.poll(_READY_SECONDS):
            raise BenchError(f"the observer could not open its watches within {_READY_SECONDS:g} s")
        self._take()

    def _take(self) -> list[Sighting]:
        try:
            message: list[Sighting] | str = self._receiver.recv()
        except EOFError as error:
            raise BenchError("the observer ended by itself") from error
        if isinstance(message, str):
            raise BenchError(f"the observer failed: {message}")
        return message

    def _end(self) -> None:
        self._process.terminate()
        self._process.join()
        self._receiver.close()


def _observe(assignment: Assignment, sender: Connection, parent: int) -> None:
    """Main function of the observer's process."""
    # Ctrl-C reaches the whole process group; it is for the benchmark, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        watches = [_Watch(assignment, stream) for stream in Stream]
        sender.send([])
        while os.getppid() == parent:
            if select.select(watches, [], [], _CHECK_PARENT_SECONDS)[0]:
                time.sleep(assignment.gathering_seconds)
            sightings = [sighting for watch in watches for sighting in watch.read()]
            if sightings:
                sender.send(sightings)
    except (BenchError, OSError) as error:
        sender.send(str(error))


class _Watch:
    """One stream, opened again from where it was when the server ends it. `select` takes it as a file."""

    def __init__(self, assignment: Assignment, stream: Stream) -> None:
        self._assignment = assignment
        self._scanner = SightingScanner(stream, assignment.resource_version)
        self._context = assignment.endpoint.context()
        self._socket, self._received = self._open()

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> list[Sighting]:
        """All that has arrived; waits only for a new stream. Raises BenchError when the stream cannot go on."""
        sightings: list[Sighting] = []
        # Not one read: each gives one TLS record, and `select` knows nothing of those already decrypted.
        while True:
            sightings += self._scanner.feed(self._received, time.monotonic())
            self._received = b""
            try:
                self._received = self._socket.recv(_CHUNK_BYTES)
            except ssl.SSLWantReadError:
                return sightings
            except OSError:
                self._reopen()
            else:
                if not self._received:
                    self._reopen()

    def _reopen(self) -> None:
        self._socket.close()
        self._scanner.restart()
        deadline = time.monotonic() + _RECONNECT_SECONDS
        while True:
            try:
                self._socket, self._received = self._open()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise BenchError(f"the watch of {self._scanner.stream} was cut and stays so: {error}") from error
                time.sleep(0.05)
            else:
                return

    def _open(self) -> tuple[ssl.SSLSocket, bytes]:
        """Connect and read the head of the answer; returns the socket and the bytes that came after the head."""
        endpoint = self._assignment.endpoint
        raw = socket.create_connection((endpoint.host, endpoint.port), timeout=_READY_SECONDS)
        connection = self._context.wrap_socket(raw, server_hostname=endpoint.host)
        # HTTP 1.0 has no chunks: the body is the lines and nothing else.
        head = endpoint.request_head("GET", self._target(), "1.0", _METADATA_ONLY)
        connection.sendall(f"{head}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            chunk = connection.recv(_CHUNK_BYTES)
            if not chunk:
                raise ConnectionResetError("the server ended the connection before it answered")
            answer += chunk
        head_received, _, rest = answer.partition(b"\r\n\r\n")
        status = int(head_received.split(b" ", 2)[1])
        if status != HTTPStatus.OK:
            connection.close()
            refusal = f"the watch of {self._scanner.stream} was refused with {status}: {rest.decode(errors='replace')}"
            # An overloaded server may be asked again; one that has forgotten the resourceVersion may not.
            raise BenchError(refusal) if status == HTTPStatus.GONE else ConnectionRefusedError(refusal)
        connection.setblocking(False)
        return connection, rest

    def _target(self) -> str:
        path, selector = _SELECTORS[self._scanner.stream]
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._scanner.resource_version,
            "fieldSelector": selector,
        }
        return f"{path.format(self._assignment.namespace)}?{urlencode(query)}"

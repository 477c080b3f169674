"""One HTTP/1.1 response out of the bytes of a connection; no I/O.

States:

     head            body                               end
HEAD ──┬── Content-Length: n ──► SIZED ───────────────► DONE
  ▲ │  ├── chunked ──► CHUNK_SIZE ─0─► TRAILERS ───────► │
  └─┘  │                ▲   ▼                            │
 1xx   │               CHUNK_DATA                        │
       ├── 204, 304 ───────────────────────────────────► │
       └── neither ──► UNTIL_CLOSE ──(connection ends)─► │
"""

from __future__ import annotations

from enum import Enum, auto

_HEAD_LIMIT_BYTES = 65_536


class ProtocolError(Exception):
    """The peer does not speak HTTP/1.1 as it should; the connection is of no further use."""


class _State(Enum):
    HEAD = auto()
    SIZED = auto()
    CHUNK_SIZE = auto()
    CHUNK_DATA = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    DONE = auto()


class ResponseParser:
    """Fed with what the connection receives, gives back the body's bytes without their framing.

    `status` is 0 until the head is complete, `done` True when the response is; `keep_alive` then says whether the
    connection can carry another one. `retry_after` is that header's value in a refusal.
    """

    __slots__ = ("_missing", "_state", "_waiting", "done", "keep_alive", "retry_after", "status")

    def __init__(self) -> None:
        self.status = 0
        self.retry_after: str | None = None
        self.keep_alive = True
        self.done = False
        self._state = _State.HEAD
        self._waiting = b""  # received, but not enough of it to go on
        self._missing = 0  # bytes to come of the sized body or of the chunk, the chunk's line end included

    def feed(self, data: bytes) -> bytes:
        """The part of the body that `data` brought; raises ProtocolError."""
        if self._waiting:
            data = self._waiting + data
            self._waiting = b""
        position = 0
        while self._state is _State.HEAD:
            end = data.find(b"\r\n\r\n", position)
            if end < 0:
                self._wait_for_more(data[position:])
                return b""
            self._read_head(data[position : end + 2])
            position = end + 4
        if self._state is _State.SIZED:
            body = data[position : position + self._missing]
            self._missing -= len(body)
            if not self._missing:
                self._finish(len(data) - position - len(body))
            return body
        if self._state is _State.UNTIL_CLOSE:
            return data[position:]
        return self._read_chunks(data, position)

    def end_of_stream(self) -> None:
        """The peer closed its side; the response is done if only that could end it."""
        self.keep_alive = False
        if self._state is _State.UNTIL_CLOSE:
            self.done = True

    def _read_head(self, head: bytes) -> None:
        """`head` runs from the status line to the end of the last header, its line end included."""
        try:
            self.status = int(head[9:12])
        except ValueError:
            self.status = 0
        if not head.startswith(b"HTTP/1.") or not 100 <= self.status <= 599:
            raise ProtocolError(f"not an HTTP/1.1 response: {head[:40]!r}")
        if self.status < 200:
            return
        headers = head.lower()
        self.keep_alive = head[7:8] == b"1" and _header(headers, b"\r\nconnection:") != b"close"
        if self.status >= 400:
            retry_after = _header(headers, b"\r\nretry-after:")
            self.retry_after = None if retry_after is None else retry_after.decode("latin-1")
        if self.status in (204, 304):
            self._finish(0)
        elif (length := _header(headers, b"\r\ncontent-length:")) is not None:
            if not length.isdigit() or b"\r\ntransfer-encoding:" in headers:
                raise ProtocolError(f"bad content length {length!r}")
            self._state = _State.SIZED
            self._missing = int(length)
        elif (encoding := _header(headers, b"\r\ntransfer-encoding:")) is not None:
            if encoding != b"chunked":
                raise ProtocolError(f"unknown transfer encoding {encoding!r}")
            self._state = _State.CHUNK_SIZE
        else:
            self._state = _State.UNTIL_CLOSE
            self.keep_alive = False

    def _read_chunks(self, data: bytes, position: int) -> bytes:
        pieces: list[bytes] = []
        while position < len(data) and not self.done:
            if self._state is _State.CHUNK_DATA:
                end = position + self._missing
                if end <= len(data):
                    self._state = _State.CHUNK_SIZE
                else:
                    self._missing = end - len(data)
                # What is missing may be no more than the rest of the line end.
                pieces.append(data[position : max(position, end - 2)])
                position = end
                continue
            end = data.find(b"\r\n", position)
            if end < 0:
                self._wait_for_more(data[position:])
                break
            line = data[position:end]
            position = end + 2
            if self._state is _State.CHUNK_SIZE:
                self._read_chunk_size(line)
            elif not line:
                self._finish(len(data) - position)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_chunk_size(self, line: bytes) -> None:
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            size = -1
        if size < 0:
            raise ProtocolError(f"bad chunk size {line[:40]!r}")
        self._state = _State.CHUNK_DATA if size else _State.TRAILERS
        self._missing = size + 2 if size else 0

    def _wait_for_more(self, rest: bytes) -> None:
        if len(rest) > _HEAD_LIMIT_BYTES:
            raise ProtocolError(f"no line end within {_HEAD_LIMIT_BYTES} bytes")
        self._waiting = rest

    def _finish(self, surplus_bytes: int) -> None:
        """The response is complete; bytes after it belong to nothing that was asked."""
        self._state = _State.DONE
        self.done = True
        if surplus_bytes:
            self.keep_alive = False


def _header(headers: bytes, name: bytes) -> bytes | None:
    """Value of the first such header in lower-cased `headers`; `name` is lower-cased, with line end and colon."""
    start = headers.find(name)
    if start < 0:
        return None
    start += len(name)
    return headers[start : headers.find(b"\r\n", start)].strip()

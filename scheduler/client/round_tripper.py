"""The contract below `Transport`: carry one request to the API server and bring back what it answers.

A round tripper keeps connections and knows HTTP; it knows nothing of retries, Status objects, metrics or rate limits.
It tells its faults apart as `errors` says: `Unreachable`, `Fenced`, `AnswerLost`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

Gate = Callable[[str, str], bool]
"""Asked with method and target of a write after its connection is had and right before it is written; False refuses it.

It runs on the loop, once for each try, and must not block.
"""


class RawResponse(NamedTuple):
    """An answer as it came; `retry_after` is the header's value."""

    status: int
    retry_after: str | None
    body: bytes


class ResponseStream(Protocol):
    """An answer whose body is read as it comes; has its connection to itself and must be closed."""

    status: int
    retry_after: str | None

    async def read(self) -> bytes:
        """What has come since the last call, waiting for the first byte of it; b"" at the end of the body.

        Raises AnswerLost if the connection is cut or nothing comes for as long as was agreed.
        """
        ...

    def close(self) -> None:
        """Ends the stream and its connection; may be called at any time, more than once."""
        ...


class RoundTripper(Protocol):
    """Carries requests; safe to use from any number of tasks of one loop."""

    async def call(
        self, method: str, target: str, authorization: str | None, content_type: str | None, body: bytes | None
    ) -> RawResponse:
        """Sends a request and waits for the whole answer, whatever its status.

        `target` is path and query, encoded. At most a fixed number of calls is in flight, further ones wait in order.
        Raises Unreachable, Fenced or AnswerLost. A cancelled call closes its connection.
        """
        ...

    async def open_stream(self, target: str, authorization: str | None, idle_seconds: float) -> ResponseStream:
        """Sends a GET and returns as soon as the answer's head is there; `idle_seconds` is the longest silence allowed.

        Streams are not counted among the calls in flight. Raises Unreachable or AnswerLost.
        """
        ...

    async def close(self) -> None:
        """Closes all connections; calls and streams under way end in AnswerLost."""
        ...

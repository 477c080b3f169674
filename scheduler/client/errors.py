"""What a call to the API server can end in, other than its answer.

RequestError                 any of the below
├── ApiError                 the server answered no: status, reason and message are its own
│   ├── Unauthorized         401  the credential was refused, also after it was renewed
│   ├── Forbidden            403  a right is missing
│   ├── NotFound             404
│   ├── Conflict             409  also reason AlreadyExists
│   ├── Gone                 410  the resourceVersion or continue token is too old: list again
│   ├── TooManyRequests      429  not carried out
│   └── ServerError          5xx  may have been carried out
├── Unreachable              no connection was had: certainly not carried out
├── Fenced                   the gate refused, nothing was written: certainly not carried out
├── NotSent                  given up while it waited for its turn: certainly not carried out
└── AnswerLost               written, but no whole answer came: may have been carried out

Whoever changes something must tell apart "certainly not" from "may have been": the first can simply be tried again, the
second needs a look at the object.
"""

# ruff: noqa: N818 - the names say what happened

from __future__ import annotations

import msgspec


class RequestError(Exception):
    """A call to the API server did not succeed."""


class Unreachable(RequestError):
    """No connection to the API server could be made; the call was certainly not carried out."""


class Fenced(RequestError):
    """The gate refused a write when its connection was ready; nothing was sent."""


class NotSent(RequestError):
    """A newer call for the same object took the place of this one, or the process is stopping; nothing was sent."""


class AnswerLost(RequestError):
    """The call was sent, or part of it, and its whole answer never came; it may have been carried out."""


class ApiError(RequestError):
    """The API server refused the call.

    `status` is the HTTP code, `reason` and `message` are those of the Status object in the answer ("" and the body's
    text if there was none), `retry_after_seconds` is what the server asked for, if it did.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds


class Unauthorized(ApiError):
    """401: the server does not accept the credential."""


class Forbidden(ApiError):
    """403: the user lacks a right; the message names verb, resource and user."""


class NotFound(ApiError):
    """404: no such object, or no such resource on this server."""


class Conflict(ApiError):
    """409: the object changed, already exists (reason AlreadyExists), or a precondition failed."""


class Gone(ApiError):
    """410: the resourceVersion or the continue token has been compacted away (reasons Expired and Gone)."""


class TooManyRequests(ApiError):
    """429: refused by flow control or by a disruption budget; not carried out."""


class ServerError(ApiError):
    """5xx: the server failed; a write may have been carried out."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}
_MESSAGE_LIMIT_BYTES = 1024


class Status(msgspec.Struct, rename="camel"):
    """The part of a `v1.Status` that explains a refusal; also the object of a watch's ERROR event."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None


_status_decoder = msgspec.json.Decoder(Status)


def api_error(status: int | None, body: bytes | memoryview, retry_after: str | None = None) -> ApiError:
    """Turns a refusal into the exception of its class.

    `body` is a Status object in JSON; what is no such object (a proxy's error page) becomes the message as it is.
    `status` is the HTTP code; None for the Status in a watch's ERROR event, which brings its own (500 if it does not).
    `retry_after` is the header's value; a date in it is not understood and counts as absent.
    """
    try:
        parsed = _status_decoder.decode(body)
    except msgspec.MsgspecError:
        parsed = Status(message=bytes(body[:_MESSAGE_LIMIT_BYTES]).decode("utf-8", "replace").strip())
    code = parsed.code or 500 if status is None else status
    error = ServerError if code >= 500 else _BY_STATUS.get(code, ApiError)
    seconds = float(retry_after) if retry_after is not None and retry_after.strip().isdecimal() else None
    return error(code, parsed.reason or "", parsed.message or "no message", seconds)

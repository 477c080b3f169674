"""Refusals become exceptions."""

import pytest

from scheduler.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    api_error,
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ApiError),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, Gone),
        (422, ApiError),
        (429, TooManyRequests),
        (500, ServerError),
        (504, ServerError),
    ],
)
def test_class_follows_the_code(status: int, kind: type[ApiError]) -> None:
    """Each HTTP code gives its class, with what the Status object says."""
    error = api_error(status, b'{"reason":"Because","message":"no room"}', "3")
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, "Because", "no room")
    assert error.retry_after_seconds == 3.0
    assert str(error) == f"{status} Because: no room"


def test_error_event_brings_its_own_code() -> None:
    """The Status in a watch's ERROR event decides by its code, and without one it is the server's fault."""
    assert type(api_error(None, b'{"code":410,"reason":"Expired","message":"too old"}')) is Gone
    assert type(api_error(None, b'{"message":"?"}')) is ServerError


def test_body_that_is_no_status_is_the_message() -> None:
    """A proxy's error page shows in the message, cut to a readable length."""
    assert str(api_error(502, b"<h1>Bad Gateway</h1>\n")) == "502: <h1>Bad Gateway</h1>"
    assert len(api_error(502, b"x" * 5000).message) == 1024


def test_date_in_retry_after_is_passed_over() -> None:
    """Only seconds are understood."""
    assert api_error(503, b"", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after_seconds is None

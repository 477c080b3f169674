"""Asking for rights before they are used."""

from collections.abc import Callable

import msgspec
import pytest
from structlog.testing import capture_logs

from scheduler.client.access_review import SCHEDULER_RIGHTS, Right, missing_rights
from scheduler.client.errors import Unauthorized, Unreachable
from scheduler.client.transport import Transport, TransportSettings
from tests.unit.client.fakes import Answer, FakeRoundTripper, RecordingSleep, Sent, credentials, ok, refusal

_BIND = Right("create", "", "pods", "binding")
_EVENTS = Right("create", "events.k8s.io", "events")


def transport_to(server: Callable[[Sent], Answer]) -> tuple[Transport, FakeRoundTripper]:
    """A transport that tries once."""
    round_tripper = FakeRoundTripper(server)
    return Transport(credentials(), round_tripper, TransportSettings(tries=1), sleep=RecordingSleep()), round_tripper


def answering(*denied: Right) -> Callable[[Sent], Answer]:
    """A server that allows everything but these."""

    def answer(sent: Sent) -> Answer:
        asked = msgspec.json.decode(sent.body or b"")["spec"]["resourceAttributes"]
        right = Right(asked["verb"], asked["group"], asked["resource"], asked["subresource"])
        return ok(msgspec.json.encode({"status": {"allowed": right not in denied}}), status=201)

    return answer


async def test_missing_rights_are_told_in_order() -> None:
    """Each right is asked for by itself, in all namespaces."""
    transport, round_tripper = transport_to(answering(_EVENTS, _BIND))
    assert await missing_rights(transport, SCHEDULER_RIGHTS) == [_BIND, _EVENTS]
    assert len(round_tripper.sent) == len(SCHEDULER_RIGHTS)
    assert {(sent.method, sent.target) for sent in round_tripper.sent} == {
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    }


async def test_nothing_is_missing_where_all_is_allowed() -> None:
    """The answer is empty."""
    transport, _ = transport_to(answering())
    assert await missing_rights(transport, SCHEDULER_RIGHTS) == []


@pytest.mark.parametrize("answer", [refusal(403, "Forbidden"), refusal(500, "InternalError"), ok(b"[]")])
async def test_a_server_that_does_not_tell_is_trusted(answer: Answer) -> None:
    """The right is found out by use, and the log says that it is not known."""
    transport, _ = transport_to(lambda _: answer)
    with capture_logs() as logs:
        assert await missing_rights(transport, [_BIND]) == []
    assert [(line["right"], line["log_level"]) for line in logs] == [("create pods/binding", "warning")]


@pytest.mark.parametrize(
    ("answer", "error"),
    [(refusal(401, "Unauthorized"), Unauthorized), (Unreachable("refused"), Unreachable)],
)
async def test_who_is_not_let_in_has_no_rights_to_ask_for(answer: Answer, error: type[Exception]) -> None:
    """A refused credential and a server that cannot be reached are raised."""
    transport, _ = transport_to(lambda _: answer)
    with pytest.raises(error):
        await missing_rights(transport, [_BIND, _EVENTS])


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (Right("list", "", "nodes"), "list nodes"),
        (_BIND, "create pods/binding"),
        (_EVENTS, "create events.events.k8s.io"),
        (Right("patch", "apps", "deployments", "scale"), "patch deployments/scale.apps"),
    ],
)
def test_rights_are_spelled_as_in_kubectl(right: Right, text: str) -> None:
    """Verb, resource, subresource and group."""
    assert str(right) == text

"""Whether this user may do what a scheduler does, asked before it starts instead of found out pod by pod."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import structlog

from scheduler.client.errors import ApiError, Unauthorized
from scheduler.client.transport import Retry, Transport
from scheduler.client.watched import NODES, OBJECTS, PODS

log = structlog.get_logger(__name__)

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Right(NamedTuple):
    """A verb on a resource of all namespaces; `subresource` is "" for the object itself, `group` for the core API."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}{'.' + self.group if self.group else ''}"


SCHEDULER_RIGHTS = (
    *(Right(verb, *watched.api_name) for watched in (NODES, PODS, *OBJECTS) for verb in ("list", "watch")),
    Right("get", "", "pods"),
    Right("delete", "", "pods"),
    Right("create", "", "pods", "binding"),
    Right("patch", "", "pods", "status"),
    *(Right(verb, "", kind) for kind in ("persistentvolumes", "persistentvolumeclaims") for verb in ("get", "patch")),
    Right("create", "events.k8s.io", "events"),
    Right("patch", "events.k8s.io", "events"),
)
"""What the running scheduler does."""


class _Answer(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Answer = _Answer()


async def missing_rights(transport: Transport, rights: Iterable[Right]) -> list[Right]:
    """The rights that this user lacks, in the order given.

    A server that does not answer the question (an authorizer may be down, or the user may not ask) counts as
    answering yes: the rights are then found out by use. Raises Unauthorized, Unreachable and AnswerLost like any call.
    """
    rights = tuple(rights)
    answers = await asyncio.gather(*(_allowed(transport, right) for right in rights))
    return [right for right, allowed in zip(rights, answers, strict=True) if not allowed]


async def _allowed(transport: Transport, right: Right) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
    }
    body = msgspec.json.encode({"spec": {"resourceAttributes": attributes}})
    try:
        answer = await transport.post(_PATH, body, retry=Retry.IF_IN_DOUBT)
        return msgspec.json.decode(answer.body, type=_Review).status.allowed
    except Unauthorized:
        raise
    except (ApiError, msgspec.MsgspecError) as error:
        log.warning("the API server does not tell whether a right is there", right=str(right), error=str(error))
        return True

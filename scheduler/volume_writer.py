"""What the scheduler writes about volumes and their claims, and how it waits for the controllers that go on from there.

A write holds for the version it was decided on: the patch carries UID and resourceVersion, so that the API server
refuses it (409) once anybody has changed the object. A refusal, or an answer that was lost, may also mean that the
write was carried out before; so the object is read, and what counts is whether it says what was decided::

    PATCH --2xx---------------------------------------------> written
      | 409, 5xx, answer lost
      v
    GET --it says so----------------------------------------> written
      +--anything else, or no answer------------------------> not written: the pod is tried again
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec
import structlog

from scheduler.api.decoding import decode_persistent_volume, decode_persistent_volume_claim
from scheduler.api.storage import (
    BOUND_BY_CONTROLLER_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    PersistentVolume,
    PersistentVolumeClaim,
)
from scheduler.client.api_dispatcher import ApiCall, ApiDispatcher, Priority
from scheduler.client.errors import AnswerLost, ApiError, Conflict, RequestError, ServerError
from scheduler.client.transport import MERGE_PATCH, Response, Retry, Transport
from scheduler.core.framework.interface import VolumeWriteError, VolumeWriter

if TYPE_CHECKING:
    from scheduler.api.meta import ObjectMeta
    from scheduler.core.cache.cluster_objects import ClusterObjects

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)
ClaimKey: TypeAlias = tuple[str, str]

log = structlog.get_logger(__name__)

_LONGEST_SLEEP_SECONDS: Final = 1.0
"""What does not show in a claim (a pod that is deleted, a node that is gone) is seen after so long."""


class ApiVolumeWriter(VolumeWriter):
    """The scheduler's hand on volumes; its waits are woken by the claims that the watch shows.

    Args:
        objects: what the watch shows.
        waiting: entered for as long as a wait lasts.
    """

    def __init__(
        self,
        transport: Transport,
        dispatcher: ApiDispatcher,
        objects: ClusterObjects,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._transport = transport
        self._dispatcher = dispatcher
        self._waiting = waiting
        self._woken_by: dict[ClaimKey, set[asyncio.Event]] = {}
        objects.persistent_volume_claims.follow(self._claim_changed)

    async def bind_volume(self, volume: PersistentVolume) -> PersistentVolume:
        """The volume as it is once it names the claim."""
        annotations = volume.metadata.annotations or {}
        mark = {name: annotations[name] for name in (BOUND_BY_CONTROLLER_ANNOTATION,) if name in annotations}
        body = {
            "metadata": _version(volume.metadata) | ({"annotations": mark} if mark else {}),
            "spec": {"claimRef": volume.spec.claim_ref},
        }
        path = f"/api/v1/persistentvolumes/{volume.metadata.name}"
        return await self._write(path, body, volume, decode_persistent_volume, partial(_names_the_claim_of, volume))

    async def select_node(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """The claim as it is once it names the node."""
        node = (claim.metadata.annotations or {})[SELECTED_NODE_ANNOTATION]
        body = {"metadata": _version(claim.metadata) | {"annotations": {SELECTED_NODE_ANNOTATION: node}}}
        path = f"/api/v1/namespaces/{claim.metadata.namespace}/persistentvolumeclaims/{claim.metadata.name}"
        return await self._write(path, body, claim, decode_persistent_volume_claim, partial(_names_the_node_of, claim))

    async def until(self, settled: Callable[[], bool], claims: Sequence[ClaimKey], timeout_seconds: float) -> bool:
        """Asked at first, after each change of a claim, and each second."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        changed = asyncio.Event()
        keys = frozenset(claims)  # a pod may mount a claim twice
        for key in keys:
            self._woken_by.setdefault(key, set()).add(changed)
        try:
            with self._waiting():
                while not settled():
                    left_seconds = deadline - loop.time()
                    if left_seconds <= 0:
                        return False
                    await _sleep_until(changed, min(left_seconds, _LONGEST_SLEEP_SECONDS))
        finally:
            for key in keys:
                self._woken_by[key].discard(changed)
                if not self._woken_by[key]:
                    del self._woken_by[key]
        return True

    def _claim_changed(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        claim = new or old
        assert claim is not None
        for changed in self._woken_by.get((claim.metadata.namespace, claim.metadata.name), ()):
            changed.set()

    async def _write(
        self, path: str, body: object, obj: T, decode: Callable[[bytes], T], says_so: Callable[[T], bool]
    ) -> T:
        send = partial(self._transport.patch, path, msgspec.json.encode(body), MERGE_PATCH, Retry.IF_IN_DOUBT)
        try:
            return decode(await self._run("volume_patch", send))
        except (Conflict, ServerError, AnswerLost) as doubt:
            return await self._resolve(path, obj, decode, says_so, doubt)
        except (RequestError, msgspec.MsgspecError) as refusal:
            raise VolumeWriteError(_text(refusal)) from refusal

    async def _resolve(
        self, path: str, obj: T, decode: Callable[[bytes], T], says_so: Callable[[T], bool], doubt: RequestError
    ) -> T:
        try:
            found = decode(await self._run("volume_get", partial(self._transport.get, path)))
        except (RequestError, msgspec.MsgspecError) as error:
            log.warning("whether a volume is written is not known", path=path, error=str(error))
            raise VolumeWriteError(_text(doubt)) from doubt
        if found.metadata.uid != obj.metadata.uid or not says_so(found):
            raise VolumeWriteError(_text(doubt)) from doubt
        log.info("written after all", path=path, first_answer=str(doubt))
        return found

    async def _run(self, kind: str, send: Callable[[], Awaitable[Response]]) -> bytes:
        answer = await self._dispatcher.run(ApiCall(kind, Priority.BIND, send))
        assert answer is not None
        return answer.body


async def _sleep_until(changed: asyncio.Event, at_most_seconds: float) -> None:
    try:
        async with asyncio.timeout(at_most_seconds):
            await changed.wait()
    except TimeoutError:
        return
    changed.clear()


def _version(metadata: ObjectMeta) -> dict[str, object]:
    return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}


def _names_the_claim_of(written: PersistentVolume, found: PersistentVolume) -> bool:
    wanted, reference = written.spec.claim_ref, found.spec.claim_ref
    return wanted is not None and reference is not None and reference.uid == wanted.uid


def _names_the_node_of(written: PersistentVolumeClaim, found: PersistentVolumeClaim) -> bool:
    wanted, annotations = written.metadata.annotations or {}, found.metadata.annotations or {}
    return annotations.get(SELECTED_NODE_ANNOTATION) == wanted[SELECTED_NODE_ANNOTATION]


def _text(error: Exception) -> str:
    return error.message if isinstance(error, ApiError) else str(error)

"""What the scheduler writes about pods: bindings, conditions and events, through the dispatcher.

A pod is bound once, to the node that was chosen, or not at all. So an answer that was lost, or that leaves it open
whether the server acted, is resolved by reading the pod::

    POST binding --2xx------------------------------------------------> bound
        | 409, 404, 5xx, answer lost
        v
    GET pod --it is there, with our UID, on our node------------------> bound
      | |  --gone, another UID, on another node, on no node-----------> not bound
      +-+ no answer: again after a wait, for the assumption stands until it is known

What was certainly not carried out (no connection, refused by the gate, any other 4xx) is not bound.

A victim is deleted with its UID as precondition and its own grace period; that it is gone, or that another pod has its
name now, is what was wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import partial

import msgspec
import structlog

from scheduler.api.decoding import decode_pod
from scheduler.api.types import NOMINATED_NODE_ANNOTATION, ObjectReference, Pod, PodCondition, nominated_node
from scheduler.client.api_dispatcher import ApiCall, ApiDispatcher, Priority
from scheduler.client.backoff import Backoff
from scheduler.client.errors import AnswerLost, Conflict, NotFound, RequestError, ServerError
from scheduler.client.event_recorder import EventRecorder, EventType
from scheduler.client.transport import Response, Retry, Transport
from scheduler.core.framework.interface import Binder
from scheduler.core.framework.status import Code, Status
from scheduler.core.framework.types import PodInfo

log = structlog.get_logger(__name__)


class _Keep(Enum):
    """Says of a patch that it leaves the nomination alone; None takes it back."""

    NOMINATION = "nomination"


class PodWriter(Binder):
    """The scheduler's hand on pods; implements the plugins' binder and the reports of `ScheduleOne`.

    Args:
        recorders: an event recorder for each schedulerName.
        wall_clock: the time written into conditions.
    """

    def __init__(
        self,
        transport: Transport,
        dispatcher: ApiDispatcher,
        recorders: Mapping[str, EventRecorder],
        *,
        wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._dispatcher = dispatcher
        self._recorders = recorders
        self._wall_clock = wall_clock
        self._sleep = sleep

    # --- binding

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """None once the pod is known to be bound to the node; an error when it is known not to be."""
        call = ApiCall("pod_binding", Priority.BIND, partial(self._post_binding, pod, node_name), pod.uid)
        try:
            await self._dispatcher.run(call)
        except (AnswerLost, ServerError, Conflict, NotFound) as doubt:
            return await self._resolve(pod, node_name, doubt)
        except RequestError as refusal:
            return _not_bound(refusal)
        return None

    async def _post_binding(self, pod: PodInfo, node_name: str) -> Response:
        metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"kind": "Node", "name": node_name},
        }
        return await self._transport.post(f"{_path(pod)}/binding", msgspec.json.encode(body))

    async def _resolve(self, pod: PodInfo, node_name: str, doubt: RequestError) -> Status | None:
        backoff = Backoff()
        while True:
            try:
                found = await self.read(pod)
                break
            except RequestError as error:
                log.warning("whether a pod is bound is not known yet", pod=pod.key, node=node_name, error=str(error))
                await self._sleep(backoff.next_seconds())
        if found is not None and found.spec.node_name == node_name:
            log.info("bound after all", pod=pod.key, node=node_name, first_answer=str(doubt))
            return None
        return _not_bound(doubt)

    # --- reports

    def scheduled(self, pod: PodInfo, node_name: str) -> None:
        """Event Scheduled."""
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._recorder(pod).record(_reference(pod), EventType.NORMAL, "Scheduled", "Binding", note, once=True)

    def failed(self, pod: PodInfo, message: str) -> None:
        """Event FailedScheduling."""
        self._recorder(pod).record(_reference(pod), EventType.WARNING, "FailedScheduling", "Scheduling", message)

    def set_condition(self, pod: PodInfo, condition: PodCondition, *, clear_nomination: bool = False) -> None:
        """Patch the pod's condition of this type unless it says the same already, and end its nomination if asked."""
        clears = clear_nomination and nominated_node(pod.pod) is not None
        if condition in (pod.pod.status.conditions or ()) and not clears:
            return
        self._submit_patch(pod, None if clears else _Keep.NOMINATION, condition)

    # --- preemption

    async def read(self, pod: PodInfo) -> Pod | None:
        """The pod as the API server has it; None when it is gone, also if another one has its name now."""
        try:
            found = decode_pod((await self._transport.get(_path(pod))).body)
        except NotFound:
            return None
        return found if found.metadata.uid == pod.uid else None

    async def nominate(self, pod: PodInfo, node_name: str, condition: PodCondition) -> bool:
        """Write nomination and condition into the pod's status, and the nomination into its annotation: one PATCH.

        False when the pod is gone.
        """
        body = self._patch_body(pod, node_name, condition)
        send = partial(self._transport.patch, f"{_path(pod)}/status", body, retry=Retry.IF_IN_DOUBT)
        try:
            await self._dispatcher.run(ApiCall("pod_status_patch", Priority.BIND, send, pod.uid))
        except NotFound:
            return False
        return True

    def clear_nomination(self, pod: PodInfo) -> None:
        """Take the nomination back; returns at once."""
        self._submit_patch(pod, None, None)

    async def evict(self, victim: PodInfo, preemptor: PodInfo, node_name: str) -> Pod | None:
        """Mark and delete the victim and tell of it; what is left of it, None when it is gone already."""
        name = preemptor.pod.spec.scheduler_name or ""
        condition = PodCondition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{name}: preempting to accommodate a higher priority pod",
        )
        mark = partial(self._patch_status, victim, self._patch_body(victim, _Keep.NOMINATION, condition))
        marked = await self._dispatcher.run(ApiCall("pod_status_patch", Priority.BIND, mark))
        # A conflict may also mean that others write a lot: only the DELETE tells whether the victim is there.
        answer = await self._dispatcher.run(ApiCall("pod_delete", Priority.BIND, partial(self._delete, victim)))
        if marked is None and answer is None:
            return None
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        self._recorder(preemptor).record(
            _reference(victim), EventType.NORMAL, "Preempted", "Preempting", note, _reference(preemptor), once=True
        )
        return None if answer is None else _left_of(victim, answer)

    async def _delete(self, victim: PodInfo) -> Response | None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}
        try:
            # With the UID a repeated DELETE can't hit another pod.
            body = msgspec.json.encode(options)
            return await self._transport.delete(_path(victim), body, retry=Retry.IF_IN_DOUBT)
        except (NotFound, Conflict):
            return None

    # --- status

    def _submit_patch(self, pod: PodInfo, nomination: str | _Keep | None, condition: PodCondition | None) -> None:
        send = partial(self._patch_status, pod, self._patch_body(pod, nomination, condition))
        self._dispatcher.submit(ApiCall("pod_status_patch", Priority.STATUS, send, pod.uid))

    def _patch_body(self, pod: PodInfo, nomination: str | _Keep | None, condition: PodCondition | None) -> bytes:
        metadata: dict[str, object] = {"uid": pod.uid}
        status: dict[str, object] = {}
        if nomination is not _Keep.NOMINATION:
            metadata["annotations"] = {NOMINATED_NODE_ANNOTATION: nomination}
            status["nominatedNodeName"] = nomination
        if condition is not None:
            status["conditions"] = [self._condition_patch(pod, condition)]
        return msgspec.json.encode({"metadata": metadata, "status": status})

    def _condition_patch(self, pod: PodInfo, condition: PodCondition) -> dict[str, object]:
        present = next((c for c in pod.pod.status.conditions or () if c.type == condition.type), None)
        patch: dict[str, object] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }
        if pod.pod.metadata.generation is not None:
            patch["observedGeneration"] = pod.pod.metadata.generation
        if present is None or present.status != condition.status:
            patch["lastTransitionTime"] = self._wall_clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        return patch

    async def _patch_status(self, pod: PodInfo, body: bytes) -> Response | None:
        try:
            return await self._transport.patch(f"{_path(pod)}/status", body, retry=Retry.IF_IN_DOUBT)
        except (NotFound, Conflict):
            # The pod is gone, or another one has its name now: there is nobody to tell.
            return None

    def _recorder(self, pod: PodInfo) -> EventRecorder:
        return self._recorders[pod.pod.spec.scheduler_name or ""]


def _path(pod: PodInfo) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _reference(pod: PodInfo) -> ObjectReference:
    return ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid, api_version="v1")


def _left_of(victim: PodInfo, answer: Response) -> Pod | None:
    """The deleted pod as it ends its grace period; None when the answer tells of none (it is gone at once)."""
    try:
        left = decode_pod(answer.body)
    except msgspec.MsgspecError:
        return None
    return left if left.metadata.uid == victim.uid and left.metadata.deletion_timestamp is not None else None


def _not_bound(cause: RequestError) -> Status:
    return Status.of(Code.ERROR, f"binding rejected: {cause}")

"""What is written about pods, and how an answer that was lost is made up for."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from scheduler.api.types import Pod, PodCondition
from scheduler.client.api_dispatcher import ApiDispatcher
from scheduler.client.errors import AnswerLost, RequestError, Unreachable
from scheduler.client.event_recorder import EventRecorder
from scheduler.client.transport import Transport, TransportSettings
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.status import Code
from scheduler.core.framework.types import PodInfo
from scheduler.pod_writer import PodWriter
from scheduler.testing import FakeClock, make_pod
from tests.unit.client.fakes import (
    Answer,
    Counts,
    FakeRoundTripper,
    RecordingSleep,
    Sent,
    credentials,
    ok,
    refusal,
    settle,
)

_POD = parse_pod(make_pod("web").uid("u1").obj())
_PATH = "/api/v1/namespaces/default/pods/web"
_NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
_LOST = AnswerLost("cut")


def pod_json(uid: str = "u1", node: str | None = "n1") -> Answer:
    """The pod as the API server has it."""
    metadata = {"name": "web", "namespace": "default", "uid": uid, "resourceVersion": "5"}
    spec: dict[str, Any] = {"schedulerName": "podium", "containers": [{"name": "main"}]}
    if node is not None:
        spec["nodeName"] = node
    return ok(msgspec.json.encode({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}))


@dataclass
class Server:
    """Gives the scripted answers by method, the last one for ever, and success for the rest."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)

    def __call__(self, sent: Sent) -> Answer:
        script = self.answers.get(sent.method)
        if not script:
            return ok(status=201)
        return script.pop(0) if len(script) > 1 else script[0]


class Desk:
    """A writer with everything it writes to."""

    def __init__(self, **answers: list[Answer]) -> None:
        clock = FakeClock(1000.0)
        self.counts = Counts()
        self.round_tripper = FakeRoundTripper(Server(answers))
        self.sleep = RecordingSleep(clock)
        transport = Transport(
            credentials(),
            self.round_tripper,
            TransportSettings(tries=3),
            clock=clock.now,
            sleep=RecordingSleep(clock),
            random=lambda: 0.0,
        )
        dispatcher = ApiDispatcher(self.counts)
        recorder = EventRecorder(transport, dispatcher, "podium", "replica-1", clock=lambda: 1.5e9)
        self.writer = PodWriter(transport, dispatcher, {"podium": recorder}, wall_clock=lambda: _NOW, sleep=self.sleep)

    def sent(self, method: str) -> list[Sent]:
        """The requests of a method, in order."""
        return [sent for sent in self.round_tripper.sent if sent.method == method]

    def bodies(self, method: str) -> list[Any]:
        """Their bodies."""
        return [msgspec.json.decode(sent.body or b"null") for sent in self.sent(method)]


async def test_a_binding_carries_the_uid() -> None:
    """So that a pod re-created under the name is not bound by the decision for its predecessor."""
    desk = Desk()
    assert await desk.writer.bind(_POD, "n1") is None
    (sent,) = desk.round_tripper.sent
    assert (sent.method, sent.target) == ("POST", f"{_PATH}/binding")
    assert desk.bodies("POST") == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
            "target": {"kind": "Node", "name": "n1"},
        }
    ]


_DOUBTS: dict[str, Answer] = {
    "answer lost": _LOST,
    "500": refusal(500, "InternalError"),
    "504": refusal(504, "Timeout"),
    "409": refusal(409, "Conflict"),
    "404": refusal(404, "NotFound"),
}
_FINDINGS: dict[str, tuple[Answer, bool]] = {
    "on our node": (pod_json(), True),
    "on another node": (pod_json(node="n2"), False),
    "on no node": (pod_json(node=None), False),
    "another pod of that name on our node": (pod_json(uid="u2"), False),
    "gone": (refusal(404, "NotFound"), False),
}


@pytest.mark.parametrize("doubt", _DOUBTS.values(), ids=_DOUBTS)
@pytest.mark.parametrize(("found", "is_bound"), _FINDINGS.values(), ids=_FINDINGS)
async def test_a_doubtful_answer_is_resolved_by_reading_the_pod(doubt: Answer, found: Answer, is_bound: bool) -> None:
    """The Binding is not sent again; what the pod says, counts."""
    desk = Desk(POST=[doubt], GET=[found])
    with capture_logs():
        status = await desk.writer.bind(_POD, "n1")
    assert [sent.target for sent in desk.sent("GET")] == [_PATH]
    assert len(desk.sent("POST")) == 1
    if is_bound:
        assert status is None
    else:
        assert status is not None
        assert status.code is Code.ERROR
        assert status.message.startswith("binding rejected: ")


_REFUSALS: dict[str, tuple[Answer, int]] = {
    "400": (refusal(400, "BadRequest"), 1),
    "401": (refusal(401, "Unauthorized"), 1),
    "403": (refusal(403, "Forbidden"), 1),
    "422": (refusal(422, "Invalid"), 1),
    "429 for ever": (refusal(429, "TooManyRequests"), 3),
    "no connection for ever": (Unreachable("refused"), 3),
}


@pytest.mark.parametrize(("answer", "tries"), _REFUSALS.values(), ids=_REFUSALS)
async def test_a_certain_refusal_is_not_looked_into(answer: Answer, tries: int) -> None:
    """The pod is known not to be bound; what was not carried out is sent again first."""
    desk = Desk(POST=[answer], GET=[AssertionError("nobody needs to ask")])
    status = await desk.writer.bind(_POD, "n1")
    assert status is not None
    assert status.code is Code.ERROR
    assert len(desk.sent("POST")) == tries


async def test_a_binding_that_was_not_carried_out_is_sent_again() -> None:
    """After 429 and after no connection, until it succeeds."""
    desk = Desk(POST=[refusal(429, "TooManyRequests", retry_after="1"), Unreachable("refused"), ok(status=201)])
    assert await desk.writer.bind(_POD, "n1") is None
    assert len(desk.sent("POST")) == 3
    assert desk.sent("GET") == []


async def test_a_doubt_lasts_until_the_pod_can_be_read() -> None:
    """However long the server is away: the assumption stands meanwhile, and waits grow."""
    away: list[Answer] = [_LOST, Unreachable("refused"), refusal(503, "ServiceUnavailable")] * 5
    desk = Desk(POST=[_LOST], GET=[*away, pod_json()])
    with capture_logs() as logs:
        assert await desk.writer.bind(_POD, "n1") is None
    assert len(desk.sleep.slept) == 5
    assert desk.sleep.slept[4] > desk.sleep.slept[0]
    assert {line["event"] for line in logs} == {"whether a pod is bound is not known yet", "bound after all"}


async def test_events_say_what_kube_scheduler_says() -> None:
    """Types, reasons, actions and notes of the two events."""
    desk = Desk()
    desk.writer.scheduled(_POD, "n1")
    desk.writer.failed(_POD, "0/1 nodes are available: 1 Insufficient cpu.")
    await settle()
    events = desk.bodies("POST")
    assert [
        (event["type"], event["reason"], event["action"], event["note"], event["regarding"]["uid"]) for event in events
    ] == [
        ("Normal", "Scheduled", "Binding", "Successfully assigned default/web to n1", "u1"),
        ("Warning", "FailedScheduling", "Scheduling", "0/1 nodes are available: 1 Insufficient cpu.", "u1"),
    ]
    assert {event["reportingController"] for event in events} == {"podium"}


def condition(reason: str = "Unschedulable", message: str = "no room", status: str = "False") -> PodCondition:
    """A PodScheduled condition."""
    return PodCondition(type="PodScheduled", status=status, reason=reason, message=message)


def with_condition(present: PodCondition) -> PodInfo:
    """The pod when it has a condition already."""
    pod: Pod = _POD.pod
    return parse_pod(msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, conditions=(present,))))


async def test_a_condition_is_patched_with_the_uid() -> None:
    """The time of the transition is ours, the pod's UID a precondition."""
    desk = Desk()
    desk.writer.set_condition(_POD, condition())
    await settle()
    (sent,) = desk.sent("PATCH")
    assert sent.target == f"{_PATH}/status"
    assert sent.content_type == "application/strategic-merge-patch+json"
    assert desk.bodies("PATCH") == [
        {
            "metadata": {"uid": "u1"},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "no room",
                        "lastTransitionTime": "2026-03-04T05:06:07Z",
                    }
                ]
            },
        }
    ]


async def test_a_condition_names_the_generation_it_was_made_from() -> None:
    """Whoever waits for a verdict about a changed spec can tell it from an older one."""
    desk = Desk()
    pod = msgspec.structs.replace(_POD.pod, metadata=msgspec.structs.replace(_POD.pod.metadata, generation=3))
    desk.writer.set_condition(parse_pod(pod), condition())
    await settle()
    assert desk.bodies("PATCH")[0]["status"]["conditions"][0]["observedGeneration"] == 3


async def test_a_condition_that_says_so_already_is_not_written() -> None:
    """Equal in status, reason and message."""
    desk = Desk()
    desk.writer.set_condition(with_condition(condition()), condition())
    await settle()
    assert desk.round_tripper.sent == []


@pytest.mark.parametrize(
    ("present", "is_transition"),
    [
        (condition(message="other"), False),
        (condition(reason="SchedulerError"), False),
        (condition(status="True"), True),
    ],
)
async def test_only_a_changed_status_is_a_transition(present: PodCondition, is_transition: bool) -> None:
    """Another reason or message is written without a new time."""
    desk = Desk()
    desk.writer.set_condition(with_condition(present), condition())
    await settle()
    (body,) = desk.bodies("PATCH")
    assert ("lastTransitionTime" in body["status"]["conditions"][0]) is is_transition


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (refusal(404, "NotFound"), []),
        (refusal(409, "Conflict"), []),
        (refusal(403, "Forbidden"), ["pod_status_patch"]),
    ],
)
async def test_a_condition_of_a_pod_that_is_gone_is_no_fault(answer: Answer, failed: list[str]) -> None:
    """Gone, or followed by another of its name; a missing right is a fault and is counted."""
    desk = Desk(PATCH=[answer])
    with capture_logs():
        desk.writer.set_condition(_POD, condition())
        await settle()
    assert desk.counts.failed_calls == failed


# --- preemption

_ANNOTATION = "scheduler.kubernetes.io/nominated-node-name"
_VICTIM = parse_pod(make_pod("victim").uid("u7").obj())
_VICTIM_PATH = "/api/v1/namespaces/default/pods/victim"
_NOMINATED = parse_pod(make_pod("web").uid("u1").nominated_node("n1").obj())


def evicted_json(uid: str = "u7", *, leaving: bool = True) -> Answer:
    """The victim as the API server answers its delete."""
    metadata = {"name": "victim", "namespace": "default", "uid": uid, "resourceVersion": "6"}
    if leaving:
        metadata["deletionTimestamp"] = "2026-03-04T05:07:00Z"
    spec = {"nodeName": "n1", "containers": [{"name": "main"}]}
    return ok(msgspec.json.encode({"kind": "Pod", "metadata": metadata, "spec": spec, "status": {}}))


@pytest.mark.parametrize(
    ("answer", "found"),
    [(pod_json(), True), (pod_json(uid="u2"), False), (refusal(404, "NotFound"), False)],
    ids=["there", "recreated under its name", "gone"],
)
async def test_a_pod_is_read_by_its_uid(answer: Answer, found: bool) -> None:
    """Another one of that name is not it."""
    desk = Desk(GET=[answer])
    read = await desk.writer.read(_POD)
    assert (read is not None) is found
    assert [sent.target for sent in desk.sent("GET")] == [_PATH]


async def test_a_read_that_is_refused_says_nothing_of_the_pod() -> None:
    """It is a fault, not a pod that is gone."""
    with pytest.raises(RequestError):
        await Desk(GET=[refusal(403, "Forbidden")]).writer.read(_POD)


async def test_a_nomination_is_one_patch() -> None:
    """Status, annotation and condition together, with the UID as precondition."""
    desk = Desk()
    assert await desk.writer.nominate(_POD, "n1", condition())
    (sent,) = desk.sent("PATCH")
    assert (sent.target, sent.content_type) == (f"{_PATH}/status", "application/strategic-merge-patch+json")
    assert desk.bodies("PATCH") == [
        {
            "metadata": {"uid": "u1", "annotations": {_ANNOTATION: "n1"}},
            "status": {
                "nominatedNodeName": "n1",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "no room",
                        "lastTransitionTime": "2026-03-04T05:06:07Z",
                    }
                ],
            },
        }
    ]


async def test_a_nomination_of_a_pod_that_is_gone_says_so() -> None:
    """Whoever asked must not evict anybody for it."""
    assert not await Desk(PATCH=[refusal(404, "NotFound")]).writer.nominate(_POD, "n1", condition())


@pytest.mark.parametrize("status", [403, 409, 500])
async def test_a_nomination_that_fails_is_a_fault(status: int) -> None:
    """Also a conflict: another pod has its name now, or others write a lot; the next attempt knows more."""
    with pytest.raises(RequestError):
        await Desk(PATCH=[refusal(status, "Whatever")]).writer.nominate(_POD, "n1", condition())


@pytest.mark.parametrize("doubt", [_LOST, refusal(504, "Timeout"), refusal(429, "TooManyRequests")])
async def test_a_nomination_in_doubt_is_sent_again(doubt: Answer) -> None:
    """It says the same the second time."""
    desk = Desk(PATCH=[doubt, ok()])
    assert await desk.writer.nominate(_POD, "n1", condition())
    first, second = desk.bodies("PATCH")
    assert first == second


async def test_a_nomination_is_taken_back_with_null() -> None:
    """In status and annotation, and nothing else is touched."""
    desk = Desk()
    desk.writer.clear_nomination(_POD)
    await settle()
    assert [sent.target for sent in desk.sent("PATCH")] == [f"{_PATH}/status"]
    assert desk.bodies("PATCH") == [
        {"metadata": {"uid": "u1", "annotations": {_ANNOTATION: None}}, "status": {"nominatedNodeName": None}}
    ]


@pytest.mark.parametrize(
    "nominated", [_NOMINATED, parse_pod(make_pod("web").uid("u1").annotation(_ANNOTATION, "n1").obj())]
)
async def test_a_condition_may_end_the_nomination(nominated: PodInfo) -> None:
    """In the same patch, whether the status or only the annotation has it."""
    desk = Desk()
    desk.writer.set_condition(nominated, condition(), clear_nomination=True)
    await settle()
    (body,) = desk.bodies("PATCH")
    assert body["metadata"] == {"uid": "u1", "annotations": {_ANNOTATION: None}}
    assert body["status"]["nominatedNodeName"] is None
    assert [each["message"] for each in body["status"]["conditions"]] == ["no room"]


async def test_a_nomination_ends_though_the_condition_says_so_already() -> None:
    """The message may be the same as before."""
    desk = Desk()
    pod = _NOMINATED.pod
    told = parse_pod(
        msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, conditions=(condition(),)))
    )
    desk.writer.set_condition(told, condition(), clear_nomination=True)
    await settle()
    (body,) = desk.bodies("PATCH")
    assert body["status"]["nominatedNodeName"] is None


@pytest.mark.parametrize(("pod", "clear"), [(_NOMINATED, False), (_POD, True)], ids=["not asked", "has none"])
async def test_a_condition_leaves_the_nomination_alone(pod: PodInfo, clear: bool) -> None:
    """Unless there is one and it is to end."""
    desk = Desk()
    desk.writer.set_condition(pod, condition(), clear_nomination=clear)
    await settle()
    (body,) = desk.bodies("PATCH")
    assert body["metadata"] == {"uid": "u1"}
    assert body["status"].keys() == {"conditions"}


async def test_a_victim_is_marked_deleted_and_told() -> None:
    """The condition first; the delete with the UID and the pod's own grace period; the event names the preemptor."""
    desk = Desk(DELETE=[evicted_json()])
    left = await desk.writer.evict(_VICTIM, _POD, "n1")
    await settle()
    assert [(sent.method, sent.target) for sent in desk.round_tripper.sent][:2] == [
        ("PATCH", f"{_VICTIM_PATH}/status"),
        ("DELETE", _VICTIM_PATH),
    ]
    assert desk.bodies("PATCH") == [
        {
            "metadata": {"uid": "u7"},
            "status": {
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                        "message": "podium: preempting to accommodate a higher priority pod",
                        "lastTransitionTime": "2026-03-04T05:06:07Z",
                    }
                ]
            },
        }
    ]
    assert desk.bodies("DELETE") == [{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u7"}}]
    (event,) = desk.bodies("POST")
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Preempted", "Preempting")
    assert event["note"] == "Preempted by pod u1 on node n1"
    assert (event["regarding"]["uid"], event["related"]["uid"]) == ("u7", "u1")
    assert left is not None
    assert left.metadata.uid == "u7"
    assert left.metadata.deletion_timestamp is not None


_LEFTOVERS: dict[str, Answer] = {
    "a Status": ok(b'{"kind":"Status","status":"Success"}'),
    "no JSON": ok(b"deleted"),
    "the pod as it was": evicted_json(leaving=False),
    "another pod": evicted_json(uid="u8"),
}


@pytest.mark.parametrize("answer", _LEFTOVERS.values(), ids=_LEFTOVERS)
async def test_an_answer_that_tells_of_no_leaving_pod_leaves_nothing(answer: Answer) -> None:
    """Without a grace period the victim is gone at once; it is told all the same."""
    desk = Desk(DELETE=[answer])
    assert await desk.writer.evict(_VICTIM, _POD, "n1") is None
    await settle()
    assert [event["reason"] for event in desk.bodies("POST")] == ["Preempted"]


@pytest.mark.parametrize("status", [404, 409])
async def test_a_victim_that_was_gone_before_is_not_told_of(status: int) -> None:
    """Gone, or followed by another of its name: that was wanted, and is nobody's doing here."""
    desk = Desk(PATCH=[refusal(status, "Gone")], DELETE=[refusal(status, "Gone")])
    assert await desk.writer.evict(_VICTIM, _POD, "n1") is None
    await settle()
    assert desk.sent("POST") == []


async def test_a_victim_that_others_write_to_is_deleted_all_the_same() -> None:
    """A conflict over its condition does not mean that it is gone; the preemptor would wait for ever."""
    desk = Desk(PATCH=[refusal(409, "Conflict")], DELETE=[evicted_json()])
    assert await desk.writer.evict(_VICTIM, _POD, "n1") is not None
    await settle()
    assert [event["reason"] for event in desk.bodies("POST")] == ["Preempted"]


@pytest.mark.parametrize("doubt", [_LOST, refusal(504, "Timeout"), Unreachable("refused")])
async def test_a_delete_in_doubt_is_sent_again(doubt: Answer) -> None:
    """With the UID it can't hit another pod; that nothing is found the second time is what was wanted."""
    desk = Desk(DELETE=[doubt, refusal(404, "NotFound")])
    assert await desk.writer.evict(_VICTIM, _POD, "n1") is None
    await settle()
    first, second = desk.bodies("DELETE")
    assert first == second
    assert [event["reason"] for event in desk.bodies("POST")] == ["Preempted"]


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_an_eviction_that_fails_is_a_fault_and_told_to_nobody(method: str) -> None:
    """A right that is missing, say; a victim that could not be marked is not deleted."""
    answers: dict[str, list[Answer]] = {method: [refusal(403, "Forbidden")]}
    desk = Desk(**answers)
    with pytest.raises(RequestError):
        await desk.writer.evict(_VICTIM, _POD, "n1")
    await settle()
    assert desk.sent("POST") == []
    assert len(desk.sent("DELETE")) == (method == "DELETE")

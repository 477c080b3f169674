"""Informer, dispatcher and event recorder on a real API server, partly through the fault proxy.

What the connections below do when they break is tested in test_round_trippers.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from scheduler.api.decoding import decode_node, decode_pod
from scheduler.api.types import Node, ObjectReference, Pod
from scheduler.client.api_dispatcher import ApiCall, ApiDispatcher, Priority
from scheduler.client.credentials import load_credentials
from scheduler.client.errors import AnswerLost, Conflict, Fenced, NotFound
from scheduler.client.event_recorder import EventRecorder, EventType
from scheduler.client.informer import Added, Deleted, Informer, InformerError, Updated
from scheduler.client.reflector import ReflectorSettings
from scheduler.client.round_tripper import Gate
from scheduler.client.transport import Response, Retry, Transport, open_transport
from scheduler.client.watch_decoding import Resource
from tests.conftest import Cluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import CutAfterCommit, ExpireWatch, Refuse, Rewrite, Rule, SilentWatch, Truncate
from tests.controlplane.resources import node_manifest, pod_manifest

_SECONDS = 30.0


class _Counts:
    """Counts for all recorders."""

    def __init__(self) -> None:
        self.unreadable = 0
        self.dropped_calls = 0
        self.failed_calls = 0
        self.codes: list[str] = []

    def observe(self, verb: str, host: str, code: str, seconds: float) -> None:
        self.codes.append(code)

    def malformed(self, kind: str) -> None:
        self.unreadable += 1

    def handler_failed(self, kind: str) -> None:
        raise AssertionError(kind)

    def dropped(self, call_type: str) -> None:
        self.dropped_calls += 1

    def failed(self, call_type: str) -> None:
        self.failed_calls += 1


@asynccontextmanager
async def _transport(
    kubeconfig: Path, counts: _Counts | None = None, gate: Gate | None = None
) -> AsyncIterator[Transport]:
    transport = open_transport(await load_credentials(str(kubeconfig)), "test", recorder=counts or _Counts(), gate=gate)
    try:
        yield transport
    finally:
        await transport.close()


class _Follower:
    """An informer of the pods of one namespace, and the story that its handler was told."""

    def __init__(self, transport: Transport, namespace: str, settings: ReflectorSettings, counts: _Counts) -> None:
        self.story: list[str] = []
        self.fatal: list[InformerError] = []
        self._changed = asyncio.Event()
        resource = Resource("Pod", f"/api/v1/namespaces/{namespace}/pods", {})
        self.informer: Informer[Pod] = Informer(
            transport, resource, decode_pod, on_fatal=self.fatal.append, recorder=counts, settings=settings
        )
        self.informer.add_handler(self._tell)

    def _tell(self, event: Added[Pod] | Updated[Pod] | Deleted[Pod]) -> None:
        pod = event.new if isinstance(event, Updated) else event.obj
        self.story.append(f"{type(event).__name__} {pod.metadata.name}")
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until the condition holds after some event."""
        async with asyncio.timeout(_SECONDS):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def told(self, *story: str) -> None:
        """Waits until the story is exactly this one, as a whole."""
        await self.until(lambda: len(self.story) >= len(story))
        assert self.story == list(story)

    def names(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self.informer.list())


@asynccontextmanager
async def _follow(
    transport: Transport,
    namespace: str,
    settings: ReflectorSettings = ReflectorSettings(),  # noqa: B008 - immutable
    counts: _Counts | None = None,
) -> AsyncIterator[_Follower]:
    follower = _Follower(transport, namespace, settings, counts or _Counts())
    follower.informer.start()
    try:
        async with asyncio.timeout(_SECONDS):
            await follower.informer.wait_for_sync()
        yield follower
    finally:
        await follower.informer.stop()
    assert follower.fatal == []


async def test_informer_lists_in_pages_and_follows(cluster: Cluster) -> None:
    """What is there is listed page by page, and each change arrives as the event that it is."""
    client, namespace = cluster.client, cluster.namespace
    client.create_many(pod_manifest(f"pod-{number}", namespace) for number in range(5))
    async with (
        _transport(cluster.control_plane.kubeconfig()) as transport,
        _follow(transport, namespace, ReflectorSettings(page_size=2)) as follower,
    ):
        assert follower.names() == [f"pod-{number}" for number in range(5)]
        follower.story.clear()
        client.create(pod_manifest("new", namespace))
        client.patch("pods", "new", {"metadata": {"labels": {"a": "b"}}}, namespace)
        client.delete("pods", "new", namespace)
        client.create(pod_manifest("new", namespace))
        await follower.until(lambda: follower.story.count("Added new") == 2)
        # The server may write a pod once more on its way out.
        told = [line for line, _ in groupby(follower.story)]
        assert told == ["Added new", "Updated new", "Deleted new", "Added new"]
        found = follower.informer.get(namespace, "new")
        assert found is not None
        assert found.metadata.uid == client.get("pods", "new", namespace)["metadata"]["uid"]


async def test_informer_of_a_kind_without_namespace(cluster: Cluster) -> None:
    """Nodes are found by their name alone."""
    cluster.client.create(node_manifest("node-a"))
    fatal: list[InformerError] = []
    async with _transport(cluster.control_plane.kubeconfig()) as transport:
        informer: Informer[Node] = Informer(
            transport, Resource("Node", "/api/v1/nodes", {}), decode_node, on_fatal=fatal.append
        )
        informer.start()
        await asyncio.wait_for(informer.wait_for_sync(), _SECONDS)
        assert informer.get("", "node-a") is not None
        await informer.stop()
    assert fatal == []


async def test_field_selector_turns_a_finished_pod_into_a_deletion(cluster: Cluster) -> None:
    """A pod that leaves the selection is gone, though it still exists."""
    client, namespace = cluster.client, cluster.namespace
    client.create(pod_manifest("job", namespace))
    seen: asyncio.Queue[str] = asyncio.Queue()
    async with _transport(cluster.control_plane.kubeconfig()) as transport:
        resource = Resource("Pod", f"/api/v1/namespaces/{namespace}/pods", {"fieldSelector": "status.phase!=Succeeded"})
        informer: Informer[Pod] = Informer(transport, resource, decode_pod, on_fatal=lambda error: None)
        informer.add_handler(lambda event: seen.put_nowait(type(event).__name__))
        informer.start()
        assert await asyncio.wait_for(seen.get(), _SECONDS) == "Added"
        client.patch_status("pods", "job", {"phase": "Succeeded"}, namespace)
        assert await asyncio.wait_for(seen.get(), _SECONDS) == "Deleted"
        await informer.stop()


async def test_expired_watch_finds_the_net_change(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """After 410 the informer lists again: what vanished is deleted, what is the same is no event."""
    client, namespace = cluster.client, cluster.namespace
    client.create_many(pod_manifest(name, namespace) for name in ("stays", "goes", "changes"))
    async with (
        _transport(fault_proxy.kubeconfig()) as transport,
        _follow(transport, namespace) as follower,
    ):
        follower.story.clear()
        fault_proxy.add(Rule(ExpireWatch(), path="pods", times=1))
        with capture_logs():
            client.delete("pods", "goes", namespace)
            client.patch("pods", "changes", {"metadata": {"labels": {"a": "b"}}}, namespace)
            client.create(pod_manifest("new", namespace))
            await follower.until(lambda: "Deleted goes" in follower.story and "new" in follower.names())
        assert sorted(follower.story) == ["Added new", "Deleted goes", "Updated changes"]
        assert follower.names() == ["changes", "new", "stays"]
        assert len(fault_proxy.requests("GET", "pods", r"limit=")) == 2


async def test_silent_watch_is_given_up_and_resumed(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """A watch on which nothing comes for the time allowed is opened again and brings what was missed."""
    client, namespace = cluster.client, cluster.namespace
    async with (
        _transport(fault_proxy.kubeconfig()) as transport,
        _follow(transport, namespace, ReflectorSettings(idle_seconds=1.0)) as follower,
    ):
        fault_proxy.add(Rule(SilentWatch(), path="pods", times=1))
        client.create(pod_manifest("missed", namespace))
        await follower.told("Added missed")
        assert len(fault_proxy.requests("GET", "pods", r"limit=")) == 1


@pytest.mark.parametrize("clean_end", [True, False])
async def test_torn_watch_resumes_without_a_list(cluster: Cluster, fault_proxy: FaultProxy, clean_end: bool) -> None:
    """An event that breaks off in the middle is brought again by the next watch, and the others only once."""
    client, namespace = cluster.client, cluster.namespace
    async with (
        _transport(fault_proxy.kubeconfig()) as transport,
        _follow(transport, namespace) as follower,
    ):
        fault_proxy.add(Rule(Truncate(clean_end), path="pods", skip=1, times=1))
        for name in ("first", "torn", "last"):
            client.create(pod_manifest(name, namespace))
        await follower.told("Added first", "Added torn", "Added last")
        assert len(fault_proxy.requests("GET", "pods", r"limit=")) == 1


@pytest.mark.parametrize(
    "fault", [Refuse(HTTPStatus.SERVICE_UNAVAILABLE), Refuse(HTTPStatus.TOO_MANY_REQUESTS, 1), Truncate()]
)
async def test_failing_list_is_tried_again(cluster: Cluster, fault_proxy: FaultProxy, fault: Refuse | Truncate) -> None:
    """Lists that are refused or torn are repeated until they succeed."""
    cluster.client.create(pod_manifest("a", cluster.namespace))
    rule = fault_proxy.add(Rule(fault, query="limit=", times=2))
    with capture_logs():
        async with (
            _transport(fault_proxy.kubeconfig()) as transport,
            _follow(transport, cluster.namespace) as follower,
        ):
            assert follower.names() == ["a"]
    assert rule.fired == 2


async def test_unreadable_objects_are_left_out(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """An object that no pod can look like is counted, in a list and in a watch, and the others go on."""
    client, namespace = cluster.client, cluster.namespace
    client.create_many(pod_manifest(name, namespace) for name in ("good", "bad-listed"))
    counts = _Counts()
    fault_proxy.add(Rule(Rewrite('"name":"bad-', '"labels":7,"name":"bad-'), path="pods"))
    with capture_logs():
        async with (
            _transport(fault_proxy.kubeconfig()) as transport,
            _follow(transport, namespace, counts=counts) as follower,
        ):
            client.create(pod_manifest("bad-watched", namespace))
            client.create(pod_manifest("last", namespace))
            await follower.told("Added good", "Added last")
    assert counts.unreadable == 2


async def test_missing_right_is_fatal(cluster: Cluster) -> None:
    """A user who may not list gets one line that says so."""
    fatal: asyncio.Future[InformerError] = asyncio.get_running_loop().create_future()
    async with _transport(cluster.control_plane.kubeconfig(User.PODIUM)) as transport:
        informer: Informer[Node] = Informer(
            transport, Resource("Node", "/api/v1/nodes", {}), decode_node, on_fatal=fatal.set_result
        )
        informer.start()
        error = await asyncio.wait_for(fatal, _SECONDS)
        await informer.stop()
    assert 'User "podium" cannot list resource "nodes"' in str(error)
    assert "let the scheduler's role get, list and watch it" in str(error)


async def test_informer_survives_a_killed_api_server(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """After the server came back the informer goes on from where it was, without events for what did not change."""
    control_plane = fresh_control_plane()
    with control_plane.client() as client:
        client.create(pod_manifest("before", "default"))
        with capture_logs():
            async with (
                _transport(control_plane.kubeconfig()) as transport,
                _follow(transport, "default") as follower,
            ):
                await asyncio.to_thread(control_plane.restart_api_server)
                client.create(pod_manifest("after", "default"))
                await follower.told("Added before", "Added after")


def _binding(namespace: str, pod: str, node: str, uid: str | None = None) -> tuple[str, bytes]:
    metadata = {"name": pod, "namespace": namespace} | ({"uid": uid} if uid else {})
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}}
    return f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", msgspec.json.encode(body)


async def test_bind_whose_answer_is_lost_was_carried_out_once(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """The caller is told of the doubt, and nothing is sent twice."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("node-a"))
    client.create(pod_manifest("a", namespace))
    fault_proxy.add(Rule(CutAfterCommit(), path="binding$"))
    dispatcher = ApiDispatcher(_Counts())
    async with _transport(fault_proxy.kubeconfig()) as transport:
        send = partial(transport.post, *_binding(namespace, "a", "node-a"))
        with pytest.raises(AnswerLost):
            await dispatcher.run(ApiCall("pod_binding", Priority.BIND, send, "uid"))
        assert (
            msgspec.json.decode((await transport.get(f"/api/v1/namespaces/{namespace}/pods/a")).body)["spec"][
                "nodeName"
            ]
            == "node-a"
        )
    assert len(fault_proxy.requests("POST", "binding$")) == 1


async def test_refusals_are_told_apart(cluster: Cluster) -> None:
    """A second bind, a bind of another UID and a missing pod are what the server says they are."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("node-a"))
    client.create(pod_manifest("a", namespace))
    async with _transport(cluster.control_plane.kubeconfig()) as transport:
        with pytest.raises(Conflict):
            await transport.post(*_binding(namespace, "a", "node-a", "another-uid"))
        assert (await transport.post(*_binding(namespace, "a", "node-a"))).status == 201
        with pytest.raises(Conflict, match='already assigned to node "node-a"'):
            await transport.post(*_binding(namespace, "a", "node-a"))
        with pytest.raises(NotFound, match='pods "b" not found'):
            await transport.post(*_binding(namespace, "b", "node-a"))


async def test_server_errors_and_throttling_on_the_way(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """A write that was refused for load is sent again after the time asked; a repeatable one after 5xx too."""
    counts = _Counts()
    path = f"/api/v1/namespaces/{cluster.namespace}/pods"
    fault_proxy.add(Rule(Refuse(HTTPStatus.TOO_MANY_REQUESTS, 1), method="POST", times=1))
    fault_proxy.add(Rule(Refuse(HTTPStatus.INTERNAL_SERVER_ERROR), method="PATCH", times=1))
    async with _transport(fault_proxy.kubeconfig(), counts) as transport:
        manifest = pod_manifest("a", cluster.namespace)
        assert (await transport.post(path, msgspec.json.encode(manifest))).status == 201
        patch = msgspec.json.encode({"metadata": {"labels": {"a": "b"}}})
        assert (await transport.patch(f"{path}/a", patch, retry=Retry.IF_IN_DOUBT)).status == 200
        await transport.delete(f"{path}/a", b'{"gracePeriodSeconds":0}')
    assert counts.codes == ["429", "201", "500", "200", "200"]
    assert {logged.user_agent for logged in fault_proxy.requests()} == {"podium/0.1.0 (test)"}


async def test_gate_keeps_writes_from_the_server(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """A closed gate lets reads through and no write, except where it says so."""

    def gate(method: str, target: str) -> bool:
        return "/leases/" in target

    async with _transport(fault_proxy.kubeconfig(), gate=gate) as transport:
        pods = f"/api/v1/namespaces/{cluster.namespace}/pods"
        with pytest.raises(Fenced):
            await transport.post(pods, msgspec.json.encode(pod_manifest("a", cluster.namespace)))
        await transport.get(pods)
        with pytest.raises(NotFound):
            await transport.patch(f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/x", b"{}")
    assert fault_proxy.requests("POST") == []
    assert len(fault_proxy.requests("PATCH")) == 1


@asynccontextmanager
async def _recorder(transport: Transport, counts: _Counts) -> AsyncIterator[EventRecorder]:
    dispatcher = ApiDispatcher(counts)
    yield EventRecorder(transport, dispatcher, "podium", "podium-host")
    assert await dispatcher.drain(_SECONDS) == 0


def _events(cluster: Cluster) -> list[dict[str, Any]]:
    answer = cluster.client.request("GET", f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events")
    events: list[dict[str, Any]] = answer["items"]
    return sorted(events, key=lambda event: str(event["note"]))


async def test_events_are_accepted_and_folded(cluster: Cluster) -> None:
    """The server takes our events as they are, and repeats become a series on the first one."""
    pod = cluster.client.create(pod_manifest("web-0", cluster.namespace))
    regarding = ObjectReference("v1", "Pod", cluster.namespace, "web-0", pod["metadata"]["uid"])
    related = ObjectReference("v1", "Node", None, "node-a", "uid")
    counts = _Counts()
    async with (
        _transport(cluster.control_plane.kubeconfig(), counts) as transport,
        _recorder(transport, counts) as recorder,
    ):
        recorder.record(regarding, EventType.NORMAL, "Scheduled", "Binding", "bound " * 400, related, once=True)
        fail = partial(recorder.record, regarding, EventType.WARNING, "FailedScheduling", "Scheduling")
        fail("no room")
        fail("a taint")
        async with asyncio.timeout(_SECONDS):
            while counts.codes.count("201") < 3:  # noqa: ASYNC110 - three answers of another process
                await asyncio.sleep(0.02)
        fail("a taint")
        fail("a taint")
    taint, bound, room = _events(cluster)
    assert taint["series"]["count"] == 2
    assert "series" not in room
    assert (room["reportingController"], room["reportingInstance"]) == ("podium", "podium-host")
    assert (room["type"], room["reason"], room["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert room["regarding"]["uid"] == pod["metadata"]["uid"]
    assert bound["related"]["name"] == "node-a"
    assert len(bound["note"]) == 1024
    assert (counts.failed_calls, counts.dropped_calls) == (0, 0)


async def test_event_with_a_lost_answer_is_written_once(cluster: Cluster, fault_proxy: FaultProxy) -> None:
    """A repeated creation is recognised by its name."""
    fault_proxy.add(Rule(CutAfterCommit(), path="events$", times=1))
    counts = _Counts()
    regarding = ObjectReference("v1", "Pod", cluster.namespace, "web-0", "uid")
    async with _transport(fault_proxy.kubeconfig()) as transport, _recorder(transport, counts) as recorder:
        recorder.record(regarding, EventType.NORMAL, "Scheduled", "Binding", "bound", once=True)
    assert len(_events(cluster)) == 1
    assert len(fault_proxy.requests("POST", "events$")) == 2
    assert counts.failed_calls == 0


async def test_thousand_calls_at_once(cluster: Cluster) -> None:
    """Many binds and events at once all arrive, with no more in flight than allowed."""
    client, namespace = cluster.client, cluster.namespace
    client.create(node_manifest("node-a"))
    client.create_many(pod_manifest(f"pod-{number}", namespace, requests={}) for number in range(300))
    counts = _Counts()
    dispatcher = ApiDispatcher(counts, max_in_flight=20)
    async with _transport(cluster.control_plane.kubeconfig(), counts) as transport:
        recorder = EventRecorder(transport, dispatcher, "podium", "podium-host")

        async def bind(number: int) -> Response | None:
            send = partial(transport.post, *_binding(namespace, f"pod-{number}", "node-a"))
            answer = await dispatcher.run(ApiCall("pod_binding", Priority.BIND, send, f"uid-{number}"))
            regarding = ObjectReference("v1", "Pod", namespace, f"pod-{number}", f"uid-{number}")
            recorder.record(regarding, EventType.NORMAL, "Scheduled", "Binding", "bound", once=True)
            return answer

        answers = await asyncio.gather(*(bind(number) for number in range(300)))
        assert await dispatcher.drain(_SECONDS) == 0
    assert {answer.status for answer in answers if answer is not None} == {201}
    assert len(_events(cluster)) == 300
    assert all(pod["spec"]["nodeName"] == "node-a" for pod in client.list("pods", namespace))

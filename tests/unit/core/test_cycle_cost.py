"""A scheduling cycle takes the same Python work however many nodes and pods there are.

Counted are calls and lines of Python, which a loop over nodes or pods would multiply; what numpy does in one call is
one step. A pod of the kind was there before, so that columns stand already; measured are one that reads like no pod
before, and one that reads like it. The first use of a selector of pods may look at the pods that it selects, whose
number does not grow here.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import msgspec
import pytest

from scheduler.api.decoding import DECODERS, decode_pod
from scheduler.core.algorithm import ScheduleAlgorithm, decide
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_node, make_pod
from tests.unit.core.framework.profiles import default_framework

FEW, MANY = 500, 5_000
PODS_OF_AN_APP = 10
SLACK = 60
"""Steps by which two cycles may differ; a loop over nodes or pods makes thousands."""

GPU = "example.com/gpu"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"

Spec = dict[str, Any]


class FirstOfEquals:
    """Takes the first of equal nodes."""

    def randrange(self, stop: int) -> int:
        return 0


def node_affinity(*required: Spec, wish: Spec | None = None) -> Spec:
    affinity: Spec = {}
    if required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(required)}
    if wish:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 10, "preference": wish}]
    return {"affinity": {"nodeAffinity": affinity}}


def where(key: str, operator: str, *values: str) -> Spec:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


def named(name: str) -> Spec:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


def pod_affinity(kind: str, key: str, number: int, *, wish: bool = False) -> Spec:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": f"app-{number}"}}}
    if wish:
        wishes = [{"weight": 10, "podAffinityTerm": term}]
        return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(key: str, number: int, when: str) -> Spec:
    selector = {"matchLabels": {"app": f"app-{number}"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def claim(name: str) -> Spec:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


KINDS: dict[str, Callable[[int], Spec]] = {
    "plain": lambda number: {},
    "extended resource": lambda number: {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": f"{number}m", GPU: "1"}}}]
    },
    "too large": lambda number: {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{number}k"}}}]},
    "node selector": lambda number: {"nodeSelector": {ZONE: f"zone-{number % 3}"}},
    "node selector by host": lambda number: {"nodeSelector": {HOST: f"node-{number}"}},
    "node affinity": lambda number: node_affinity(where(ZONE, "NotIn", f"zone-{number}"), where(HOST, "Exists")),
    "node affinity by size": lambda number: node_affinity(where("size", "Gt", str(number))),
    "preferred node affinity": lambda number: node_affinity(wish=where(ZONE, "In", f"zone-{number % 3}")),
    "named node": lambda number: node_affinity(named(f"node-{number}")),
    "tolerations": lambda number: {"tolerations": [{"key": f"taint-{number}", "operator": "Exists"}]},
    "host port": lambda number: {"containers": [{"name": "c", "ports": [{"hostPort": 8000 + number}]}]},
    "image": lambda number: {"containers": [{"name": "c", "image": f"image-{number}"}]},
    "declared feature": lambda number: {"hostNetwork": True, "hostUsers": False},
    "pod affinity": lambda number: pod_affinity("podAffinity", ZONE, number),
    "pod affinity by host": lambda number: pod_affinity("podAffinity", HOST, number),
    "pod anti-affinity": lambda number: pod_affinity("podAntiAffinity", HOST, number),
    "preferred pod affinity": lambda number: pod_affinity("podAffinity", ZONE, number, wish=True),
    "spread": lambda number: spread(ZONE, number, "DoNotSchedule"),
    "spread by host": lambda number: spread(HOST, number, "DoNotSchedule"),
    "preferred spread": lambda number: spread(ZONE, number, "ScheduleAnyway"),
    "preferred spread by host": lambda number: spread(HOST, number, "ScheduleAnyway"),
    "bound claim": lambda number: claim(f"bound-{number}"),
    "claim to be provisioned": lambda number: claim(f"waiting-{number}"),
    "read-write-once-pod claim": lambda number: claim(f"alone-{number}"),
    "preferred pod anti-affinity": lambda number: pod_affinity("podAntiAffinity", HOST, number, wish=True),
}
"""The spec of a pod of each kind; each number gives one that reads unlike the others."""


class Cluster:
    """So many nodes of three zones, each with a pod of some app with a volume, and the default profile."""

    def __init__(self, nodes: int) -> None:
        state = ClusterState()
        self._objects = state.objects
        self._see(
            "StorageClass", "late", {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
        )
        self._see("CSIDriver", "csi.example.com", {"spec": {}})
        for number in range(3):
            self._see_claim(f"bound-{number}", "ReadWriteOnce", volume=f"volume-{number}")
            self._see_claim(f"alone-{number}", "ReadWriteOncePod", volume=f"lonely-{number}")
            self._see_claim(f"waiting-{number}", "ReadWriteOnce")
        self.cache = state.cache
        self.snapshot = Snapshot(state)
        self.framework = default_framework({}, state)
        for number in range(nodes):
            name = f"node-{number}"
            node = make_node(name).label({HOST: name, ZONE: f"zone-{number % 3}"}, size=str(number % 4))
            node = node.capacity({GPU: 8}, cpu="8", memory="32Gi", pods=110)
            node = node.taint(f"taint-{number % 5}", "", "PreferNoSchedule")
            self.cache.add_node(node.image(f"image-{number % 7}:latest", size_bytes=10**9).obj())
            app = f"app-{number % (nodes // PODS_OF_AN_APP)}"
            self._see_claim(f"placed-{number}", "ReadWriteOnce", volume=f"placed-{number}")
            self._see("CSINode", name, {"spec": {"drivers": [_driver(name)]}})
            pod = make_pod(f"placed-{number}").label(app=app).req(cpu="100m").pvc(f"placed-{number}").node(name)
            self.cache.add_pod(parse_pod(pod.obj()), name)
        self.snapshot.refresh()

    def _see(self, kind: str, name: str, parts: Spec, namespace: str = "") -> None:
        manifest = {"kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": f"{kind}-{name}"}} | parts
        self._objects.set(DECODERS[kind](msgspec.json.encode(manifest)))

    def _see_claim(self, name: str, access_mode: str, volume: str = "") -> None:
        amount = {"storage": "1Gi"}
        spec: Spec = {"storageClassName": "late", "accessModes": [access_mode], "resources": {"requests": amount}}
        bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if volume else {}
        metadata = {"name": name, "namespace": "default", "uid": f"claim-{name}"} | bound
        status = {"phase": "Bound" if volume else "Pending"}
        self._see(
            "PersistentVolumeClaim",
            name,
            {"metadata": metadata, "spec": spec | {"volumeName": volume}, "status": status},
        )
        if volume:
            source = {"driver": "csi.example.com", "volumeHandle": volume}
            reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": f"claim-{name}"}
            affinity = {"required": {"nodeSelectorTerms": [where(ZONE, "In", "zone-0", "zone-1")]}}
            spec = {"capacity": amount, "csi": source, "claimRef": reference, "nodeAffinity": affinity}
            spec |= {"storageClassName": "late", "accessModes": [access_mode]}
            self._see("PersistentVolume", volume, {"spec": spec, "status": {"phase": "Bound"}})

    def preempt(self, pod: PodInfo) -> str:
        """The cycle of a pod that finds room only by preemption, and the nomination that it ends with."""
        algorithm = ScheduleAlgorithm(self.snapshot, self.framework, FirstOfEquals())
        state = CycleState()
        decision = decide(self.snapshot, pod, self.framework, FirstOfEquals())
        plan = next(algorithm.preempt(state, decision))
        assert plan.victims
        return plan.node_name

    def schedule(self, pod: PodInfo) -> str | None:
        """One cycle, and the assumption that follows it."""
        decision = decide(self.snapshot, pod, self.framework, FirstOfEquals())
        if decision.node_name is not None:
            self.cache.assume_pod(pod, decision.node_name)
        else:
            assert decision.diagnosis is not None
            decision.diagnosis.message()
        return decision.node_name


def _driver(node_name: str) -> Spec:
    return {"name": "csi.example.com", "nodeID": node_name, "allocatable": {"count": 20}}


def pod_of(kind: str, number: int, name: str, **more: object) -> PodInfo:
    spec = {"schedulerName": "podium", "containers": [{"name": "c"}]} | KINDS[kind](number) | more
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": f"app-{number}"}}
    return parse_pod(decode_pod(msgspec.json.encode({"metadata": metadata, "spec": spec})))


def steps_of(call: Callable[[], object]) -> int:
    """Calls and lines of Python that run during a call."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal steps
        steps += event in ("call", "line")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


@pytest.fixture(scope="module")
def clusters() -> dict[int, Cluster]:
    """A small and a large cluster, shared by all kinds."""
    return {nodes: Cluster(nodes) for nodes in (FEW, MANY)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_work_of_a_cycle_does_not_grow_with_the_cluster(clusters: dict[int, Cluster], kind: str) -> None:
    """Neither for a pod that reads like no other before it, nor for one that reads like it."""
    steps: dict[int, list[int]] = {}
    for nodes, cluster in clusters.items():
        cluster.schedule(pod_of(kind, 1, f"{kind}-first"))
        measured = (pod_of(kind, 2, f"{kind}-{which}") for which in ("other", "same"))
        steps[nodes] = [steps_of(partial(cluster.schedule, pod)) for pod in measured]
    for few, many in zip(steps[FEW], steps[MANY], strict=True):
        assert many <= few + SLACK, f"{FEW} nodes: {steps[FEW]} steps, {MANY} nodes: {steps[MANY]}"


def test_the_work_of_a_preemption_does_not_grow_with_the_cluster(clusters: dict[int, Cluster]) -> None:
    """Once the pods of all nodes stand in their slots, for a preemptor that reads like no other and one like it.

    Its filters read sums only; those that look at single pods (affinity to them, volumes) are asked node by node.
    """

    def preemptor(number: int, name: str) -> PodInfo:
        container = {"name": "c", "resources": {"requests": {"cpu": f"{7850 + number}m"}}}
        return pod_of("plain", number, name, priority=10, containers=[container])

    steps: dict[int, list[int]] = {}
    for nodes, cluster in clusters.items():
        cluster.preempt(preemptor(101, "first"))
        preemptors = (preemptor(102, "other"), preemptor(102, "same"))
        steps[nodes] = [steps_of(partial(cluster.preempt, pod)) for pod in preemptors]
    for few, many in zip(steps[FEW], steps[MANY], strict=True):
        assert many <= few + SLACK, f"{FEW} nodes: {steps[FEW]} steps, {MANY} nodes: {steps[MANY]}"


def test_a_loop_over_all_nodes_would_be_seen() -> None:
    """Even one that calls nothing and stands in one line."""
    assert steps_of(lambda: [number for number in range(MANY)]) > MANY  # noqa: C416 - the loop is what is measured

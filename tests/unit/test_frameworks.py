"""Profiles put to work: each framework has the plugins, weights, args and percentage of its own profile."""

import random
from typing import Any

import msgspec
import pytest

from scheduler.api.decoding import DECODERS, decode_pod
from scheduler.config.faults import ConfigurationError
from scheduler.core.algorithm import ScheduleAlgorithm, decide
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import Handle
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.recorder import SilentRecorder
from scheduler.core.framework.runtime import Framework
from scheduler.core.framework.types import PodInfo
from scheduler.frameworks import build_frameworks
from scheduler.testing import make_node, make_pod
from tests.unit.config.configurations import load, verdicts
from tests.unit.core.framework.profiles import no_api_server
from tests.unit.core.plugins.asking import parsed

ZONE = "topology.kubernetes.io/zone"
OBJECTS = {
    "PersistentVolume": {
        "metadata": {"name": "v", "labels": {ZONE: "west"}},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"name": "c"}},
    },
    "PersistentVolumeClaim": {
        "metadata": {
            "name": "c",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"volumeName": "v", "accessModes": ["ReadWriteOnce"]},
    },
}
"""A claim that is bound to a volume in one zone."""
LATE_OBJECTS = {
    "StorageClass": {
        "metadata": {"name": "late"},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    "PersistentVolumeClaim": {
        "metadata": {"name": "c", "namespace": "default", "uid": "u"},
        "spec": {
            "storageClassName": "late",
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
}
"""A claim that is bound once a pod that mounts it has its node."""


def frameworks(fields: dict[str, Any], handle: Handle | None = None) -> dict[str, Framework]:
    """The frameworks of a configuration with these top-level fields."""
    return build_frameworks(load(fields, take_over=True), handle or no_api_server(), SilentRecorder())


def test_profiles_share_no_plugin() -> None:
    """One plugin in two profiles is two plugins, each with its own args and weight."""
    packing = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    weighed = {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}}
    made = frameworks(
        {
            "percentageOfNodesToScore": 30,
            "profiles": [
                {"schedulerName": "a", "plugins": weighed},
                {"schedulerName": "b", "pluginConfig": [packing], "percentageOfNodesToScore": 0},
            ],
        }
    )
    assert list(made) == ["a", "b"]
    (of_a, of_b) = (
        next(part for part in framework.scores if part.plugin.name == "NodeResourcesFit") for framework in made.values()
    )
    assert (of_a.weight, of_b.weight) == (5, 1)
    assert of_a.plugin is not of_b.plugin
    assert [framework.percentage_of_nodes_to_score for framework in made.values()] == [30, 0]


def test_whatever_is_taken_can_be_put_to_work() -> None:
    """No configuration that was read without a fault fails later, when its plugins are made."""
    built = 0
    for verdict in verdicts():
        try:
            made = frameworks(verdict.config)
        except ConfigurationError:
            continue
        built += 1
        assert all(framework.profile_name == name for name, framework in made.items())
    assert built > 100


def test_a_plugin_works_without_the_point_that_prepares_it() -> None:
    """With preFilter and preScore all off, filters and scores still decide, and volumes are found where they are."""
    off = {"disabled": [{"name": "*"}]}
    zones = {1: "east", 4: "west", 8: "east"}
    handle = no_api_server()
    for cpu, zone in zones.items():
        node = make_node(f"n{cpu}").label({ZONE: zone}).capacity(cpu=str(cpu), memory="16Gi", pods=110)
        handle.cluster.cache.add_node(node.obj())
    for kind, raw in OBJECTS.items():
        handle.cluster.objects.set(DECODERS[kind](msgspec.json.encode(raw)))
    made = frameworks({"profiles": [{"schedulerName": "a", "plugins": {"preFilter": off, "preScore": off}}]}, handle)
    snapshot = Snapshot(handle.cluster)
    pod = make_pod("p").req(cpu="2")
    decision = decide(snapshot, parsed(pod), made["a"], random.Random(1))
    assert (decision.feasible, decision.node_name) == (2, "n8")
    decision = decide(snapshot, claimant("q"), made["a"], random.Random(1))
    assert (decision.feasible, decision.node_name) == (1, "n4")


def test_a_claim_reserved_in_one_profile_is_reserved_in_all() -> None:
    """A pod that shares the claim of another profile's pod must go where that one goes, before anything is written."""
    handle = no_api_server()
    for name in ("n1", "n2"):
        handle.cluster.cache.add_node(make_node(name).capacity(cpu="8", memory="16Gi", pods=110).obj())
    for kind, raw in LATE_OBJECTS.items():
        handle.cluster.objects.set(DECODERS[kind](msgspec.json.encode(raw)))
    made = frameworks({"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}, handle)
    snapshot = Snapshot(handle.cluster)
    first, second = claimant("p"), claimant("q")
    state = CycleState()
    with pytest.raises(StopIteration) as finished:
        next(ScheduleAlgorithm(snapshot, made["a"], random.Random(1)).schedule(state, first))
    decision = finished.value.value
    assert decision.feasible == 2
    assert made["a"].reserve(state, first, decision.node_name) is None
    following = decide(snapshot, second, made["b"], random.Random(1))
    assert (following.feasible, following.node_name) == (1, decision.node_name)


def claimant(name: str) -> PodInfo:
    """A small pod that mounts the claim."""
    raw = msgspec.json.decode(msgspec.json.encode(make_pod(name).req(cpu="2").obj()))
    raw["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    return parse_pod(decode_pod(msgspec.json.encode(raw)))

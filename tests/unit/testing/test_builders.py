"""The builders that users write their tests with."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from scheduler.api import types
from scheduler.api.decoding import decode_node, decode_pod
from scheduler.testing import FakeClock, make_node, make_pod

AT = datetime(2026, 1, 10, 9, tzinfo=UTC)


def whole_pod() -> types.Pod:
    builder = make_pod("web-0").namespace("shop").uid("u1").resource_version("7").generation(2)
    builder = builder.label({"a/b": "c"}, app="web")
    builder = builder.annotation(types.NOMINATED_NODE_ANNOTATION, "n2").owner("ReplicaSet", "web").created(AT)
    builder = builder.terminating(AT).container("web:1", {"cpu": "1"}).req({"nvidia.com/gpu": 1}, memory="1Gi")
    builder = builder.host_port(80, "TCP", "10.0.0.1").init_req(cpu=1).sidecar_req(cpu=1).pod_level_req(cpu=2)
    builder = builder.overhead(cpu="10m").node("n1").scheduler_name("other").priority(10).preemption_policy("Never")
    builder = builder.node_selector({"x/y": "z"}, disk="ssd").affinity(types.Affinity(types.NodeAffinity()))
    builder = builder.spread(types.TopologySpreadConstraint(1, "zone", "DoNotSchedule")).toleration("gpu", "Exists")
    builder = builder.scheduling_gate("quota").pvc("data").volume_kind("emptyDir").resource_claim("gpu")
    builder = builder.scheduling_group("team")
    builder = builder.phase("Running").started(AT).nominated_node("n2").condition("Ready", "True", "Why", "so")
    return builder.obj()


def test_a_pod_says_what_it_was_told() -> None:
    """Each method sets its field, and repeated ones add."""
    pod = whole_pod()
    assert (pod.metadata.name, pod.metadata.namespace, pod.metadata.uid) == ("web-0", "shop", "u1")
    assert pod.metadata.labels == {"a/b": "c", "app": "web"}
    assert [container.name for container in pod.spec.containers] == ["container-0", "container-1", "container-2"]
    assert [container.restart_policy for container in pod.spec.init_containers or ()] == [None, "Always"]
    assert pod.spec.volume_kinds == {"persistentVolumeClaim", "emptyDir"}
    assert pod.spec.node_selector == {"x/y": "z", "disk": "ssd"}
    unset = {
        *(name for name in pod.spec.__struct_fields__ if getattr(pod.spec, name) is None),
        *(name for name in pod.metadata.__struct_fields__ if getattr(pod.metadata, name) is None),
        *(name for name in pod.status.__struct_fields__ if getattr(pod.status, name) is None),
    }
    not_for_builders = {"priority_class_name", "host_network", "host_users", "termination_grace_period_seconds"}
    reported_by_nodes = {"reason", "container_statuses", "init_container_statuses", "allocated_resources", "resources"}
    assert unset == not_for_builders | reported_by_nodes


def test_a_built_pod_is_one_that_could_have_come_over_the_wire() -> None:
    """Encoded and decoded it is the same, but for kinds of volumes that no plugin reads."""
    pod = whole_pod()
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(pod))
    document["spec"]["volumes"].append({"name": "tmp", "emptyDir": {}})
    assert decode_pod(msgspec.json.encode(document)) == pod


def test_a_bare_pod_is_complete() -> None:
    """Without a word it is pending, belongs to Podium, and has a container and a uid of its own."""
    pod = make_pod("a").obj()
    assert pod.spec.scheduler_name == "podium"
    assert pod.status.phase == "Pending"
    assert len(pod.spec.containers) == 1
    assert pod.metadata.uid != make_pod("a").namespace("other").obj().metadata.uid


def test_a_half_made_pod_starts_several() -> None:
    """A builder is not changed by what is made from it."""
    half = make_pod("a").req(cpu="1")
    assert half.priority(1).obj().spec.priority == 1
    assert half.obj().spec.priority is None


def test_a_node_says_what_it_was_told() -> None:
    """Each method sets its field, and repeated ones add."""
    builder = make_node("n1").capacity({"nvidia.com/gpu": 8}, cpu="64").allocatable(cpu="63").label(disk="ssd")
    builder = builder.taint("gpu", "true", "NoExecute").unschedulable().image("web:1", "web@sha256:1", size_bytes=5)
    builder = builder.condition("Ready", "True").declared_features("RestartAllContainers").uid("u").created(AT)
    node = builder.resource_version("9").obj()
    assert node.metadata.labels == {"kubernetes.io/hostname": "n1", "disk": "ssd"}
    assert node.status.capacity == {"cpu": "64", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": 8}
    assert node.status.allocatable == {"cpu": "63", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": 8}
    assert node.spec.unschedulable
    unschedulable = types.Taint("node.kubernetes.io/unschedulable", None, "NoSchedule")
    assert node.spec.taints == (types.Taint("gpu", "true", "NoExecute"), unschedulable)
    assert decode_node(msgspec.json.encode(node)) == node


def test_time_moves_when_told() -> None:
    """The fake clock stands still between calls and does not go back."""
    clock = FakeClock(100.0)
    assert clock.now() == clock.now() == 100.0
    clock.advance(0.5)
    assert clock.now() == 100.5
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)

"""UnsupportedFeatures: what Podium does not understand yet is named, never ignored."""

import pytest

from scheduler.api.decoding import decode_pod
from scheduler.config.plugin_args import NodeResourcesFitArgs
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.framework.cycle_state import CycleState
from scheduler.core.framework.interface import PreFilterResult
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.status import Status
from scheduler.core.framework.types import QueuedPodInfo
from scheduler.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler.core.plugins.unsupported_features import UnsupportedFeatures
from scheduler.testing import PodBuilder, make_node, make_pod
from tests.unit.core.plugins.asking import UU, parsed, rejections, snapshot_of

PLUGIN = UnsupportedFeatures()


def answer(pod: PodBuilder) -> PreFilterResult | Status | None:
    return PLUGIN.pre_filter(CycleState(), parsed(pod), snapshot_of(make_node("n1")))


@pytest.mark.parametrize(
    ("pod", "feature"),
    [
        (make_pod("p").resource_claim("gpu"), "resourceClaims"),
        (
            make_pod("p").req({"deviceclass.resource.kubernetes.io/gpu": 1}),
            "the resource deviceclass.resource.kubernetes.io/gpu",
        ),
        (make_pod("p").scheduling_group("team"), "schedulingGroup"),
    ],
)
def test_the_feature_is_named(pod: PodBuilder, feature: str) -> None:
    """The rejection says which feature and that it is a matter of time."""
    assert answer(pod) == Status.of(UU, f"pod uses {feature}, which is not supported yet")


def test_a_volume_of_an_unknown_kind_is_named() -> None:
    """It did not exist when this was written, so nobody knows where it can be had."""
    expected = Status.of(UU, "pod uses a volume of kind kindOfTomorrow, which is not supported yet")
    assert answer_to_volume('{"name": "v", "kindOfTomorrow": {}}') == expected


@pytest.mark.parametrize("kind", ["configMap", "emptyDir", "nfs", "persistentVolumeClaim", "ephemeral", "csi", "rbd"])
def test_volumes_of_known_kinds_pass(kind: str) -> None:
    """They bind to no node, or the plugins for volumes see to them."""
    assert answer_to_volume(f'{{"name": "v", "{kind}": {{}}}}') is None


def answer_to_volume(volume: str) -> PreFilterResult | Status | None:
    pod = decode_pod(f'{{"metadata": {{"name": "p"}}, "spec": {{"volumes": [{volume}]}}}}'.encode())
    return PLUGIN.pre_filter(CycleState(), parse_pod(pod), snapshot_of(make_node("n1")))


def test_ordinary_pods_pass() -> None:
    """All that the other plugins understand is no matter of this one."""
    pod = make_pod("p").req({"deviceclass.resource.kubernetes.io/gpu": 0}, cpu="1").host_port(80)
    assert answer(pod.node_selector(disk="ssd").toleration("gpu", "Exists")) is None


def test_a_resource_that_a_device_class_may_stand_behind() -> None:
    """It is not refused outright: it fits where a node offers it, and is named as insufficient elsewhere."""
    pod = make_pod("p").req({"example.com/gpu": 1})
    assert answer(pod) is None
    nodes = snapshot_of(make_node("plugin").capacity({"example.com/gpu": 1}), make_node("devices"))
    fit = NodeResourcesFit(NodeResourcesFitArgs(), ClusterState())
    assert rejections(fit, pod, nodes) == {"devices": (UU, ["Insufficient example.com/gpu"])}


def test_a_refused_pod_is_not_woken_by_its_own_condition() -> None:
    """A change of its spec may help, one of its status can't."""
    (own,) = PLUGIN.events_to_register()
    pod = make_pod("p").label(app="web")
    assert own.hint is not None
    for after, helps in (
        (pod.condition("PodScheduled", "False", "Unschedulable"), False),
        (pod.label(app="db"), False),
        (pod.toleration("a", "Exists"), True),
    ):
        assert own.hint(QueuedPodInfo(parsed(pod), 0.0), parsed(pod), parsed(after)) is helps

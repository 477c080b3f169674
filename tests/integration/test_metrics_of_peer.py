"""Podium measures what kube-scheduler measures, under the same names, types, labels and buckets."""

import re
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.control_plane import PeerScheduler
from tests.controlplane.resources import pod_manifest
from tests.integration.observations import PATIENCE_SECONDS, wait_until_bound, wait_until_refused
from tests.integration.podium import Podiums

_PEER = "peer"
_SAID = re.compile(r"^\[(STABLE|BETA)\]")
# What else the peer promises is about its libraries: API server code, work queues, feature gates.
_OF_A_SCHEDULER = "scheduler_"
# Steps that are none of their own here: signatures are part of filtering and scoring, and no plugin has a say between
# reserving and binding.
_ONLY_THE_PEERS_STEPS = {"Sign", "PreScore", "Permit", "PreBindPreFlight"}
# The values of these labels are a closed set of words, which dashboards select by.
_WORDS = {"result", "queue", "extension_point"}
# Either times plugins in some cycles only, so that its words are a matter of chance.
_SAMPLED = "scheduler_plugin_execution_duration_seconds"


@dataclass(frozen=True)
class Shape:
    """What a dashboard relies on."""

    kind: str
    help: str
    labels: frozenset[str]
    buckets: frozenset[str]


def shape(metric: Metric) -> Shape:
    """The shape of a metric with samples."""
    labels = {label for sample in metric.samples for label in sample.labels}
    buckets = {sample.labels["le"] for sample in metric.samples if "le" in sample.labels}
    return Shape(metric.type, metric.documentation, frozenset(labels), frozenset(map(_number, buckets)))


def _number(bound: str) -> str:
    return f"{float(bound):.6g}"


def families(peer: PeerScheduler) -> dict[str, Metric]:
    """All metrics of the peer by name."""
    return {family.name: family for family in text_string_to_metric_families(peer.read_metrics())}


def promised(metrics: dict[str, Metric]) -> set[str]:
    """Those with samples that are STABLE or BETA."""
    return {name for name, family in metrics.items() if _SAID.match(family.documentation) and family.samples}


def words(metric: Metric, label: str) -> set[str]:
    """All values of a label."""
    return {sample.labels[label] for sample in metric.samples if label in sample.labels}


def test_metrics_have_the_shape_of_the_peers(cluster: Cluster, podium: Podiums) -> None:
    """After the same work every STABLE or BETA metric of the peer is there and looks the same."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(2)
    process = podium.start(cluster.control_plane)
    peer = cluster.control_plane.start_peer(_PEER)
    # Plugins are timed in some cycles only, so there must be many.
    for scheduler_name in ("podium", _PEER):
        names = [f"{scheduler_name}-{index}" for index in range(100)]
        client.create_many(pod_manifest(name, namespace, scheduler_name=scheduler_name) for name in names)
        wait_until_bound(client, namespace, names)
        huge = pod_manifest(f"{scheduler_name}-huge", namespace, scheduler_name=scheduler_name, requests={"cpu": "1k"})
        client.create(huge)
        wait_until_refused(client, f"{scheduler_name}-huge", namespace)
        gates = [{"name": "example.com/wait"}]
        client.create(
            pod_manifest(f"{scheduler_name}-gated", namespace, scheduler_name=scheduler_name, schedulingGates=gates)
        )
    # kube-scheduler writes some of its metrics down only once a second.
    wait_until(lambda: _SAMPLED in promised(families(peer)), PATIENCE_SECONDS, what="all metrics of the peer")
    ours, theirs = process.metrics(), families(peer)
    compared = {name for name in promised(theirs) if name.startswith(_OF_A_SCHEDULER)}
    assert {name: shape(ours[name]) for name in compared} == {name: shape(theirs[name]) for name in compared}
    for name in compared - {_SAMPLED}:
        for label in _WORDS & shape(ours[name]).labels:
            assert words(ours[name], label) <= words(theirs[name], label) | {"error"}, f"{label} of {name}"
    steps = "scheduler_framework_extension_point_duration_seconds"
    assert words(theirs[steps], "extension_point") - words(ours[steps], "extension_point") == _ONLY_THE_PEERS_STEPS


def test_metrics_count_what_happened(cluster: Cluster, podium: Podiums) -> None:
    """Attempts, pods, queue, cache and calls add up after five pods bound and one refused."""
    client, namespace = cluster.client, cluster.namespace
    client.create_nodes(3)
    process = podium.start(cluster.control_plane)
    names = [f"pod-{index}" for index in range(5)]
    client.create_many(pod_manifest(name, namespace) for name in names)
    client.create(pod_manifest("huge", namespace, requests={"cpu": "1k"}))
    wait_until_bound(client, namespace, names)
    wait_until_refused(client, "huge", namespace)
    sample = process.sample
    assert sample("scheduler_schedule_attempts_total", result="scheduled", profile="podium") == 5
    assert sample("scheduler_schedule_attempts_total", result="unschedulable", profile="podium") == 1
    assert sample("scheduler_scheduling_attempt_duration_seconds_count", result="scheduled") == 5
    assert sample("scheduler_scheduling_algorithm_duration_seconds_count") == 6
    assert sample("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 5
    assert sample("scheduler_pod_scheduling_attempts_sum") == 5
    assert sample("scheduler_pending_pods", queue="unschedulable") == 1
    assert sample("scheduler_queue_incoming_pods_total", queue="active", event="UnscheduledPodAdd") == 6
    assert sample("scheduler_cache_size", type="nodes") == 3
    for point in ("Reserve", "PreBind", "Bind", "PostBind"):
        assert sample("scheduler_framework_extension_point_duration_seconds_count", extension_point=point) == 5
    assert sample("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile="podium") == 1
    assert sample("scheduler_plugin_evaluation_total", plugin="NodeResourcesFit", extension_point="Filter") >= 6
    assert sample("scheduler_goroutines", operation="binding") == 0
    assert sample("rest_client_requests_total", code="201", method="POST") >= 5
    assert sample("podium_loop_lag_seconds_count") > 0
    assert sample("scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 3

"""The instruments of a process: names, labels and what each report counts.

That names, labels and buckets equal those of the real kube-scheduler is compared by an integration test.
"""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scheduler.telemetry.gauges import SchedulerGauges
from scheduler.telemetry.instruments import exponential_buckets
from scheduler.telemetry.metrics import AttemptResult, Metrics


@pytest.fixture
def metrics() -> Metrics:
    """Metrics of a process that has done nothing."""
    return Metrics()


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """The value of one sample."""
    return metrics.registry.get_sample_value(name, labels)


def test_an_attempt_is_counted_and_timed(metrics: Metrics) -> None:
    """The counter and the histogram agree on result and profile."""
    metrics.attempt("podium", AttemptResult.SCHEDULED, 0.003)
    metrics.attempt("podium", AttemptResult.UNSCHEDULABLE, 0.001)
    metrics.attempt("podium", AttemptResult.SCHEDULED, 0.004)
    scheduled = {"result": "scheduled", "profile": "podium"}
    assert value(metrics, "scheduler_schedule_attempts_total", **scheduled) == 2
    assert value(metrics, "scheduler_scheduling_attempt_duration_seconds_count", **scheduled) == 2
    assert value(metrics, "scheduler_scheduling_attempt_duration_seconds_bucket", le="0.002", **scheduled) == 0
    assert value(metrics, "scheduler_scheduling_attempt_duration_seconds_bucket", le="0.004", **scheduled) == 2
    assert value(metrics, "scheduler_schedule_attempts_total", result="unschedulable", profile="podium") == 1


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (400, "15+")])
def test_the_attempts_label_saturates(metrics: Metrics, attempts: int, label: str) -> None:
    """However often a pod was tried, the label has at most 15 values."""
    metrics.pod_scheduled(attempts, sli_seconds=0.5)
    assert value(metrics, "scheduler_pod_scheduling_sli_duration_seconds_count", attempts=label) == 1
    assert value(metrics, "scheduler_pod_scheduling_attempts_sum") == attempts


def test_each_report_has_its_metric(metrics: Metrics) -> None:
    """Every report of the core and the client lands under kube-scheduler's name and labels."""
    metrics.algorithm(0.001)
    metrics.extension_point("podium", "Filter", "Success", 0.0001)
    metrics.plugin("NodeName", "Filter", "Unschedulable", 0.00001)
    metrics.pod_queued("active", "UnscheduledPodAdd")
    metrics.event_handled("NodeAdd", 0.0002)
    metrics.requests.observe("POST", "127.0.0.1:6443", "201", 0.02)
    metrics.requests.observe("POST", "127.0.0.1:6443", "<error>", 0.02)
    filtered = {"extension_point": "Filter", "status": "Success", "profile": "podium"}
    plugin = {"plugin": "NodeName", "extension_point": "Filter", "status": "Unschedulable"}
    queued = {"queue": "active", "event": "UnscheduledPodAdd"}
    host = "127.0.0.1:6443"
    assert value(metrics, "scheduler_scheduling_algorithm_duration_seconds_count") == 1
    assert value(metrics, "scheduler_framework_extension_point_duration_seconds_count", **filtered) == 1
    assert value(metrics, "scheduler_plugin_execution_duration_seconds_count", **plugin) == 1
    assert value(metrics, "scheduler_queue_incoming_pods_total", **queued) == 1
    assert value(metrics, "scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 1
    assert value(metrics, "rest_client_requests_total", code="201", method="POST", host=host) == 1
    assert value(metrics, "rest_client_requests_total", code="<error>", method="POST", host=host) == 1
    assert value(metrics, "rest_client_request_duration_seconds_count", verb="POST", host=host) == 2


def test_our_own_metrics(metrics: Metrics) -> None:
    """What kube-scheduler has no name for begins with podium_."""
    metrics.loop_lag.labels().observe(0.01)
    metrics.malformed_objects.labels("Pod").inc()
    metrics.events_dropped.labels().inc(3)
    metrics.cycle_errors.labels().inc()
    assert value(metrics, "podium_loop_lag_seconds_count") == 1
    assert value(metrics, "podium_malformed_objects_total", kind="Pod") == 1
    assert value(metrics, "podium_events_dropped_total") == 3
    assert value(metrics, "podium_cycle_errors_total") == 1


def test_gauges_are_read_when_they_are_scraped(metrics: Metrics) -> None:
    """Before anyone can count they are 0; then each scrape asks anew."""
    assert value(metrics, "scheduler_pending_pods", queue="active") == 0
    in_flight = {"PodPopped": 2, "NodeAdd": 9}
    rejections = {("NodeResourcesFit", "podium"): 3}
    asked = {("NodeAffinity", "Filter", "podium"): 11}
    full = SchedulerGauges(
        active=3,
        gated=1,
        nodes=7,
        assumed_pods=2,
        inflight_events=in_flight,
        unschedulable_pods=rejections,
        binding=6,
        plugin_evaluations=asked,
    )
    readings = iter([full, SchedulerGauges(active=4)])
    metrics.watch_gauges(lambda: next(readings))
    families = {family.name: family for family in metrics.registry.collect()}
    pending = {sample.labels["queue"]: sample.value for sample in families["scheduler_pending_pods"].samples}
    size = {sample.labels["type"]: sample.value for sample in families["scheduler_cache_size"].samples}
    assert pending == {"active": 3, "backoff": 0, "unschedulable": 0, "gated": 1}
    events = {sample.labels["event"]: sample.value for sample in families["scheduler_inflight_events"].samples}
    assert size == {"nodes": 7, "pods": 0, "assumed_pods": 2}
    assert events == in_flight
    (rejected,) = families["scheduler_unschedulable_pods"].samples
    assert rejected.labels == {"plugin": "NodeResourcesFit", "profile": "podium"}
    (binding,) = families["scheduler_goroutines"].samples
    assert binding.labels == {"operation": "binding"}
    (evaluations,) = families["scheduler_plugin_evaluation"].samples
    assert evaluations.labels == {"plugin": "NodeAffinity", "extension_point": "Filter", "profile": "podium"}
    assert (rejected.value, binding.value, evaluations.value) == (3, 6, 11)
    assert value(metrics, "scheduler_pending_pods", queue="active") == 4


def test_the_format_follows_the_accept_header(metrics: Metrics) -> None:
    """Text by default, OpenMetrics when asked for, text again when the version is nonsense."""
    body, content_type = metrics.exposition("")
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert not body.endswith(b"# EOF\n")
    body, content_type = metrics.exposition("application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    _, content_type = metrics.exposition("application/openmetrics-text; version=x")
    assert content_type.startswith("text/plain")


def test_everything_has_help_and_the_process_is_there(metrics: Metrics) -> None:
    """Each family carries a help text; the process metrics of every Prometheus client are among them."""
    families = list(text_string_to_metric_families(metrics.exposition("")[0].decode()))
    assert all(family.documentation for family in families)
    names = {family.name for family in families}
    assert {"process_cpu_seconds", "process_resident_memory_bytes", "process_start_time_seconds"} <= names
    ours = {name for name in names if name.startswith("scheduler_")}
    assert all(family.documentation.startswith("[") for family in families if family.name in ours)


def test_two_processes_share_nothing() -> None:
    """Metrics have a registry of their own; a second object starts from zero."""
    first, second = Metrics(), Metrics()
    first.cycle_errors.labels().inc()
    assert value(second, "podium_cycle_errors_total") == 0


def test_the_clock_is_the_one_given() -> None:
    """The recorder's clock comes from outside."""
    assert Metrics(clock=lambda: 42.0).clock() == 42.0


def test_hints_are_measured_by_plugin_event_and_answer(metrics: Metrics) -> None:
    """In buckets of kube-scheduler's, which are fine at the lower end."""
    metrics.queueing_hint("NodePorts", "NodeAdd", "Queue", 0.00002)
    name = "scheduler_queueing_hint_execution_duration_seconds"
    labels = {"plugin": "NodePorts", "event": "NodeAdd", "hint": "Queue"}
    assert value(metrics, f"{name}_count", **labels) == 1
    assert value(metrics, f"{name}_bucket", **labels, le="1e-05") == 0
    assert metrics.queueing_hint_execution_duration.buckets == exponential_buckets(0.00001, 1.5, 20)

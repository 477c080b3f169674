"""What Podium measures of itself.

Names, labels, buckets and help texts are kube-scheduler 1.37's wherever it measures the same, so that dashboards, rules
and alerts work unchanged; what it has no name for begins with `podium_`. Definitions: an attempt lasts from just after
the pod left the queue to the end of its binding, or to its failure being handled; the algorithm's time leaves the
binding out and includes PostFilter; the SLI runs from the pod's first entry into the active queue to its binding.

`Metrics` is made once, by the composition root. Its methods are called on the scheduling loop; where a call is very
frequent, keep the bound child of the public instrument (`metrics.event_handling_duration.labels(event)`).
"""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest

from scheduler.telemetry.gauges import GaugeCollector, SchedulerGauges
from scheduler.telemetry.instruments import Counter, Histogram, exponential_buckets

_MANY_ATTEMPTS: Final = 15
_FROM_ONE_MILLISECOND: Final = exponential_buckets(0.001, 2, 15)
_FROM_TENTH_MILLISECOND: Final = exponential_buckets(0.0001, 2, 12)
_REQUEST_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class AttemptResult(StrEnum):
    """How a scheduling attempt ended, as the label `result` spells it."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class Metrics:
    """All instruments of a process in a registry of their own, and the methods by which the core reports."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Create every instrument.

        Args:
            clock: monotonic seconds; what `clock` of a cycle's recorder gives.
        """
        self.clock = clock
        self.registry = CollectorRegistry()
        self.requests = RequestMetrics(self.registry)
        ProcessCollector(registry=self.registry)
        self._attempt_metrics()
        self._framework_metrics()
        self._queue_metrics()
        self._own_metrics()

    def _attempt_metrics(self) -> None:
        registry = self.registry
        self.schedule_attempts = Counter(
            "scheduler_schedule_attempts_total",
            "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
            registry,
            ("result", "profile"),
        )
        self.scheduling_attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            registry,
            _FROM_ONE_MILLISECOND,
            ("result", "profile"),
        )
        self.scheduling_algorithm_duration = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "[BETA] Scheduling algorithm latency in seconds",
            registry,
            _FROM_ONE_MILLISECOND,
        )
        self.pod_scheduling_sli_duration = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and "
            "might involve multiple scheduling attempts.",
            registry,
            exponential_buckets(0.01, 2, 20),
            ("attempts",),
        )
        self.pod_scheduling_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "[STABLE] Number of attempts to successfully schedule a pod.",
            registry,
            exponential_buckets(1, 2, 5),
        )
        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts_total",
            "[STABLE] Total preemption attempts in the cluster till now",
            registry,
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims",
            "[STABLE] Number of selected preemption victims for preemption initiated by a single pod",
            registry,
            exponential_buckets(1, 2, 7),
        )

    def _framework_metrics(self) -> None:
        self.framework_extension_point_duration = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "[STABLE] Latency for running all plugins of a specific extension point.",
            self.registry,
            _FROM_TENTH_MILLISECOND,
            ("extension_point", "status", "profile"),
        )
        self.plugin_execution_duration = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "[BETA] Duration for running a plugin at a specific extension point.",
            self.registry,
            exponential_buckets(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )

    def _queue_metrics(self) -> None:
        self.queue_incoming_pods = Counter(
            "scheduler_queue_incoming_pods_total",
            "[STABLE] Number of pods added to scheduling queues by event and queue type.",
            self.registry,
            ("queue", "event"),
        )
        self.queueing_hint_execution_duration = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "[ALPHA] Duration for running a queueing hint function of a plugin.",
            self.registry,
            exponential_buckets(0.00001, 1.5, 20),
            ("plugin", "event", "hint"),
        )
        self.event_handling_duration = Histogram(
            "scheduler_event_handling_duration_seconds",
            "[ALPHA] Event handling latency in seconds.",
            self.registry,
            _FROM_TENTH_MILLISECOND,
            ("event",),
        )
        self._gauges = GaugeCollector()
        self.registry.register(self._gauges)

    def _own_metrics(self) -> None:
        registry = self.registry
        self.loop_lag = Histogram(
            "podium_loop_lag_seconds",
            "How late the scheduling loop came to a timer, in seconds.",
            registry,
            exponential_buckets(0.0001, 2, 16),
        )
        self.malformed_objects = Counter(
            "podium_malformed_objects_total",
            "Number of objects from the API server that could not be understood and were left out, by kind.",
            registry,
            ("kind",),
        )
        self.events_dropped = Counter(
            "podium_events_dropped_total", "Number of events that were given up without being written.", registry
        )
        self.handler_errors = Counter(
            "podium_handler_errors_total",
            "Number of watch events that could not be taken into the cache or the queue, by kind.",
            registry,
            ("kind",),
        )
        self.calls_failed = Counter(
            "podium_api_calls_failed_total",
            "Number of calls nobody waits for (status patches, events) that did not succeed, by call_type.",
            registry,
            ("call_type",),
        )
        self.cycle_errors = Counter(
            "podium_cycle_errors_total", "Number of scheduling cycles ended by an unexpected exception.", registry
        )

    def attempt(self, profile: str, result: AttemptResult, seconds: float) -> None:
        """A scheduling attempt ended: after the binding of a scheduled pod, else after its failure was handled."""
        self.schedule_attempts.labels(result, profile).inc()
        self.scheduling_attempt_duration.labels(result, profile).observe(seconds)

    def pod_scheduled(self, attempts: int, sli_seconds: float) -> None:
        """A pod is bound, at its `attempts`-th attempt, `sli_seconds` after it first entered the active queue."""
        label = str(attempts) if attempts < _MANY_ATTEMPTS else f"{_MANY_ATTEMPTS}+"
        self.pod_scheduling_attempts.labels().observe(attempts)
        self.pod_scheduling_sli_duration.labels(label).observe(sli_seconds)

    def algorithm(self, seconds: float) -> None:
        """The serial part of a cycle ended, with whatever result."""
        self.scheduling_algorithm_duration.labels().observe(seconds)

    def preemption_attempt(self) -> None:
        """Preemption was asked to make room for a pod."""
        self.preemption_attempts.labels().inc()

    def preemption(self, victims: int) -> None:
        """A preemption with so many victims is being carried out."""
        self.preemption_victims.labels().observe(victims)

    def extension_point(self, profile: str, extension_point: str, status: str, seconds: float) -> None:
        """All plugins of an extension point ran, with `status` as their common result."""
        self.framework_extension_point_duration.labels(extension_point, status, profile).observe(seconds)

    def plugin(self, plugin: str, extension_point: str, status: str, seconds: float) -> None:
        """One plugin ran, in a cycle whose plugins are measured."""
        self.plugin_execution_duration.labels(plugin, extension_point, status).observe(seconds)

    def pod_queued(self, queue: str, event: str) -> None:
        """A pod entered a part of the queue (`active`, `backoff`, `unschedulable`) because of an event."""
        self.queue_incoming_pods.labels(queue, event).inc()

    def queueing_hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """A plugin's hint was asked about an event for one kind of waiting pods."""
        self.queueing_hint_execution_duration.labels(plugin, event, hint).observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        """A cluster event was taken into the cache and the queue."""
        self.event_handling_duration.labels(event).observe(seconds)

    def malformed(self, kind: str) -> None:
        """An object from a list or watch could not be read and was left out."""
        self.malformed_objects.labels(kind).inc()

    def handler_failed(self, kind: str) -> None:
        """An object that was read could not be taken into the cache or the queue."""
        self.handler_errors.labels(kind).inc()

    def dropped(self, call_type: str) -> None:
        """A call was given up before it was sent: the queue was full, or the process stops."""
        if call_type == "event":
            self.events_dropped.labels().inc()
        else:
            self.calls_failed.labels(call_type).inc()

    def failed(self, call_type: str) -> None:
        """A call that nobody waits for did not succeed."""
        self.calls_failed.labels(call_type).inc()

    def watch_gauges(self, read: Callable[[], SchedulerGauges]) -> None:
        """Ask `read` at each scrape how full queue and cache are. It runs on the server's thread: it may only count."""
        self._gauges.read = read

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """All metrics in the format that an Accept header asks for, with their content type.

        Takes tens of milliseconds; called on a thread of its own, while the loop goes on counting.
        """
        try:
            encode, content_type = choose_encoder(accept)
        except (TypeError, ValueError):
            encode, content_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4  # it names a version that is no number
        return encode(self.registry), content_type


class RequestMetrics:
    """Calls to the API server, under client-go's names."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests_total = Counter(
            "rest_client_requests_total",
            "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
            registry,
            ("code", "method", "host"),
        )
        self.request_duration = Histogram(
            "rest_client_request_duration_seconds",
            "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
            registry,
            _REQUEST_SECONDS,
            ("verb", "host"),
        )

    def observe(self, verb: str, host: str, code: str, seconds: float) -> None:
        """A try of a call ended; `code` is the HTTP status, or `<error>` where there was no answer."""
        self.requests_total.labels(code, verb, host).inc()
        self.request_duration.labels(verb, host).observe(seconds)

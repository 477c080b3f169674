"""What is not counted as it happens but read when it is scraped: how full queue and cache are, who waits for whom."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class SchedulerGauges(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in queue, cache and cycles at one moment, and how often plugins were asked until then.

    Attributes:
        active, backoff, unschedulable, gated: pods in each part of the queue.
        nodes, pods, assumed_pods: what the cache holds.
        inflight_events: what the queue keeps for attempts under way, by event.
        unschedulable_pods: waiting pods by the plugin that rejected them and profile.
        binding: pods in their binding cycle.
        plugin_evaluations: by plugin, extension point and profile.
    """

    active: int = 0
    backoff: int = 0
    unschedulable: int = 0
    gated: int = 0
    nodes: int = 0
    pods: int = 0
    assumed_pods: int = 0
    inflight_events: Mapping[str, int] = MappingProxyType({})
    unschedulable_pods: Mapping[tuple[str, str], int] = MappingProxyType({})
    binding: int = 0
    plugin_evaluations: Mapping[tuple[str, str, str], int] = MappingProxyType({})


class GaugeCollector(Collector):
    """The metrics that are read anew at each scrape; all 0 or absent until `read` is given."""

    def __init__(self) -> None:
        self.read: Callable[[], SchedulerGauges] = SchedulerGauges

    def collect(self) -> Iterable[Metric]:
        """Called by the registry at each scrape."""
        now = self.read()
        yield _gauge(
            "scheduler_pending_pods",
            "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' "
            "means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulableEntities that the "
            "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
            "scheduler never attempted to schedule because they are gated; 'incomplete' means number of pods in "
            "incompletePodGroupPods; 'pending' means number of pods in pendingPodGroupPods.",
            ("queue",),
            {(queue,): getattr(now, queue) for queue in ("active", "backoff", "unschedulable", "gated")},
        )
        yield _gauge(
            "scheduler_unschedulable_pods",
            "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for "
            "all plugins that caused it to not schedule and so this metric have meaning only when broken down by "
            "plugin.",
            ("plugin", "profile"),
            now.unschedulable_pods,
        )
        yield _gauge(
            "scheduler_goroutines",
            "[BETA] Number of running goroutines split by the work they do such as binding.",
            ("operation",),
            {("binding",): now.binding},
        )
        yield _gauge(
            "scheduler_inflight_events",
            "[ALPHA] Number of events currently tracked in the scheduling queue.",
            ("event",),
            {(event,): number for event, number in now.inflight_events.items()},
        )
        yield _gauge(
            "scheduler_cache_size",
            "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            ("type",),
            {(held,): getattr(now, held) for held in ("nodes", "pods", "assumed_pods")},
        )
        evaluations = CounterMetricFamily(
            "scheduler_plugin_evaluation_total",
            "[BETA] Number of attempts to schedule pods by each plugin and the extension point (available only in "
            "PreFilter, Filter, PreScore, and Score).",
            labels=("plugin", "extension_point", "profile"),
        )
        for labels, count in now.plugin_evaluations.items():
            evaluations.add_metric(labels, count)
        yield evaluations


def _gauge(
    name: str,
    help_text: str,
    label_names: tuple[str, ...],
    values: Mapping[tuple[str], int] | Mapping[tuple[str, str], int],
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=label_names)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family

"""How long it took, as Podium measured it."""

from tests.demo.metrics import Scrape
from tests.demo.stage import PREEMPTED, Stage
from tests.demo.story import Story

_LATENCIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("deciding on a node", "scheduler_scheduling_algorithm_duration_seconds", {}),
    ("an attempt, binding included", "scheduler_scheduling_attempt_duration_seconds", {"result": "scheduled"}),
    ("from queued to bound, all attempts", "scheduler_pod_scheduling_sli_duration_seconds", {}),
)


def tell(stage: Stage, story: Story) -> None:
    """Latencies and attempts from `/metrics`; the attempts must agree with what the API server has."""
    scrape = stage.podium.scrape()
    story.table(("milliseconds", "count", "mean", "p50", "p99"), [_row(scrape, *latency) for latency in _LATENCIES])
    attempts = scrape.by_label("scheduler_schedule_attempts_total", "result")
    story.say("attempts: " + ", ".join(f"{count:g} {result}" for result, count in sorted(attempts.items())))
    story.say("p50 and p99 are estimated from the histograms' buckets, as Prometheus does; the lowest ends at 1 ms.")
    bound = sum(bool(pod.node_name) for pod in stage.pods())
    evicted = len(stage.events(reason=PREEMPTED))
    counted = (attempts.get("scheduled", 0.0), scrape.number("scheduler_preemption_victims_sum"))
    story.check(
        "Podium counts as many pods scheduled and evicted as the API server", counted, (bound + evicted, evicted)
    )
    story.check("no attempt ended in an error", attempts.get("error", 0.0), 0.0)


def _row(scrape: Scrape, what: str, metric: str, labels: dict[str, str]) -> tuple[object, ...]:
    distribution = scrape.distribution(metric, **labels)
    seconds = (distribution.mean, distribution.quantile(0.5), distribution.quantile(0.99))
    return (what, distribution.count, *("-" if value is None else f"{value * 1000:.2f}" for value in seconds))

"""kube-scheduler's rules for a whole configuration, on the effective one. Gives every fault, not only the first."""

from collections.abc import Iterator, Mapping
from typing import Final

from scheduler.config.args_validation import validate_args
from scheduler.config.faults import Fault, show
from scheduler.config.label_syntax import is_extended_resource, qualified_name_problem
from scheduler.config.plugin_names import PluginInfo
from scheduler.config.resolution import ProfilePlugins, resolve_plugins
from scheduler.config.types import (
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
)

_RENEW_JITTER: Final = 1.2
"""client-go lets the retry period grow by this factor, and wants the renew deadline to be longer still."""


def validate(effective: KubeSchedulerConfiguration, known: Mapping[str, PluginInfo]) -> Iterator[Fault]:
    """What is wrong with a configuration whose defaults are filled in.

    Args:
        effective: what `scheduler.config.defaults.with_defaults` gave.
        known: the plugins that exist.
    """
    if effective.parallelism <= 0:
        yield Fault("parallelism", f"{effective.parallelism} is not above 0")
    yield from _percentage(effective.percentage_of_nodes_to_score, "percentageOfNodesToScore")
    initial, maximum = effective.pod_initial_backoff_seconds, effective.pod_max_backoff_seconds
    if initial <= 0:
        yield Fault("podInitialBackoffSeconds", f"{initial} is not above 0")
    if maximum < initial:
        yield Fault("podMaxBackoffSeconds", f"{maximum} is less than podInitialBackoffSeconds, {initial}")
    burst = effective.client_connection.burst
    if burst is not None and burst < 0:
        yield Fault("clientConnection.burst", f"{burst} is negative")
    if effective.leader_election.leader_elect:
        yield from _leader_election(effective.leader_election)
    resolved = [resolve_plugins(profile, known) for profile in effective.profiles]
    for index, profile in enumerate(effective.profiles):
        yield from _profile(profile, resolved[index], f"profiles[{index}]")
    yield from _across_profiles(effective.profiles, resolved)
    yield from _extenders(effective.extenders)


def _percentage(percentage: int | None, path: str) -> Iterator[Fault]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield Fault(path, f"{percentage} is not between 0 and 100")


def _leader_election(election: LeaderElectionConfiguration) -> Iterator[Fault]:
    lease, renew, retry = election.lease_duration, election.renew_deadline, election.retry_period
    for field, duration in (("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)):
        if duration.nanoseconds < 0:
            yield Fault(f"leaderElection.{field}", f"{duration} is negative")
    if lease <= renew:
        yield Fault("leaderElection.leaseDuration", f"{lease} is not longer than renewDeadline, {renew}")
    if renew.nanoseconds <= retry.nanoseconds * _RENEW_JITTER:
        yield Fault("leaderElection.renewDeadline", f"{renew} is not longer than 1.2 times retryPeriod, {retry}")
    if election.resource_lock != "leases":
        yield Fault("leaderElection.resourceLock", f"{show(election.resource_lock)} is not leases", "remove the field")


def _profile(profile: KubeSchedulerProfile, plugins: ProfilePlugins, path: str) -> Iterator[Fault]:
    if not profile.scheduler_name:
        yield Fault(f"{path}.schedulerName", "required", "only a single profile has a default name")
    yield from _percentage(profile.percentage_of_nodes_to_score, f"{path}.percentageOfNodesToScore")
    if len(plugins.queue_sort) != 1:
        found = ", ".join(plugins.queue_sort) or "none"
        yield Fault(f"{path}.plugins.queueSort", f"exactly one plugin must sort the queue, got {found}")
    if not plugins.bind:
        yield Fault(f"{path}.plugins.bind", "at least one plugin must bind", "enable DefaultBinder")
    seen: set[str] = set()
    for index, entry in enumerate(profile.plugin_config):
        if entry.name in seen:
            yield Fault(f"{path}.pluginConfig[{index}].name", f"{show(entry.name)} stands twice", "join the entries")
        seen.add(entry.name)
        if entry.args is not None:
            yield from validate_args(entry.args, f"{path}.pluginConfig[{index}].args")


def _across_profiles(profiles: tuple[KubeSchedulerProfile, ...], resolved: list[ProfilePlugins]) -> Iterator[Fault]:
    """Profiles share one queue, so they must agree on its order; a pod's schedulerName must mean one of them."""
    seen: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        name = profile.scheduler_name
        if name and name in seen:
            message = f"{show(name)} is also the name of profiles[{seen[name]}]"
            yield Fault(f"profiles[{index}].schedulerName", message, "pods choose a profile by its name")
        elif name:
            seen[name] = index
        same_set = profile.plugins.queue_sort == profiles[0].plugins.queue_sort
        if not same_set or resolved[index].queue_sort != resolved[0].queue_sort:
            yield Fault(f"profiles[{index}].plugins.queueSort", "must be the same in all profiles")


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[Fault]:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if not extender.url_prefix:
            yield Fault(f"{path}.urlPrefix", "required")
        if extender.prioritize_verb and extender.weight <= 0:
            yield Fault(f"{path}.weight", f"{extender.weight} is not above 0", "prioritizeVerb needs a weight")
        if extender.http_timeout.nanoseconds < 0:
            yield Fault(f"{path}.httpTimeout", f"{extender.http_timeout} is negative")
        for position, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{position}].name"
            if problem := qualified_name_problem(resource.name):
                yield Fault(name_path, f"{show(resource.name)} is no resource name", problem)
            elif not is_extended_resource(resource.name):
                yield Fault(name_path, f"{show(resource.name)} is no extended resource", "extenders manage only those")
            if resource.name in managed:
                yield Fault(name_path, f"{show(resource.name)} stands twice", "one extender manages a resource")
            managed.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        yield Fault("extenders", f"{binders} of them have a bindVerb", "only one extender can bind")

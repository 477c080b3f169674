"""Random clusters for one preemption each, in which nothing but resources, priorities and start times counts.

No two pods of a scenario have started at the same time, so that every comparison has one answer: which of a node's pods
stay, and which node is the best.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any

from tests.controlplane.resources import Manifest, node_manifest, pod_manifest

PRIORITIES = (-1_000_000, -7, 0, 3, 100, 5000, 1_000_000)
"""Those of all pods; few of them in one scenario, so that often only a later comparison tells nodes apart."""
_GPU = "example.com/gpu"
_UNITS = {"cpu": "m", "memory": "Mi", _GPU: ""}
_FIRST_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
_STARTS_SECONDS = range(100_000)
_MOST_PODS = 8
# Long past the end of a test: whoever is evicted stays, and can be looked at.
_GRACE_SECONDS = 3600

Amounts = Mapping[str, int]
"""By resource, in the units above; `pods` counts pods."""


@dataclass(frozen=True)
class ScenarioPod:
    """A pod that runs; `started_seconds` after a common beginning."""

    name: str
    priority: int
    started_seconds: int
    requests: Amounts


@dataclass
class ScenarioNode:
    """A node and what runs on it."""

    name: str
    allocatable: Amounts
    pods: list[ScenarioPod] = field(default_factory=list)

    def has_room(self, requests: Amounts, without: Sequence[ScenarioPod] = ()) -> bool:
        """Whether the requests fit beside the pods there, or beside the others of them."""
        staying = [pod for pod in self.pods if pod not in without]
        return all(
            sum(pod.requests.get(resource, 0) for pod in staying) + amount <= self.allocatable[resource]
            for resource, amount in requests.items()
        )

    def below(self, priority: int) -> list[ScenarioPod]:
        """Its pods of lower priority."""
        return [pod for pod in self.pods if pod.priority < priority]


@dataclass(frozen=True)
class Scenario:
    """Nodes on which a preemptor fits only where others are evicted, which is so on several of them."""

    nodes: Sequence[ScenarioNode]
    priority: int
    requests: Amounts

    @classmethod
    def random(cls, seed: int) -> "Scenario":
        """The scenario of a seed."""
        rng = Random(seed)
        while True:
            *priorities, highest = sorted(rng.sample(PRIORITIES, 4))
            scenario = cls(
                _random_nodes(rng, priorities), rng.choice((*priorities[1:], highest)), _random_requests(rng, 5)
            )
            if scenario._needs_victims(1 + seed % 2):
                return scenario

    def manifests(self, copy: str, namespace: str, scheduler_name: str) -> Iterator[Manifest]:
        """Nodes and running pods of one copy of the scenario; its name comes first in theirs."""
        for node in self.nodes:
            amounts = {r: f"{amount}{_UNITS[r]}" for r, amount in node.allocatable.items() if r in _UNITS}
            yield node_manifest(
                f"{copy}-{node.name}",
                cpu=amounts["cpu"],
                memory=amounts["memory"],
                pods=node.allocatable["pods"],
                labels={"copy": copy},
                extended_resources={_GPU: amounts[_GPU]},
            )
            for pod in node.pods:
                yield _pod_manifest(
                    f"{copy}-{pod.name}", namespace, scheduler_name, pod, nodeName=f"{copy}-{node.name}"
                )

    def preemptor(self, copy: str, namespace: str, scheduler_name: str) -> Manifest:
        """The pod that finds no room on the nodes of its copy."""
        pod = ScenarioPod("preemptor", self.priority, 0, self.requests)
        return _pod_manifest(f"{copy}-{pod.name}", namespace, scheduler_name, pod, nodeSelector={"copy": copy})

    def statuses(self, copy: str) -> Iterator[tuple[str, Manifest]]:
        """What a kubelet says of each running pod, by the pod's name."""
        for pod in (pod for node in self.nodes for pod in node.pods):
            started = _FIRST_START + dt.timedelta(seconds=pod.started_seconds)
            yield f"{copy}-{pod.name}", {"phase": "Running", "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def _needs_victims(self, count: int) -> bool:
        """Whether less than so many evictions from one node never help, but on several nodes more do."""
        few = (
            node.has_room(self.requests, victims)
            for node in self.nodes
            for victims in combinations(node.below(self.priority), count - 1)
        )
        many = (node.has_room(self.requests, node.below(self.priority)) for node in self.nodes)
        return sum(many) > 1 and not any(few)


def priority_class(priority: int) -> Manifest:
    """The class through which pods get the priority."""
    name = _class_name(priority)
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": priority,
    }


def _class_name(priority: int) -> str:
    return f"minus-{-priority}" if priority < 0 else f"plus-{priority}"


def _random_nodes(rng: Random, priorities: Sequence[int]) -> list[ScenarioNode]:
    starts = iter(rng.sample(_STARTS_SECONDS, 100))
    nodes = []
    for index in range(rng.randint(3, 6)):
        allocatable = {
            "cpu": rng.randrange(4000, 12001, 500),
            "memory": rng.randrange(8192, 32769, 1024),
            _GPU: rng.choice((0, 0, 4, 8)),
            "pods": rng.choice((4, _MOST_PODS)),
        }
        node = ScenarioNode(f"node-{index}", allocatable)
        for number in range(2 * _MOST_PODS):
            requests = _random_requests(rng, 1)
            if node.has_room(requests):
                pod = ScenarioPod(f"pod-{index}-{number}", rng.choice(priorities), next(starts), requests)
                node.pods.append(pod)
        nodes.append(node)
    return nodes


def _random_requests(rng: Random, size: int) -> Amounts:
    """Of a pod about `size` times as large as a small one; some ask for one resource only."""
    wanted = {
        "cpu": size * rng.randrange(100, 2001, 50),
        "memory": size * rng.randrange(128, 4097, 64),
        _GPU: rng.choice((0, 0, 0, 1, 2)),
    }
    left_out = rng.choice(("", "", "cpu", "memory"))
    return {resource: amount for resource, amount in wanted.items() if amount and resource != left_out} | {"pods": 1}


def _pod_manifest(name: str, namespace: str, scheduler_name: str, pod: ScenarioPod, **spec: Any) -> Manifest:
    amounts = {
        resource: f"{amount}{_UNITS[resource]}" for resource, amount in pod.requests.items() if resource in _UNITS
    }
    manifest = pod_manifest(
        name,
        namespace,
        scheduler_name=scheduler_name,
        requests=amounts,
        priorityClassName=_class_name(pod.priority),
        terminationGracePeriodSeconds=_GRACE_SECONDS,
        **spec,
    )
    # The API server wants a limit for what cannot be overcommitted.
    manifest["spec"]["containers"][0]["resources"]["limits"] = amounts
    return manifest

"""Random small clusters for `podium run` and `podium simulate` to be asked about alike.

Each cluster has nodes of its own, to which a node selector keeps its pods, and a namespace of its own, so that many of
them stand in one API server. Names sort in the order in which the pods are made: that is the order of their turns.
In every third cluster the only pending pod needs others evicted; in the others none of the running pods may be.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.controlplane.resources import Manifest, node_manifest, pod_manifest

PRIORITIES = {"low": -5, "middle": 10, "high": 500, "top": 100_000}
"""Priority classes; running pods that may not be evicted are `top`."""

ZONE, HOST, CLUSTER = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "cluster"
_APPS = ("web", "db")
_TAINT = {"key": "dedicated", "effect": "NoSchedule"}


def priority_classes() -> Iterator[Manifest]:
    """To be made before the pods."""
    for name, value in PRIORITIES.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }


@dataclass(frozen=True)
class RandomCluster:
    """The cluster of a number."""

    number: int

    @property
    def name(self) -> str:
        """Names its namespace, and begins the names of its nodes."""
        return f"c{self.number:03d}"

    @property
    def preempts(self) -> bool:
        """Whether its one pending pod is to evict others."""
        return self.number % 3 == 2

    def nodes(self) -> list[Manifest]:
        """Three to five nodes in two zones."""
        rng = Random(f"nodes {self.number}")
        return [
            node_manifest(
                f"{self.name}-n{index}",
                cpu="2" if self.preempts else rng.choice(["2", "3", "4", "6"]),
                memory=rng.choice(["4Gi", "8Gi"]),
                pods=10 if self.preempts else rng.choice([3, 10]),
                labels={CLUSTER: self.name, ZONE: rng.choice(["a", "b"]), "disk": rng.choice(["ssd", "hdd"])},
                taints=[{**_TAINT, "value": "x"}] if rng.random() < 0.2 and not self.preempts else None,
            )
            for index in range(rng.randint(3, 5))
        ]

    def running(self) -> list[Manifest]:
        """Pods on the nodes, some nodes nearly full."""
        rng = Random(f"running {self.number}")
        pods: list[Manifest] = []
        for node in self.nodes():
            for _ in range(2 if self.preempts else rng.randint(1, 2)):
                name = f"running-{len(pods)}"
                cpu = 1000 if self.preempts else rng.choice([100, 250, 1000])
                priority = rng.choice(["low", "middle"]) if self.preempts else "top"
                spec = {"nodeName": node["metadata"]["name"], "priorityClassName": priority}
                pods.append(self._pod(rng, name, cpu, spec))
        return pods

    def pending(self) -> list[Manifest]:
        """One preemptor, or some pods of several kinds."""
        rng = Random(f"pending {self.number}")
        if self.preempts:
            return [self._pod(rng, "p-0", rng.choice([800, 1800]), {"priorityClassName": "high"})]
        return [
            self._pod(rng, f"p-{index}", rng.choice([100, 500, 900, 1500, 7000]), self._wishes(rng))
            for index in range(rng.randint(2, 6))
        ]

    def _pod(self, rng: Random, name: str, cpu_milli: int, spec: dict[str, Any]) -> Manifest:
        requests = {"cpu": f"{cpu_milli}m", "memory": rng.choice(["64Mi", "256Mi", "1Gi"])}
        selector = {CLUSTER: self.name, **spec.pop("nodeSelector", {})}
        return pod_manifest(
            name,
            self.name,
            requests=requests,
            labels={"app": rng.choice(_APPS)},
            nodeSelector=selector,
            terminationGracePeriodSeconds=3600,
            **spec,
        )

    def _wishes(self, rng: Random) -> dict[str, Any]:
        spec: dict[str, Any] = {"priorityClassName": rng.choice(["low", "middle", "high"])}
        app = {"matchLabels": {"app": rng.choice(_APPS)}}
        if rng.random() < 0.3:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if rng.random() < 0.2:
            spec["nodeSelector"] = {"disk": "ssd"}
        if rng.random() < 0.4:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": rng.choice([ZONE, HOST]),
                    "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
                    "labelSelector": app,
                }
            ]
        if rng.random() < 0.4:
            spec["affinity"] = self._affinity(rng, {"topologyKey": rng.choice([ZONE, HOST]), "labelSelector": app})
        return spec

    def _affinity(self, rng: Random, term: dict[str, Any]) -> dict[str, Any]:
        kind = rng.choice(["podAffinity", "podAntiAffinity"])
        if rng.random() < 0.5:
            return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        wish = {"weight": rng.choice([1, 50, 100]), "podAffinityTerm": term}
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}

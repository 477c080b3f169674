"""Pods that fit nowhere: Podium says of them what kube-scheduler says of the same pods on the same cluster.

Both run side by side on one control plane, each pod exists twice, once for either. Compared are the reason and the
message of the condition PodScheduled and the note of the event FailedScheduling, up to what preemption adds.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Cluster
from tests.controlplane.resources import Manifest, Manifests, node_manifest, pod_manifest
from tests.integration.observations import wait_for_event, wait_until_refused
from tests.integration.podium import Podiums

_PEER = "peer"
_NO_SCHEDULE = {"key": "team", "value": "red", "effect": "NoSchedule"}
_NO_EXECUTE = {"key": "failing", "value": "", "effect": "NoExecute"}
_PREFER_NO_SCHEDULE = {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"}
_TOLERATIONS = [{"operator": "Exists"}]
_HOSTNAME = "kubernetes.io/hostname"


def container(**fields: Any) -> Manifests:
    """The containers of a pod with one."""
    return [{"name": "main", "image": "registry.k8s.io/pause:3.10"} | fields]


def requests(**amounts: str) -> Manifests:
    """Containers that request these amounts; `gpu` stands for an extended resource."""
    named = {{"gpu": "example.com/gpu", "disk": "ephemeral-storage"}.get(name, name): v for name, v in amounts.items()}
    return container(resources={"requests": named, "limits": named})


def required(*terms: Manifest) -> Manifest:
    """A required node affinity with these terms."""
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def by_label(key: str, operator: str, *values: str) -> Manifest:
    """A term that asks for a label."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def by_name(*names: str) -> Manifest:
    """A term that asks for a node by its name, as daemon sets do."""
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


def pods_by(topology_key: str, **labels: str) -> Manifest:
    """A required term of affinity or anti-affinity between pods."""
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": labels}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def cordoned(node: Manifest) -> Manifest:
    """The node, closed to new pods."""
    return node | {"spec": node["spec"] | {"unschedulable": True}}


@dataclass(frozen=True)
class Case:
    """Nodes, pods that are on them, and specs of pods that fit nowhere."""

    nodes: Manifests
    placed: dict[str, Manifest]
    """Spec by node name; the containers' requests count, their ports are taken."""
    specs: dict[str, Manifest]


_PODS: dict[str, Manifest] = {
    "huge-cpu": {"containers": requests(cpu="1k")},
    "huge-memory": {"containers": requests(memory="1Ti")},
    "huge-all": {"containers": requests(cpu="1k", memory="1Ti", disk="10Ti", gpu="900")},
    "unknown-resource": {"containers": container(resources={"limits": {"example.com/none": "1"}})},
    "no-such-label": {"nodeSelector": {"zone": "nowhere"}},
    "affinity": {"affinity": required(by_label("zone", "In", "nowhere"), by_label("cores", "Gt", "900"))},
    "name": {"affinity": required(by_name("absent"))},
    "names": {"affinity": required(by_name("absent"), by_name("missing"))},
    "name-and-cpu": {"affinity": required(by_name("a")), "containers": requests(cpu="1k")},
    "two-names-and-cpu": {"affinity": required(by_name("a"), by_name("b")), "containers": requests(cpu="1k")},
    "selector-and-cpu": {"nodeSelector": {"zone": "east"}, "containers": requests(cpu="1k")},
    "tolerant-and-cpu": {"tolerations": _TOLERATIONS, "containers": requests(cpu="1k")},
    "tolerant-and-label": {"tolerations": _TOLERATIONS, "nodeSelector": {"zone": "nowhere"}},
    "some-toleration": {
        "tolerations": [{"key": "team", "operator": "Equal", "value": "red"}],
        "containers": requests(cpu="1k"),
    },
    "init-containers": {"initContainers": [c | {"name": "init"} for c in requests(cpu="1k")]},
}

_CASES = {
    "no nodes": Case([], {}, _PODS),
    "one node": Case([node_manifest("a", cpu="2", labels={"zone": "east"})], {}, _PODS),
    "mixed nodes": Case(
        [
            node_manifest("a", cpu="4", labels={"zone": "east", "cores": "4"}),
            node_manifest("b", cpu="8", memory="1Gi", labels={"zone": "west", "cores": "8"}),
            node_manifest("c", taints=[_NO_SCHEDULE], labels={"zone": "east"}),
            node_manifest("d", taints=[_NO_EXECUTE, _NO_SCHEDULE]),
            node_manifest("e", taints=[_PREFER_NO_SCHEDULE], extended_resources={"example.com/gpu": "8"}),
            cordoned(node_manifest("f", labels={"zone": "east"})),
            cordoned(node_manifest("g", taints=[_NO_SCHEDULE])),
        ],
        {},
        _PODS,
    ),
    "full nodes": Case(
        [
            node_manifest("a", cpu="4", pods=1),
            node_manifest("b", cpu="4", pods=3, extended_resources={"example.com/gpu": "2"}),
            node_manifest("c", cpu="2", labels={"zone": "east"}),
            cordoned(node_manifest("d", labels={"zone": "east"})),
        ],
        {
            "a": {"containers": requests(cpu="3")},
            "b": {
                "containers": container(
                    ports=[{"containerPort": 80, "hostPort": 80}],
                    resources={"limits": {"example.com/gpu": "2", "cpu": "1"}},
                )
            },
            "c": {"containers": container(ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}])},
        },
        {
            "cpu": {"containers": requests(cpu="3500m")},
            "port": {"containers": container(ports=[{"containerPort": 80, "hostPort": 80}])},
            "port-and-cpu": {
                "containers": container(
                    ports=[{"containerPort": 80, "hostPort": 80}], resources={"requests": {"cpu": "9"}}
                )
            },
            "gpu": {"containers": container(resources={"limits": {"example.com/gpu": "1"}})},
            "label": {"nodeSelector": {"zone": "east"}, "containers": requests(cpu="3")},
            "tolerant": {"tolerations": _TOLERATIONS, "containers": requests(cpu="40")},
        },
    ),
    "affinity between pods": Case(
        [node_manifest("a", labels={"zone": "east"}), node_manifest("b", labels={"zone": "east"}), node_manifest("c")],
        {
            "a": {"labels": {"app": "web"}},
            "b": {"labels": {"app": "db"}, "affinity": {"podAntiAffinity": pods_by("zone", app="batch")}},
            "c": {"labels": {"app": "web"}, "affinity": {"podAntiAffinity": pods_by(_HOSTNAME, app="batch")}},
        },
        {
            "nobody-there": {"affinity": {"podAffinity": pods_by("zone", app="none")}},
            "nowhere": {"labels": {"app": "none"}, "affinity": {"podAffinity": pods_by("rack", app="none")}},
            "apart": {"affinity": {"podAntiAffinity": pods_by(_HOSTNAME)}},
            "repelled": {"labels": {"app": "batch"}},
            "both": {
                "labels": {"app": "batch"},
                "affinity": {
                    "podAffinity": pods_by("zone", app="web"),
                    "podAntiAffinity": pods_by(_HOSTNAME, app="db"),
                },
            },
        },
    ),
    "all cordoned": Case([cordoned(node_manifest(name)) for name in "abc"], {}, {"plain": {}}),
    "all tainted": Case(
        [node_manifest("a", taints=[_NO_SCHEDULE]), node_manifest("b", taints=[_NO_EXECUTE])],
        {},
        {"plain": {}, "tolerant-of-none": {"tolerations": [{"key": "team", "value": "blue"}]}},
    ),
}


@pytest.mark.parametrize("case", _CASES.values(), ids=_CASES)
def test_same_words_as_kube_scheduler(cluster: Cluster, podium: Podiums, case: Case) -> None:
    """Reason, message and note are equal for each pod."""
    client, namespace = cluster.client, cluster.namespace
    client.create_many(case.nodes)
    client.create_many(
        pod_manifest(f"on-{node}", namespace, nodeName=node, **spec) for node, spec in case.placed.items()
    )
    podium.start(cluster.control_plane)
    cluster.control_plane.start_peer(_PEER)
    for scheduler_name in ("podium", _PEER):
        client.create_many(
            pod_manifest(f"{name}-{scheduler_name}", namespace, scheduler_name=scheduler_name, **spec)
            for name, spec in case.specs.items()
        )
    theirs = {name: told(cluster, f"{name}-{_PEER}") for name in case.specs}
    ours = {name: told(cluster, f"{name}-podium") for name in case.specs}
    assert ours == theirs
    assert all(reason == "Unschedulable" for reason, _, _ in theirs.values())


def told(cluster: Cluster, name: str) -> tuple[str, str, str]:
    """Reason and message of the pod's condition and the note of its event, without what preemption adds."""
    condition = wait_until_refused(cluster.client, name, cluster.namespace)
    pod = cluster.client.get("pods", name, cluster.namespace)
    event = wait_for_event(cluster.client, pod, "FailedScheduling")
    return condition["reason"], _before_preemption(condition["message"]), _before_preemption(event["note"])


def _before_preemption(text: str) -> str:
    return text.partition(" preemption:")[0]

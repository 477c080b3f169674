"""Pods that fit nowhere: Podium says of them what kube-scheduler says of the same pods on the same cluster.

Both run side by side on one control plane, each pod exists twice, once for either. Compared are the reason and the
message of the condition PodScheduled and the note of the event FailedScheduling, up to what preemption adds, and
without the ` not found` that DynamicResources leaves behind a rejection before any node was looked at.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conftest import Cluster
from tests.controlplane.resources import Manifest, Manifests, node_manifest, pod_manifest, resource_of
from tests.integration.observations import wait_for_event, wait_until_refused
from tests.integration.podium import Podiums

_PEER = "peer"
_NO_SCHEDULE = {"key": "team", "value": "red", "effect": "NoSchedule"}
_NO_EXECUTE = {"key": "failing", "value": "", "effect": "NoExecute"}
_PREFER_NO_SCHEDULE = {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"}
_TOLERATIONS = [{"operator": "Exists"}]
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_IN_NO_ZONE = [{"matchLabelExpressions": [{"key": "zone", "values": ["nowhere"]}]}]


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
    return {"matchFields": _named(*names)}


def _named(*names: str) -> Manifests:
    return [{"key": "metadata.name", "operator": "In", "values": list(names)}]


def pods_by(topology_key: str, **labels: str) -> Manifest:
    """A required term of affinity or anti-affinity between pods."""
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": labels}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def spread(topology_key: str, **fields: Any) -> Manifests:
    """A hard constraint for the pods of the app `web`."""
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    return [{"topologyKey": topology_key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"} | selector | fields]


def claiming(*names: str) -> Manifest:
    """A pod's volumes, each a claim of the pod's namespace."""
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {"volumes": volumes}


def storage_class(name: str, binding_mode: str, **fields: Any) -> Manifest:
    """A storage class of a driver that is not there."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return head | {"provisioner": "csi.example.com", "volumeBindingMode": binding_mode} | fields


def claim(name: str, storage_class_name: str, volume: str = "") -> Manifest:
    """A claim; with a volume it is bound to that."""
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if volume else {}
    spec = {
        "storageClassName": storage_class_name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name} | bound}
    return head | {"spec": spec | ({"volumeName": volume} if volume else {})}


def volume(name: str, zone: str, **metadata: Any) -> Manifest:
    """A volume that can be reached from one zone only."""
    affinity = {"required": {"nodeSelectorTerms": [by_label("zone", "In", zone)]}}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
        "nodeAffinity": affinity,
    }
    head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name} | metadata}
    return head | {"spec": spec}


def declaring(node: Manifest, *features: str) -> Manifest:
    """The node, whose kubelet says that it has these features."""
    return node | {"status": node["status"] | {"declaredFeatures": list(features)}}


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
    objects: Manifests = field(default_factory=list)
    """What must be there beside; those of a namespace get the test's."""


_PODS: dict[str, Manifest] = {
    "huge-cpu": {"containers": requests(cpu="1k")},
    "huge-memory": {"containers": requests(memory="1Ti")},
    "huge-all": {"containers": requests(cpu="1k", memory="1Ti", disk="10Ti", gpu="900")},
    "unknown-resource": {"containers": container(resources={"limits": {"example.com/none": "1"}})},
    "no-such-label": {"nodeSelector": {"zone": "nowhere"}},
    "affinity": {"affinity": required(by_label("zone", "In", "nowhere"), by_label("cores", "Gt", "900"))},
    "name": {"affinity": required(by_name("absent"))},
    "conflicting-names": {"affinity": required({"matchFields": [*_named("a"), *_named("b")]})},
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
    "spread": Case(
        [
            node_manifest("a", labels={"zone": "east"}),
            node_manifest("b", labels={"zone": "west"}),
            node_manifest("c"),
        ],
        {"a": {"labels": {"app": "web"}}, "b": {"labels": {"app": "web"}}},
        {
            "no-such-key": {"topologySpreadConstraints": spread("rack")},
            "too-few-domains": {"labels": {"app": "web"}, "topologySpreadConstraints": spread("zone", minDomains=5)},
            "skewed": {
                "labels": {"app": "web"},
                "nodeSelector": {"zone": "east"},
                "topologySpreadConstraints": spread(_HOSTNAME, nodeAffinityPolicy="Ignore"),
            },
        },
    ),
    "declared features": Case(
        [
            declaring(node_manifest("a"), "UserNamespacesHostNetworkSupport"),
            cordoned(declaring(node_manifest("b"), "RestartAllContainersOnContainerExits")),
            node_manifest("c"),
        ],
        {},
        {
            "restarting": {
                "restartPolicy": "Never",
                "containers": container(
                    restartPolicy="Never",
                    restartPolicyRules=[
                        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
                    ],
                ),
            }
        },
    ),
    "volumes": Case(
        [
            node_manifest("a", labels={"zone": "east", _ZONE: "east"}),
            node_manifest("b", labels={"zone": "west", _ZONE: "west"}),
        ],
        {},
        {
            "absent": claiming("absent"),
            "unbound": claiming("unbound"),
            "lost": claiming("lost"),
            "far": claiming("far"),
            "nowhere": claiming("nowhere"),
            "none-to-be-had": claiming("none-to-be-had"),
            "zone": claiming("zone"),
            "two": claiming("far", "nowhere"),
        },
        [
            storage_class("at-once", "Immediate"),
            storage_class("late", "WaitForFirstConsumer", allowedTopologies=_IN_NO_ZONE),
            storage_class("by-hand", "WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"),
            claim("unbound", "at-once"),
            claim("lost", "late", "no-such-volume"),
            claim("far", "late", "far"),
            volume("far", "north"),
            claim("nowhere", "late"),
            claim("none-to-be-had", "by-hand"),
            claim("zone", "late", "zone"),
            volume("zone", "east", labels={_ZONE: "elsewhere"}),
        ],
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
    client.create_many(_in(namespace, manifest) for manifest in case.objects)
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
    return condition["reason"], _compared(condition["message"]), _compared(event["note"])


def _compared(text: str) -> str:
    before, _, _ = text.partition(" preemption:")
    return before.removesuffix(" not found") if before.endswith(". not found") else before


def _in(namespace: str, manifest: Manifest) -> Manifest:
    namespaced = resource_of(manifest).namespaced
    return manifest | {"metadata": manifest["metadata"] | ({"namespace": namespace} if namespaced else {})}

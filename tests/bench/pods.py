"""The pods of the workloads: small as those of Kubernetes' own benchmark, or as large as real ones are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.bench.nodes import node_name
from tests.controlplane.resources import Manifest, pod_manifest

NAMESPACE = "bench"
RUN_LABEL = "bench/run"
KEPT = "kept"
"""The run that pods belong to which stay for all runs."""
PREEMPTING = "preempting"
"""The priority class of preemptors."""
LOW_PODS_PER_NODE = 4
"""So many pods of low priority fill a node."""
CPU_MILLI = 100
_LOW_POD_CPU_MILLI = 1000
_MEMORY = "500Mi"
_REQUESTS = {"cpu": f"{CPU_MILLI}m", "memory": _MEMORY}
_APPLICATIONS = 20
_PADDED_ANNOTATION = "example.com/deployed-from"

Variation: TypeAlias = Callable[[Manifest, int], None]
"""Changes the pod with the given index into what a workload wants."""


@dataclass(frozen=True)
class PodShape:
    """How the pods of a benchmark look."""

    is_realistic: bool = False
    padding_bytes: int = 0
    """Of the realistic pod: what it takes to reach the size asked for."""


def pods(
    shape: PodShape, run: str, count: int, scheduler_name: str, vary: Variation | None = None
) -> Iterator[Manifest]:
    """The pending pods `<run>-0` … of one run, which all have the label of the run."""
    for index in range(count):
        pod = _pod(shape, run, index, scheduler_name)
        if vary is not None:
            vary(pod, index)
        yield pod


def bound_pods(shape: PodShape, run: str, count: int, nodes: int, vary: Variation | None = None) -> Iterator[Manifest]:
    """Pods that are bound from the start, spread evenly over the nodes; `run` names them."""
    for index, pod in enumerate(pods(shape, run, count, "default-scheduler", vary)):
        pod["spec"]["nodeName"] = node_name(bound_to(index, nodes))
        yield pod


def bound_to(index: int, nodes: int) -> int:
    """The node of a pod that is bound from the start."""
    return index % nodes


def pod_name(run: str, index: int) -> str:
    """The name of a pod of a run; without a dot."""
    return f"{run}-{index}"


def pod_index(name: str) -> int:
    """The index of the pod with this name within its run."""
    return int(name.rpartition("-")[2])


def distinct_requests(pod: Manifest, index: int) -> None:
    """A Variation: no two pods ask for the same, on the average for about what the others ask for."""
    _set_requests(pod, CPU_MILLI // 2 + index % CPU_MILLI, f"{(400 << 10) + index}Ki")


def low_priority(pod: Manifest, _: int) -> None:
    """A Variation: a quarter of a node, which whoever evicts it gets at once: no kubelet has to end it."""
    _set_requests(pod, _LOW_POD_CPU_MILLI, _MEMORY)
    pod["spec"]["terminationGracePeriodSeconds"] = 0


def preemptor(victims: int) -> Variation:
    """A Variation: on a full node it needs the room of so many pods of low priority."""

    def vary(pod: Manifest, _: int) -> None:
        _set_requests(pod, victims * _LOW_POD_CPU_MILLI, _MEMORY)
        pod["spec"]["priorityClassName"] = PREEMPTING

    return vary


def _set_requests(pod: Manifest, cpu_milli: int, memory: str) -> None:
    requests = {"cpu": f"{cpu_milli}m", "memory": memory}
    pod["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": requests}


def _pod(shape: PodShape, run: str, index: int, scheduler_name: str) -> Manifest:
    pod = pod_manifest(pod_name(run, index), NAMESPACE, scheduler_name=scheduler_name, labels={RUN_LABEL: run})
    if shape.is_realistic:
        _furnish(pod, index, shape.padding_bytes)
    else:
        container = pod["spec"]["containers"][0]
        container["ports"] = [{"containerPort": 80}]
        container["resources"] = {"requests": _REQUESTS, "limits": _REQUESTS}
    return pod


def _furnish(pod: Manifest, index: int, padding_bytes: int) -> None:
    """Give the pod what a web service deployed by a chart has; as there, some of it differs from pod to pod."""
    application = f"shop-{index % _APPLICATIONS}"
    token_volume = f"kube-api-access-{index:05x}"
    pod["metadata"]["labels"] |= {
        "app.kubernetes.io/name": application,
        "app.kubernetes.io/instance": f"{application}-production",
        "app.kubernetes.io/version": "4.17.2",
        "pod-template-hash": "6d5f8c7b94",
        "team": "storefront",
    }
    pod["metadata"]["annotations"] = {
        "prometheus.io/scrape": "true",
        "checksum/config": "5c1f0f9f2b6a0f4d" * 4,
        "kubectl.kubernetes.io/default-container": "main",
        _PADDED_ANNOTATION: "x" * padding_bytes,
    }
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"{application}-6d5f8c7b94",
            "uid": f"0c9e7b1a-58d3-4c8e-9a41-{index % _APPLICATIONS:012x}",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    pod["spec"] |= {
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 45,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001},
        "tolerations": [
            {"key": "dedicated", "operator": "Equal", "value": "storefront", "effect": "NoSchedule"},
        ],
        "containers": [_furnished_container(application, token_volume)],
        "volumes": _volumes(application, token_volume),
    }


def _furnished_container(application: str, token_volume: str) -> Manifest:
    return {
        "name": "main",
        "image": f"registry.example.com/storefront/{application}:4.17.2",
        "args": ["serve", "--listen=:8080", "--config=/etc/app/config.yaml"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": _REQUESTS, "limits": _REQUESTS},
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "DATABASE_PASSWORD", "valueFrom": {"secretKeyRef": {"name": application, "key": "password"}}},
            {"name": "DATABASE_HOST", "value": "postgres.storefront.svc.cluster.local"},
            {"name": "TRACING_ENDPOINT", "value": "http://collector.observability.svc:4317"},
        ],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
        "livenessProbe": {"httpGet": {"path": "/live", "port": "http"}, "initialDelaySeconds": 20},
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},
            {"name": token_volume, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
    }


def _volumes(application: str, token_volume: str) -> list[Manifest]:
    token_sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    return [
        {"name": "config", "configMap": {"name": application}},
        {"name": "scratch", "emptyDir": {}},
        {"name": token_volume, "projected": {"sources": token_sources}},
    ]

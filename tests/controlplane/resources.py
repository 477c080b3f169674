"""Where each resource lives in the API, and manifests of nodes and pods."""

from dataclasses import dataclass
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""An API object as decoded JSON."""
Manifests: TypeAlias = list[Manifest]


@dataclass(frozen=True)
class Resource:
    """One resource of the API server."""

    plural: str
    kind: str
    group_version: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """URL path of the collection, of one object or of a subresource; no namespace means all namespaces."""
        prefix = "api" if self.group_version == "v1" else "apis"
        parts = ["", prefix, self.group_version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        return "/".join([*parts, *(part for part in (name, subresource) if part is not None)])


RESOURCES = {
    resource.plural: resource
    for resource in (
        Resource("nodes", "Node", "v1", namespaced=False),
        Resource("namespaces", "Namespace", "v1", namespaced=False),
        Resource("persistentvolumes", "PersistentVolume", "v1", namespaced=False),
        Resource("pods", "Pod", "v1", namespaced=True),
        Resource("persistentvolumeclaims", "PersistentVolumeClaim", "v1", namespaced=True),
        Resource("services", "Service", "v1", namespaced=True),
        Resource("serviceaccounts", "ServiceAccount", "v1", namespaced=True),
        Resource("configmaps", "ConfigMap", "v1", namespaced=True),
        Resource("secrets", "Secret", "v1", namespaced=True),
        Resource("replicationcontrollers", "ReplicationController", "v1", namespaced=True),
        Resource("replicasets", "ReplicaSet", "apps/v1", namespaced=True),
        Resource("deployments", "Deployment", "apps/v1", namespaced=True),
        Resource("daemonsets", "DaemonSet", "apps/v1", namespaced=True),
        Resource("statefulsets", "StatefulSet", "apps/v1", namespaced=True),
        Resource("poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", namespaced=True),
        Resource("events", "Event", "events.k8s.io/v1", namespaced=True),
        Resource("leases", "Lease", "coordination.k8s.io/v1", namespaced=True),
        Resource("priorityclasses", "PriorityClass", "scheduling.k8s.io/v1", namespaced=False),
        Resource("runtimeclasses", "RuntimeClass", "node.k8s.io/v1", namespaced=False),
        Resource("storageclasses", "StorageClass", "storage.k8s.io/v1", namespaced=False),
        Resource("csinodes", "CSINode", "storage.k8s.io/v1", namespaced=False),
        Resource("csidrivers", "CSIDriver", "storage.k8s.io/v1", namespaced=False),
        Resource("csistoragecapacities", "CSIStorageCapacity", "storage.k8s.io/v1", namespaced=True),
        Resource("volumeattachments", "VolumeAttachment", "storage.k8s.io/v1", namespaced=False),
        Resource("deviceclasses", "DeviceClass", "resource.k8s.io/v1", namespaced=False),
        Resource("resourceslices", "ResourceSlice", "resource.k8s.io/v1", namespaced=False),
        Resource("resourceclaims", "ResourceClaim", "resource.k8s.io/v1", namespaced=True),
        Resource("resourceclaimtemplates", "ResourceClaimTemplate", "resource.k8s.io/v1", namespaced=True),
        Resource("roles", "Role", "rbac.authorization.k8s.io/v1", namespaced=True),
        Resource("rolebindings", "RoleBinding", "rbac.authorization.k8s.io/v1", namespaced=True),
        Resource("clusterroles", "ClusterRole", "rbac.authorization.k8s.io/v1", namespaced=False),
        Resource("clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", namespaced=False),
        Resource("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io/v1", namespaced=False),
    )
}
_BY_KIND = {resource.kind: resource for resource in RESOURCES.values()}


def resource_of(manifest: Manifest) -> Resource:
    """The resource of an object, by its kind. Raises KeyError for a kind not listed above."""
    return _BY_KIND[manifest["kind"]]


def node_manifest(
    name: str,
    *,
    cpu: str = "32",
    memory: str = "64Gi",
    pods: int = 110,
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    extended_resources: dict[str, str] | None = None,
) -> Manifest:
    """A ready node with capacity equal to allocatable and the hostname label."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "100Gi"}
    amounts |= extended_resources or {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | (labels or {})},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "up"}],
        },
    }


def pod_manifest(
    name: str,
    namespace: str,
    *,
    scheduler_name: str = "podium",
    requests: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """A pod with one container; `spec` takes further fields by their JSON names (nodeSelector, priorityClassName…)."""
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": requests if requests is not None else {"cpu": "100m", "memory": "128Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"schedulerName": scheduler_name, "containers": [container]} | spec,
    }

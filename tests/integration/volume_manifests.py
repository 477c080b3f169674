"""Storage classes, volumes and claims, and pods that mount them."""

from typing import Any

from tests.controlplane.resources import Manifest, pod_manifest

SIZE = "1Gi"


def storage_class(name: str, provisioner: str = "kubernetes.io/no-provisioner") -> Manifest:
    """A class whose claims wait for a pod."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def volume_on(name: str, node: str, class_name: str, size: str = SIZE, mode: str = "ReadWriteOnce") -> Manifest:
    """A volume that only this node reaches, made by hand."""
    hostname = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": [mode],
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [hostname]}]}},
        },
    }


def claim(name: str, namespace: str, class_name: str, *, size: str = SIZE, mode: str = "ReadWriteOnce") -> Manifest:
    """A claim on a volume of the class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": [mode],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
        },
    }


def pod_with_claim(name: str, namespace: str, claim_name: str, **spec: Any) -> Manifest:
    """A pod that mounts the claim."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    return pod_manifest(name, namespace, volumes=volumes, **spec)

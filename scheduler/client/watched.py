"""What is listed and watched: the one list from which informers are made and rights are asked for."""

from typing import Final

from scheduler.client.watch_decoding import Resource

PODS: Final = Resource("Pod", "/api/v1/pods", {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"})
NODES: Final = Resource("Node", "/api/v1/nodes", {})
OBJECTS: Final = (
    Resource("Namespace", "/api/v1/namespaces", {}),
    Resource("Service", "/api/v1/services", {}),
    Resource("ReplicationController", "/api/v1/replicationcontrollers", {}),
    Resource("ReplicaSet", "/apis/apps/v1/replicasets", {}),
    Resource("StatefulSet", "/apis/apps/v1/statefulsets", {}),
    Resource("PersistentVolume", "/api/v1/persistentvolumes", {}),
    Resource("PersistentVolumeClaim", "/api/v1/persistentvolumeclaims", {}),
    Resource("StorageClass", "/apis/storage.k8s.io/v1/storageclasses", {}),
    Resource("CSINode", "/apis/storage.k8s.io/v1/csinodes", {}),
    Resource("CSIDriver", "/apis/storage.k8s.io/v1/csidrivers", {}),
    Resource("CSIStorageCapacity", "/apis/storage.k8s.io/v1/csistoragecapacities", {}),
    Resource("VolumeAttachment", "/apis/storage.k8s.io/v1/volumeattachments", {}),
)
"""The kinds that plugins read beside nodes and pods."""

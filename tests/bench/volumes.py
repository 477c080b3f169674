"""Pods with a volume each: how fast is a backlog drained where volumes have to be bound, too?

All persistent volumes are made beforehand, and each can be reached from one zone only. One half is bound to its claim
before the schedulers come; the other half waits for its first consumer: the scheduler picks one for the claim, and
kube-controller-manager completes the binding.

    claim `<run>-0`, `<run>-2` …: bound to the volume of its name by the controller ----> pod placed
    claim `<run>-1`, `<run>-3` …: pod placed, volume of its class picked by the scheduler ----> bound by the controller
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tests.bench.cluster import BenchCluster
from tests.bench.constraints import Placement
from tests.bench.drain import DRAIN
from tests.bench.errors import BenchError
from tests.bench.nodes import ZONE_LABEL, node_name, zone_name, zone_of
from tests.bench.pods import NAMESPACE, pod_index, pod_name
from tests.bench.run import Method, Run
from tests.controlplane.client import wait_until
from tests.controlplane.resources import Manifest, Manifests

DRIVER = "csi.bench.example.com"
# As in Kubernetes' own benchmark.
_VOLUMES_PER_NODE = 39
_VOLUMES_PER_CLASS = 20
_SIZE = "1Gi"
_CONTROLLER = "persistentvolume-binder-controller"
_QPS = 5000
_READY_SECONDS = 600.0


def claim_volume(pod: Manifest, _: int) -> None:
    """A Variation: the pod uses the claim of its own name."""
    claimed = {"name": "data", "persistentVolumeClaim": {"claimName": pod["metadata"]["name"]}}
    pod["spec"].setdefault("volumes", []).append(claimed)


def waits_for_pod(index: int) -> bool:
    """Whether the claim of the pod with this index is bound only when the pod is placed."""
    return index % 2 == 1


def csi_node(index: int) -> Manifest:
    """What the kubelet of a node tells about the driver there."""
    name = node_name(index)
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": _VOLUMES_PER_NODE}}
    metadata = {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": [driver]}}


def storage_classes(run: str, pods: int) -> Iterator[Manifest]:
    """The classes of the claims that wait for their pods."""
    for name in dict.fromkeys(_class_name(run, index) for index in range(pods) if waits_for_pod(index)):
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }


def volume(run: str, index: int) -> Manifest:
    """A volume in one zone; of a class, or for the claim of the same name."""
    name = pod_name(run, index)
    zones = {"key": ZONE_LABEL, "operator": "In", "values": [zone_name(zone_of(index))]}
    spec: Manifest = {
        "capacity": {"storage": _SIZE},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": DRIVER, "volumeHandle": name},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}},
    }
    if waits_for_pod(index):
        spec["storageClassName"] = _class_name(run, index)
    else:
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": name}
        spec["claimRef"] = reference
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(run: str, index: int) -> Manifest:
    """The claim of a pod: for any volume of a class, or for the volume of the same name."""
    name = pod_name(run, index)
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _SIZE}}}
    if waits_for_pod(index):
        spec["storageClassName"] = _class_name(run, index)
    else:
        spec |= {"storageClassName": "", "volumeName": name}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def check_volumes(placement: Placement, claims: Manifests, volumes: Manifests) -> None:
    """Every claim has a volume that knows it, and the pod is in the zone of it. Raises BenchError when not."""
    claim_of = {found["metadata"]["name"]: found["spec"].get("claimRef", {}).get("name") for found in volumes}
    for found in claims:
        name, volume_name = found["metadata"]["name"], found["spec"].get("volumeName")
        if volume_name is None or claim_of[volume_name] != name:
            raise BenchError(f"claim {name} is not bound to a volume that is bound to it, but to {volume_name}")
        node = placement.node_of[pod_index(name)]
        if zone_of(pod_index(volume_name)) != zone_of(node):
            raise BenchError(f"pod {name} is on node {node}, where its volume {volume_name} cannot be reached")


def _class_name(run: str, index: int) -> str:
    return f"{run}-class-{index // (2 * _VOLUMES_PER_CLASS)}"


@contextmanager
def _controller(cluster: BenchCluster) -> Iterator[None]:
    """The controller that binds volumes."""
    manager = cluster.control_plane.start_controller_manager(controllers=[_CONTROLLER], qps=_QPS, burst=_QPS)
    try:
        yield
    finally:
        manager.kill()


def _is_ready(run: Run) -> bool:
    """Whether every volume is there to be picked or bound to its claim."""
    # Not in haste: to list them all disturbs the controller.
    run.cluster.settle()
    waiting = sum(map(waits_for_pod, range(run.pods)))
    volumes, claims = (
        [found["status"].get("phase") for found in run.cluster.objects(kind)]
        for kind in ("persistentvolumes", "persistentvolumeclaims")
    )
    return volumes.count("Available") == waiting and claims.count("Bound") == run.pods - waiting


def _measure(run: Run) -> Mapping[str, float]:
    cluster = run.cluster

    def check(placement: Placement) -> None:
        check_volumes(placement, cluster.objects("persistentvolumeclaims"), cluster.objects("persistentvolumes"))

    cluster.create("CSINodes", map(csi_node, range(run.nodes)))
    cluster.create("storage classes", storage_classes(run.name, run.pods))
    cluster.create("volumes", (volume(run.name, index) for index in range(run.pods)))
    cluster.create("claims", (claim(run.name, index) for index in range(run.pods)))
    with _controller(cluster):
        wait_until(lambda: _is_ready(run), _READY_SECONDS, what="the controller's work on new volumes")
        values = DRAIN.measure(replace(run, check=check))
    for resource in ("persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes"):
        cluster.delete(resource)
    return values


VOLUMES = Method(DRAIN.metrics, _measure, has_limit=False)

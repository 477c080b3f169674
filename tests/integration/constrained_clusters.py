"""Clusters and pods that fit nowhere, for the comparison of what both schedulers say of them."""

from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.resources import Manifest, Manifests, node_manifest

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
DRIVER = "csi.example.com"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


@dataclass(frozen=True)
class Placed:
    """A pod that is on a node."""

    node: str
    labels: dict[str, str] = field(default_factory=dict)
    spec: Manifest = field(default_factory=dict)


@dataclass(frozen=True)
class Pending:
    """A pod that fits nowhere."""

    labels: dict[str, str] = field(default_factory=dict)
    spec: Manifest = field(default_factory=dict)


@dataclass(frozen=True)
class ConstrainedCluster:
    """Nodes, what else is there, pods on nodes, and pods that fit nowhere by name."""

    nodes: Manifests
    placed: list[Placed]
    pending: dict[str, Pending]
    objects: Manifests = field(default_factory=list)
    """Namespaced ones are created in the namespace of the test."""


def requesting(**amounts: str) -> Manifest:
    """A spec whose container requests these amounts."""
    requests = {name.replace("_", "-"): amount for name, amount in amounts.items()}
    return {
        "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}]
    }


def near(kind: str, labels: dict[str, str], key: str) -> Manifest:
    """A required affinity (`podAffinity`) or anti-affinity to pods with these labels."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {"affinity": {kind: {_REQUIRED: [term]}}}


def spread(key: str, labels: dict[str, str], **fields: Any) -> Manifest:
    """A constraint that must hold."""
    selector = {"matchLabels": labels}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint | fields]}


def using(*claims: str) -> Manifest:
    """A spec with these claims as volumes."""
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims)]
    return {"volumes": volumes}


def claim(name: str, storage_class: str = "", volume: str = "", mode: str = "ReadWriteOnce") -> Manifest:
    """A claim, bound to a volume or waiting for one of the class."""
    spec: Manifest = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
    }
    metadata: Manifest = {"name": name}
    if volume:
        spec["volumeName"] = volume
        metadata["annotations"] = _BIND_COMPLETED
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def volume(name: str, *, mode: str = "ReadWriteOnce", zone: str = "", zones: list[str] | None = None) -> Manifest:
    """A volume of the driver, labelled with a zone, or reachable from some zones only."""
    spec: Manifest = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    if zones:
        expressions = [{"key": ZONE, "operator": "In", "values": zones}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    metadata: Manifest = {"name": name} | ({"labels": {ZONE: zone}} if zone else {})
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def storage_class(name: str, provisioner: str, **fields: Any) -> Manifest:
    """A class; by default one that binds at once."""
    named = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return named | {"provisioner": provisioner} | fields


def csi_node(name: str, most: int) -> Manifest:
    """What the kubelet tells of the driver on a node."""
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": most}}
    named = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    return named | {"spec": {"drivers": [driver]}}


_WEB, _DB, _GONE = {"app": "web"}, {"app": "db"}, {"app": "gone"}
_NODES = [
    node_manifest("a", cpu="4", labels={ZONE: "east"}),
    node_manifest("b", cpu="2", labels={ZONE: "west"}),
    node_manifest("c", cpu="4", labels={ZONE: "west"}),
    node_manifest(
        "d", cpu="4", taints=[{"key": "team", "value": "red", "effect": "NoSchedule"}], labels={ZONE: "east"}
    ),
    node_manifest("e", cpu="4"),
]

AFFINITY = ConstrainedCluster(
    _NODES,
    [
        Placed("a", _WEB),
        Placed("b", _DB, near("podAntiAffinity", _WEB, HOST)),
        Placed("c", _DB, near("podAntiAffinity", _GONE, ZONE)),
        Placed("e", _WEB, near("podAntiAffinity", {"app": "queue"}, HOST)),
    ],
    {
        "no-such-pod": Pending(_WEB, near("podAffinity", _GONE, ZONE)),
        "far-and-cpu": Pending(_GONE, near("podAffinity", _DB, ZONE) | requesting(cpu="8")),
        "near-none": Pending(_WEB, near("podAffinity", _DB, HOST) | {"nodeSelector": {ZONE: "east"}}),
        "apart": Pending(_WEB, near("podAntiAffinity", _DB, ZONE) | requesting(cpu="8")),
        "repelled": Pending({"app": "gone"}, {"nodeSelector": {ZONE: "west"}}),
        "repelled-by-host": Pending({"app": "queue"}, near("podAffinity", _WEB, HOST) | {"nodeSelector": {"x": "y"}}),
        "own-and-full": Pending(_GONE, near("podAffinity", _GONE, ZONE) | requesting(cpu="100")),
    },
)

SPREAD = ConstrainedCluster(
    _NODES,
    [
        Placed("a", _WEB, requesting(cpu="1")),
        Placed("b", _WEB),
        Placed("c", _WEB),
        Placed("c", _WEB),
        Placed("e", _DB),
    ],
    {
        "zone": Pending(_WEB, spread(ZONE, _WEB, nodeAffinityPolicy="Ignore") | {"nodeSelector": {ZONE: "west"}}),
        "zone-and-cpu": Pending(_WEB, spread(ZONE, _WEB) | requesting(cpu="3500m")),
        "no-such-key": Pending(_WEB, spread("rack", _WEB)),
        "domains": Pending(_WEB, spread(ZONE, _WEB, minDomains=3)),
        "policies": Pending(
            _WEB,
            spread(HOST, _WEB, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor") | {"nodeSelector": {HOST: "a"}},
        ),
        "two": Pending(
            _WEB,
            {
                "topologySpreadConstraints": [
                    *spread(ZONE, _WEB)["topologySpreadConstraints"],
                    *spread("rack", _DB)["topologySpreadConstraints"],
                ]
            },
        ),
    },
)

VOLUMES = ConstrainedCluster(
    _NODES,
    [Placed("a", {}, using("once")), Placed("b", {}, using("on-b")), Placed("c", {}, using("on-c"))],
    {
        "no-claim": Pending({}, using("absent")),
        "no-volume": Pending({}, using("lost")),
        "unbound": Pending({}, using("immediate")),
        "elsewhere": Pending({}, using("in-north")),
        "other-zone": Pending({}, using("labelled") | {"nodeSelector": {ZONE: "east"}}),
        "in-use": Pending({}, using("once")),
        "too-many": Pending({}, using("one-more") | {"nodeSelector": {ZONE: "west"}}),
        "none-to-bind": Pending({}, using("local")),
        "two-claims": Pending({}, using("in-north", "labelled") | requesting(cpu="3")),
        "no-topology": Pending({}, using("north-class")),
        "ephemeral": Pending(
            {},
            {
                "volumes": [
                    {
                        "name": "scratch",
                        "ephemeral": {"volumeClaimTemplate": {"spec": claim("x", "local")["spec"]}},
                    }
                ]
            },
        ),
    },
    [
        storage_class("immediate", DRIVER),
        storage_class("local", "kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer"),
        storage_class(
            "north",
            DRIVER,
            volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["north"]}]}],
        ),
        *(csi_node(name, 1) for name in "bc"),
        volume("in-north", zones=["north"]),
        volume("labelled", zone="north"),
        volume("once", mode="ReadWriteOncePod"),
        volume("on-b"),
        volume("on-c"),
        volume("one-more"),
        claim("lost", volume="never-there"),
        claim("immediate", "immediate"),
        claim("in-north", volume="in-north"),
        claim("labelled", volume="labelled"),
        claim("once", volume="once", mode="ReadWriteOncePod"),
        claim("on-b", volume="on-b"),
        claim("on-c", volume="on-c"),
        claim("one-more", volume="one-more"),
        claim("local", "local"),
        claim("north-class", "north"),
    ],
)

_MANY_RESOURCES = {f"example.com/{'a' * 40}-{i:02}": "1" for i in range(20)}

MIXED = ConstrainedCluster(
    [*_NODES, node_manifest("f", labels={ZONE: "north"}), node_manifest("g", cpu="1", labels={ZONE: "north"})],
    [Placed("a", _WEB), Placed("b", _DB, near("podAntiAffinity", _WEB, HOST)), Placed("c", _DB), Placed("f", _WEB)],
    {
        "each-node-its-own-reason": Pending(
            _WEB,
            near("podAntiAffinity", {"app": "db"}, HOST)
            | spread(ZONE, _WEB)
            | using("in-two-zones")
            | requesting(cpu="3"),
        ),
        "spread-and-apart": Pending(
            _WEB, near("podAntiAffinity", _WEB, ZONE) | spread(HOST, _WEB) | {"nodeSelector": {ZONE: "north"}}
        ),
        "long": Pending(
            _WEB,
            near("podAntiAffinity", _WEB, ZONE)
            | {"containers": [{"name": "main", "image": "x", "resources": {"limits": _MANY_RESOURCES}}]},
        ),
    },
    [volume("in-two-zones", zones=["west", "north"]), claim("in-two-zones", volume="in-two-zones")],
)

CLUSTERS = {"affinity": AFFINITY, "spread": SPREAD, "volumes": VOLUMES, "mixed": MIXED}

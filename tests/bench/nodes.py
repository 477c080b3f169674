"""The nodes of the cluster under test: as large as those of Kubernetes' own benchmark, in zones."""

from tests.controlplane.resources import Manifest, node_manifest

ZONE_LABEL = "topology.kubernetes.io/zone"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONES = 3


def node_name(index: int) -> str:
    """The name of a node, which is its hostname too."""
    return f"node-{index}"


def node_index(name: str) -> int:
    """The index of the node with this name."""
    return int(name.removeprefix("node-"))


def zone_of(node: int) -> int:
    """The zone of a node; neighbours are in different ones."""
    return node % ZONES


def zone_name(zone: int) -> str:
    """The value of a zone's label."""
    return f"zone-{zone}"


def node(index: int) -> Manifest:
    """A node with the labels that cloud providers give it."""
    labels = {ZONE_LABEL: zone_name(zone_of(index))}
    return node_manifest(node_name(index), cpu="4", memory="32Gi", pods=110, labels=labels)

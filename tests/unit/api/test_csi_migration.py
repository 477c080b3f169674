"""In-tree volumes as their CSI drivers know them, by Kubernetes' own examples of each driver's naming."""

from typing import Any

import msgspec
import pytest

from scheduler.api.csi_migration import (
    CsiVolume,
    MigrationError,
    csi_volume,
    driver_of_provisioner,
    in_tree_plugin,
    migrated_affinity,
)
from scheduler.api.decoding import decode_persistent_volume
from scheduler.api.storage import PersistentVolume
from scheduler.api.volumes import Volume

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
GCE_ZONE = "topology.gke.io/zone"


def volume(source: dict[str, Any], labels: dict[str, str] | None = None, *requirements: Any) -> PersistentVolume:
    spec = dict(source)
    if requirements:
        terms = [{"matchExpressions": [requirement]} for requirement in requirements]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return decode_persistent_volume(msgspec.json.encode({"metadata": {"name": "v", "labels": labels}, "spec": spec}))


GCE = {"gcePersistentDisk": {"pdName": "disk"}}


@pytest.mark.parametrize(
    ("source", "labels", "expected"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, CsiVolume("ebs.csi.aws.com", "vol-1")),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, {}, CsiVolume("ebs.csi.aws.com", "vol-1")),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, {}, CsiVolume("ebs.csi.aws.com", "vol-1")),
        (GCE, {}, CsiVolume("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk")),
        (GCE, {ZONE: "eu-w1-a"}, CsiVolume("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/eu-w1-a/disks/disk")),
        (
            GCE,
            {BETA_ZONE: "eu-w1-a__eu-w1-b"},
            CsiVolume("pd.csi.storage.gke.io", "projects/UNSPECIFIED/regions/eu-w1/disks/disk"),
        ),
        ({"azureDisk": {"diskURI": "uri", "kind": "Managed"}}, {}, CsiVolume("disk.csi.azure.com", "uri")),
        ({"cinder": {"volumeID": "c"}}, {}, CsiVolume("cinder.csi.openstack.org", "c")),
        ({"portworxVolume": {"volumeID": "p"}}, {}, CsiVolume("pxd.portworx.com", "p")),
        ({"vsphereVolume": {"volumePath": "v"}}, {}, None),
        ({"azureFile": {"secretName": "s", "shareName": "f"}}, {}, None),
        ({"nfs": {}}, {}, None),
    ],
)
def test_a_volume_has_the_handle_that_its_driver_gives(
    source: dict[str, Any], labels: dict[str, str], expected: CsiVolume | None
) -> None:
    """None where no driver took over for good."""
    assert csi_volume(volume(source).spec, labels) == expected


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ({"azureDisk": {"diskURI": "uri", "kind": "Shared"}}, {}),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/x"}}, {}),
        (GCE, {ZONE: "eu-w1-a__us-w1-a"}),
        (GCE, {ZONE: "a__b"}),
    ],
)
def test_what_the_driver_does_not_have_cannot_be_translated(source: dict[str, Any], labels: dict[str, str]) -> None:
    """An unmanaged disk, an id of no form, zones of no one region."""
    with pytest.raises(MigrationError):
        csi_volume(volume(source).spec, labels)


def in_zone(key: str, *zones: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(zones)}


@pytest.mark.parametrize(
    ("labels", "requirements", "expected"),
    [
        ({}, [], None),
        ({}, [in_zone(ZONE, "a")], [(GCE_ZONE, ("a",))]),
        ({}, [in_zone(BETA_ZONE, "a"), in_zone(BETA_ZONE, "b")], [(GCE_ZONE, ("a",)), (GCE_ZONE, ("b",))]),
        ({ZONE: "b__a"}, [], [(GCE_ZONE, ("a", "b"))]),
        ({ZONE: "a"}, [in_zone("other", "x")], [("other", ("x",)), (GCE_ZONE, ("a",))]),
    ],
)
def test_zones_become_those_of_the_driver(labels: dict[str, str], requirements: list[Any], expected: Any) -> None:
    """Those of the affinity by another key; without any those of the volume's labels, in every term."""
    affinity = migrated_affinity(volume(GCE, labels, *requirements))
    if expected is None:
        assert affinity is None
        return
    assert affinity is not None
    assert affinity.required is not None
    terms = affinity.required.node_selector_terms
    assert [(each.key, each.values) for term in terms for each in term.match_expressions or ()] == expected


def test_plugins_are_told_apart() -> None:
    """By the source; a StorageClass names the plugin itself."""
    assert in_tree_plugin(volume(GCE).spec) == "kubernetes.io/gce-pd"
    assert in_tree_plugin(Volume("v")) is None
    assert driver_of_provisioner("kubernetes.io/gce-pd") == "pd.csi.storage.gke.io"
    assert driver_of_provisioner("kubernetes.io/azure-file") is None
    assert driver_of_provisioner("csi.example") == "csi.example"
    assert driver_of_provisioner("") is None

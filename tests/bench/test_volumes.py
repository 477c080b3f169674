"""Volumes, claims and their pods."""

from typing import Any

import pytest

from tests.bench.constraints import Placement
from tests.bench.errors import BenchError
from tests.bench.pods import PodShape, pods
from tests.bench.volumes import check_volumes, claim, claim_volume, storage_classes, volume, waits_for_pod

PODS = 100


def bound(run: str, pods: int) -> tuple[list[Any], list[Any]]:
    """Claims and volumes as they are when each claim has the volume of its name."""
    claims, volumes = ([make(run, index) for index in range(pods)] for make in (claim, volume))
    for each_claim, each_volume in zip(claims, volumes, strict=True):
        each_claim["spec"]["volumeName"] = each_volume["metadata"]["name"]
        each_volume["spec"]["claimRef"] = {"name": each_claim["metadata"]["name"]}
    return claims, volumes


@pytest.mark.parametrize("is_realistic", [False, True])
def test_a_pod_uses_the_claim_of_its_name_beside_its_other_volumes(is_realistic: bool) -> None:
    """The realistic pod keeps those it has."""
    plain, pod = (next(pods(PodShape(is_realistic), "run1", 1, "podium", vary)) for vary in (None, claim_volume))
    *others, own = pod["spec"]["volumes"]
    assert (
        own["persistentVolumeClaim"] == {"claimName": "run1-0"} == {"claimName": claim("run1", 0)["metadata"]["name"]}
    )
    assert others == plain["spec"].get("volumes", [])


def test_every_class_has_as_many_volumes_as_claims() -> None:
    """A claim that waits for its pod finds a volume, whoever comes first."""
    waiting = [index for index in range(PODS) if waits_for_pod(index)]
    of_claims, of_volumes = (
        sorted(make("run1", index)["spec"]["storageClassName"] for index in waiting) for make in (claim, volume)
    )
    assert of_claims == of_volumes
    assert set(of_claims) == {found["metadata"]["name"] for found in storage_classes("run1", PODS)}


def test_the_others_are_bound_to_one_another() -> None:
    """Claim and volume name each other, so that the controller binds them without a scheduler."""
    for index in range(0, PODS, 2):
        assert claim("run1", index)["spec"]["volumeName"] == volume("run1", index)["metadata"]["name"]
        assert volume("run1", index)["spec"]["claimRef"]["name"] == claim("run1", index)["metadata"]["name"]


def test_pods_in_the_zones_of_their_volumes_are_accepted() -> None:
    """The volume of the pod with index 4 is in the zone of node 4, which is that of nodes 1 and 7."""
    check_volumes(Placement([0, 1, 2, 3, 7], 9), *bound("run1", 5))


def test_a_pod_beyond_the_reach_of_its_volume_fails_the_run() -> None:
    """The scheduler has not looked where the volume is."""
    with pytest.raises(BenchError, match="pod run1-1 is on node 5, where its volume run1-1 cannot be reached"):
        check_volumes(Placement([0, 5], 9), *bound("run1", 2))


def test_a_volume_for_two_claims_fails_the_run() -> None:
    """A volume knows one claim only."""
    claims, volumes = bound("run1", 4)
    claims[3]["spec"]["volumeName"] = "run1-1"
    with pytest.raises(BenchError, match="claim run1-3 is not bound to a volume that is bound to it, but to run1-1"):
        check_volumes(Placement([0, 1, 2, 1], 9), claims, volumes)


def test_an_unbound_claim_fails_the_run() -> None:
    """A pod must not be bound before its claim is."""
    claims, volumes = bound("run1", 2)
    del claims[1]["spec"]["volumeName"]
    with pytest.raises(BenchError, match="claim run1-1 is not bound"):
        check_volumes(Placement([0, 1], 9), claims, volumes)

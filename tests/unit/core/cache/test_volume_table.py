"""VolumeTable: counts kept one event at a time equal a recount."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.pod_volumes import ClaimUse
from scheduler.core.cache.attached_volumes import volume_of
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.cache.volume_limits import NO_LIMIT
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.core.framework.types import PodInfo
from scheduler.testing import make_node, make_pod
from tests.unit.core.volumes.objects import attachment, claim, csi_node, storage_class, volume

DRIVERS = ("csi.example", "made.example")
NODES = tuple(f"n{index}" for index in range(4))
NAMES = tuple(f"v{index}" for index in range(5))


def a_pod(rng: random.Random, number: int) -> PodInfo:
    pod = make_pod(f"p{number}").uid(f"p{number}").node(rng.choice(NODES))
    for name in rng.choices(NAMES, k=rng.randrange(3)):
        pod = pod.pvc(name)
    return parse_pod(pod.obj())


def change(rng: random.Random, state: ClusterState, number: int) -> None:
    """One event of any kind."""
    objects, name, node = state.objects, rng.choice(NAMES), rng.choice(NODES)
    pods = [pod for info in state.cache.node_infos() for pod in info.pods.values()]
    present = rng.random() < 0.7
    match rng.randrange(7):
        case 0 if present or not pods:
            pod = a_pod(rng, number)
            state.cache.add_pod(pod, pod.pod.spec.node_name or "")
        case 0:
            state.cache.remove_pod(rng.choice(pods).uid)
        case 1:
            made = claim(name, volume_name=rng.choice(["", *NAMES]), version=number)
            (objects.set if present else objects.remove)(made)
        case 2:
            stored = volume(name, handle=rng.choice("ab"), version=number)
            (objects.set if present else objects.remove)(stored)
        case 3:
            (objects.set if present else objects.remove)(storage_class(provisioner="made.example"))
        case 4:
            attached = attachment(rng.choice("xy"), node, name)
            (objects.set if present else objects.remove)(attached)
        case 5:
            drivers = csi_node(node, csi_example=rng.choice([None, 1, 2]), made_example=3)
            (objects.set if present else objects.remove)(drivers)
        case _ if present:
            state.cache.add_node(make_node(node).obj())
        case _:
            state.cache.remove_node(node)


def assert_recounted(state: ClusterState, snapshot: Snapshot) -> None:
    """Every node's counts, limits and uses are those that its pods and the objects add up to."""
    objects, table = state.objects, snapshot.nodes.volumes
    for info in state.cache.node_infos():
        uses = Counter(use for pod in info.pods.values() for use in pod.volumes.claims)
        claims = [objects.persistent_volume_claims.get(use.name, use.namespace) for use in uses]
        attached = {volume_of(found, objects)[0] for found in claims if found is not None}
        for each in objects.volume_attachments if info.node is not None else ():
            stored = objects.persistent_volumes.get(each.spec.source.persistent_volume_name or "")
            if each.spec.node_name == info.name and stored is not None:
                attached.add(volume_of(claim("any", volume_name=stored.metadata.name), objects)[0])
        for driver in DRIVERS:
            number = sum(1 for each in attached if each is not None and each.driver == driver)
            assert table.attached.count_on(driver, info.row) == number
            assert table.limits.limit_on(driver, info.row) == limit(state, info.name, driver, exists=bool(info.node))
        for name in NAMES:
            use = ClaimUse("default", name)
            assert table.uses.of(use).get(info.row, 0) == uses[use]


def limit(state: ClusterState, name: str, driver: str, *, exists: bool) -> int:
    found = state.objects.csi_nodes.get(name)
    for each in found.spec.drivers if found is not None and exists else ():
        if each.name == driver and each.allocatable is not None and each.allocatable.count is not None:
            return each.allocatable.count
    return NO_LIMIT


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_counts_equal_a_recount(rng: random.Random) -> None:
    """Pods, claims, volumes, classes, attachments and nodes come, change and go in any order."""
    state = ClusterState()
    snapshot = Snapshot(state)
    for number in range(1, 60):
        change(rng, state, number)
        if rng.random() < 0.4:
            snapshot.refresh()
            assert_recounted(state, snapshot)
    snapshot.refresh()
    assert_recounted(state, snapshot)


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_an_overlay_leaves_no_trace(rng: random.Random) -> None:
    """While it is open a pod counts as told; afterwards everything is as a recount has it."""
    state = ClusterState()
    snapshot = Snapshot(state)
    for number in range(1, 40):
        change(rng, state, number)
    state.cache.add_node(make_node("n0").obj())
    snapshot.refresh()
    row = snapshot.nodes.row_of("n0")
    assert row is not None
    before = snapshot.nodes.volumes.uses.of(ClaimUse("default", "v0")).get(row, 0)
    with snapshot.overlay() as overlay:
        overlay.add_pod(row, parse_pod(make_pod("new").pvc("v0").obj()))
        assert snapshot.nodes.volumes.uses.of(ClaimUse("default", "v0")).get(row, 0) == before + 1
        for info in state.cache.node_infos():
            for pod in info.pods.values():
                overlay.remove_pod(info.row, pod)
    assert_recounted(state, snapshot)

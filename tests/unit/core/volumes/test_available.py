"""AvailableVolumes: the smallest fitting volume on every node, as found one node and one volume at a time."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim, is_for
from scheduler.api.types import LabelSelector
from scheduler.core.cache import columns
from scheduler.core.cache.cluster_objects import AssumptionError, ClusterObjects
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.volumes.available import NONE, AvailableVolumes, Choice, capacity_of, requested_bytes, volume_terms
from scheduler.core.volumes.provisioning import Provisioning
from scheduler.core.volumes.reservation import bound_to
from scheduler.testing import make_node
from tests.unit.core.volumes.objects import HOSTNAME, capacity, claim, volume

NODES = ("n0", "n1", "n2")
NAMES = tuple(f"v{index}" for index in range(6))
CLAIMS = ("c0", "c1", "c2")


def a_volume(rng: random.Random, version: int) -> PersistentVolume:
    nodes = rng.choice([None, None, ("n0",), ("n1", "n2"), ("nowhere",)])
    made = volume(
        rng.choice(NAMES),
        size=rng.choice(["1Gi", "2Gi", "3Gi"]),
        nodes=nodes,
        claim=rng.choice(["", "", "", "c0"]),
        phase=rng.choice(["Available", "Available", "Pending"]),
        version=version,
    )
    if rng.random() < 0.2 and made.spec.node_affinity is not None and made.spec.node_affinity.required is not None:
        # Two terms are no single label any more.
        terms = made.spec.node_affinity.required.node_selector_terms
        required = replace(made.spec.node_affinity.required, node_selector_terms=(*terms, *terms))
        made = replace(made, spec=replace(made.spec, node_affinity=replace(made.spec.node_affinity, required=required)))
    return made


def choose_one_by_one(
    objects: ClusterObjects, wanted: PersistentVolumeClaim, labels: dict[str, str], taken: set[str]
) -> str | None:
    """kube-scheduler's search on one node."""
    volumes = [objects.assumed_volumes[stored.metadata.name] for stored in objects.persistent_volumes]
    best: PersistentVolume | None = None
    for each in sorted(volumes, key=lambda each: each.metadata.name):
        if each.metadata.name in taken or (each.spec.claim_ref is not None and not is_for(each, wanted)):
            continue
        if capacity_of(each) < requested_bytes(wanted):
            continue
        terms = volume_terms(each.spec.node_affinity)
        reached = terms is None or any(term.matches(labels, "") for term in terms)
        if is_for(each, wanted):
            return each.metadata.name if reached else None
        smaller = best is None or capacity_of(each) < capacity_of(best)
        if each.status.phase == "Available" and reached and smaller:
            best = each
    return None if best is None else best.metadata.name


def name_on(choice: Choice | None, row: int) -> str | None:
    if choice is None or choice.slots[row] == NONE:
        return None
    return choice.names[choice.slots.item(row)]


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_choice_is_that_of_a_search_node_by_node(rng: random.Random) -> None:
    """Whatever volumes came, changed, were assumed and went; claims of one pod never get the same volume."""
    state = ClusterState()
    snapshot, available = Snapshot(state), AvailableVolumes(state.objects)
    for name in NODES:
        state.cache.add_node(make_node(name).label({HOSTNAME: name}).obj())
    for version in range(1, rng.randrange(2, 25)):
        made = a_volume(rng, version)
        match rng.randrange(5):
            case 0:
                state.objects.remove(made)
            case 1 if state.objects.persistent_volumes.get(made.metadata.name) is not None:
                state.objects.assumed_volumes.assume(
                    bound_to(state.objects.assumed_volumes[made.metadata.name], claim("other"))
                )
            case _:
                state.objects.set(made)
    snapshot.refresh()
    claims = [claim(name, size=rng.choice(["1Gi", "2Gi"])) for name in CLAIMS[: rng.randrange(1, 4)]]
    choices: list[Choice] = []
    taken: dict[str, set[str]] = {name: set() for name in NODES}
    for wanted in sorted(claims, key=requested_bytes):
        choice = available.choose(wanted, snapshot.nodes, choices)
        choices += [choice] if choice is not None else []
        for name in NODES:
            row = snapshot.nodes.row_of(name)
            assert row is not None
            expected = choose_one_by_one(state.objects, wanted, {HOSTNAME: name}, taken[name])
            assert name_on(choice, row) == expected
            taken[name] |= {expected} if expected is not None else set()


def test_a_label_that_was_forgotten_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values may have other numbers by then."""
    monkeypatch.setattr(columns, "_MOST_LABELS", 1)
    state = ClusterState()
    snapshot, available = Snapshot(state), AvailableVolumes(state.objects)
    state.objects.set(volume("local", nodes=("n0",)))
    wanted = claim("c0")
    for order in (NODES, NODES[::-1]):
        for name, hostname in zip(NODES, order, strict=True):
            state.cache.add_node(make_node(name).label({HOSTNAME: hostname}).obj())
        snapshot.refresh()
        choice = available.choose(wanted, snapshot.nodes, [])
        rows = [snapshot.nodes.row_of(name) for name in NODES]
        found = [name_on(choice, row) for row in rows if row is not None]
        assert found == ["local" if hostname == "n0" else None for hostname in order]
        snapshot.nodes.label("another")


def test_classes_without_volumes_or_room_are_forgotten() -> None:
    """There may be a class for each job."""
    objects = ClusterObjects()
    available, provisioning = AvailableVolumes(objects), Provisioning(objects)
    for number in range(3):
        made = volume("v", class_name=f"class-{number}")
        room = capacity("room", "1Gi", f"class-{number}", {})
        objects.set(made)
        objects.set(room)
        assert (list(available._of_class), list(provisioning._capacities)) == ([f"class-{number}"],) * 2
    objects.remove(made)
    objects.remove(room)
    assert not available._of_class
    assert not provisioning._capacities


def test_what_must_be_equal_is_compared() -> None:
    """Class, access modes, volume mode, VolumeAttributesClass and the claim's selector each keep a volume away."""
    objects = ClusterObjects()
    fitting = volume("v", labels={"disk": "fast"})
    objects.set(fitting)
    state = ClusterState()
    state.cache.add_node(make_node("n").obj())
    snapshot = Snapshot(state)
    snapshot.refresh()
    available = AvailableVolumes(objects)
    wanted = claim("c")

    def found(**changes: object) -> bool:
        changed = replace(wanted, spec=replace(wanted.spec, **changes))
        return name_on(available.choose(changed, snapshot.nodes, []), 0) is not None

    assert found()
    assert not found(storage_class_name="other")
    assert not found(access_modes=("ReadWriteMany",))
    assert not found(volume_mode="Block")
    assert not found(volume_attributes_class_name="gold")
    assert found(selector=LabelSelector({"disk": "fast"}))
    assert not found(selector=LabelSelector({"disk": "slow"}))


def test_assumptions_stand_until_the_watch_shows_another_version() -> None:
    """They can be taken back, and not be made of an object that has changed or is gone."""
    objects = ClusterObjects()
    stored = volume("v", version=1)
    objects.set(stored)
    assumed = bound_to(stored, claim("c"))
    objects.assumed_volumes.assume(assumed)
    assert objects.assumed_volumes.get("v") is assumed
    assert objects.persistent_volumes.get("v") is stored
    objects.set(volume("v", version=1))
    assert objects.assumed_volumes.get("v") is assumed
    objects.assumed_volumes.restore(assumed)
    assert objects.assumed_volumes["v"].spec.claim_ref is None
    objects.assumed_volumes.assume(assumed)
    newer = volume("v", version=2)
    objects.set(newer)
    assert objects.assumed_volumes.get("v") is newer
    with pytest.raises(AssumptionError, match=r'"v" is out of sync \(stored: 2, assume: 1\)'):
        objects.assumed_volumes.assume(assumed)
    objects.remove(newer)
    with pytest.raises(AssumptionError, match='"v" not found'):
        objects.assumed_volumes.assume(assumed)

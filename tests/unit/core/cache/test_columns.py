"""Columns grow, and the tables beside them follow what nodes have."""

import pytest

from scheduler.core.cache.cache import Cache
from scheduler.core.cache.change_log import ChangeLog
from scheduler.core.cache.cluster_state import ClusterState
from scheduler.core.cache.columns import MISSING, ImageTable
from scheduler.core.cache.interning import Interned
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.pod_parser import parse_pod
from scheduler.testing import make_node, make_pod


def test_columns_grow_with_the_cluster() -> None:
    """Beyond any size they had all columns have one entry a row, old values included."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    nodes = snapshot.nodes
    cache.add_node(make_node("n0").label(disk="ssd").taint("a").capacity(cpu="1").obj())
    cache.add_pod(parse_pod(make_pod("p").req(cpu="1", memory="5").node("n0").obj()), "n0")
    snapshot.refresh()
    nodes.label("disk")
    for number in range(1, 200):
        cache.add_node(make_node(f"n{number}").capacity(cpu=str(number)).obj())
    snapshot.refresh()
    columns = (
        *(nodes.exists, nodes.unschedulable, nodes.taint_set_ids, nodes.pod_count, nodes.allowed_pods),
        *(nodes.non_zero_cpu_milli, nodes.non_zero_memory_bytes, nodes.label("disk")[0], nodes.label("new")[0]),
        *(nodes.allocatable("cpu"), nodes.requested("memory"), nodes.allocatable("new"), nodes.requested("new")),
    )
    assert {len(column) for column in columns} == {200}
    assert len(nodes.names) == 200
    assert nodes.allocatable("cpu").tolist() == [1000, *(number * 1000 for number in range(1, 200))]
    assert nodes.requested("memory").tolist() == [5] + [0] * 199
    assert nodes.label("disk")[0].tolist() == [0] + [MISSING] * 199


def test_what_pods_ask_for_leaves_nothing_behind() -> None:
    """Any number of label keys and resource names may be asked for; the labels asked for last stay at hand."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    nodes = snapshot.nodes
    cache.add_node(make_node("n0").label(disk="ssd").obj())
    snapshot.refresh()
    (disk, _), (other, _) = nodes.label("disk"), nodes.label("other")
    for number in range(1_023):
        nodes.label(f"job-{number}")
        assert nodes.allocatable(f"example.com/{number}").tolist() == [0]
        nodes.requested(f"example.com/{number}")
        assert nodes.label("disk")[0].base is disk.base
    assert nodes.label("other")[0].base is not other.base
    cache.add_node(make_node("n0").label(disk="hdd").capacity({"example.com/7": 2}).obj())
    snapshot.refresh()
    values = nodes.label("disk")
    assert values[1].values[values[0][0]] == "hdd"
    assert nodes.allocatable("example.com/7").tolist() == [2]


def test_the_names_are_one_tuple_until_nodes_come_or_go() -> None:
    """Decisions keep it, so placements must not make a new one; a new node must."""
    cache = Cache()
    snapshot = Snapshot(ClusterState(cache))
    cache.add_node(make_node("n1").obj())
    snapshot.refresh()
    names = snapshot.nodes.name_tuple()
    cache.assume_pod(parse_pod(make_pod("p").obj()), "n1")
    snapshot.refresh()
    assert snapshot.nodes.name_tuple() is names
    cache.add_node(make_node("n2").obj())
    snapshot.refresh()
    assert snapshot.nodes.name_tuple() == ("n1", "n2")
    assert names == ("n1",)


def test_the_size_of_an_image_is_that_of_its_first_node() -> None:
    """While several nodes have it the first size stays; a node that has it alone may say another."""
    table = ImageTable()
    table.write(0, make_node("a").image("app:1", size_bytes=10).obj())
    table.write(1, make_node("b").image("app:1", size_bytes=20).obj())
    assert table.size_bytes == {"app:1": 10}
    table.write(0, None)
    assert (table.rows, table.size_bytes) == ({"app:1": {1}}, {"app:1": 10})
    version = table.version
    table.write(1, make_node("b").image("app:1", size_bytes=30).obj())
    assert table.size_bytes == {"app:1": 30}
    assert table.version > version
    table.write(1, None)
    assert (table.rows, table.size_bytes) == ({}, {})


def test_an_unchanged_node_leaves_the_images_alone() -> None:
    """A heartbeat makes nothing out of date."""
    table = ImageTable()
    node = make_node("a").image("app:1", "app@sha256:ab", size_bytes=10).obj()
    table.write(0, node)
    version = table.version
    table.write(0, node)
    assert table.version == version


def test_a_name_listed_twice_on_a_node_has_its_first_size() -> None:
    """As kube-scheduler takes it."""
    table = ImageTable()
    table.write(0, make_node("a").image("app:1", size_bytes=10).image("app:1", "b:1", size_bytes=20).obj())
    assert table.size_bytes == {"app:1": 10, "b:1": 20}


def test_the_log_tells_what_changed_since() -> None:
    """Each row once, nothing for who has seen all."""
    log = ChangeLog()
    start = log.end
    for row in (3, 1, 3):
        log.append(row)
    middle = log.end
    log.append(7)
    assert sorted(log.since(start) or ()) == [1, 3, 7]
    assert log.since(middle) == [7]
    assert log.since(log.end) == []


def test_a_log_that_was_cut_says_so() -> None:
    """Who looked too long ago is told that all may have changed; positions stay valid for the others."""
    log = ChangeLog(limit=4)
    start = log.end
    for row in range(3):
        log.append(row)
    seen = log.end
    for row in range(3, 6):
        log.append(row)
    assert log.since(start) is None
    assert sorted(log.since(seen) or ()) == [3, 4, 5]


@pytest.mark.parametrize("users", [1, 3])
def test_an_id_lives_as_long_as_somebody_uses_it(users: int) -> None:
    """Then the next new value gets it, and whoever looks at the version sees that."""
    table: Interned[str] = Interned()
    ids = {table.acquire("a") for _ in range(users)}
    other = table.acquire("b")
    assert len(ids) == 1
    (number,) = ids
    version = table.version
    for _ in range(users - 1):
        table.release(number)
    assert (table.find("a"), table.version) == (number, version)
    table.release(number)
    assert table.find("a") is None
    assert table.version > version
    assert table.acquire("c") == number
    assert table.values == ["c", "b"]
    assert table.find("b") == other

"""Where each kind lives in the API, and what a snapshot of it becomes."""

import msgspec
import pytest

from scheduler.simulator.cluster_input import read_cluster
from scheduler.simulator.from_cluster import ClusterSnapshot
from scheduler.simulator.kinds import READ_KINDS, ReadKind
from tests.controlplane.resources import RESOURCES


@pytest.mark.parametrize("kind", READ_KINDS.values(), ids=lambda kind: kind.name)
def test_paths_are_the_apis(kind: ReadKind) -> None:
    """Those that the tests of the control plane use, too."""
    known = {(each.kind, each.group_version): each for each in RESOURCES.values()}[kind.name, kind.api_version]
    assert (kind.path, kind.plural, kind.namespaced) == (known.path(), known.plural, known.namespaced)


def test_items_of_lists_say_what_they_are() -> None:
    """The API server leaves kind and apiVersion out of them; faults name server, kind and item."""
    node = {"metadata": {"name": "n1", "resourceVersion": "1"}, "status": {"allocatable": {"cpu": "2"}}}
    items = [msgspec.Raw(msgspec.json.encode(node))]
    snapshot = ClusterSnapshot("https://server", [(READ_KINDS["", "Node"], items)], [])
    (found,) = snapshot.found()
    assert str(found.place) == "https://server Node, items[0]"
    assert [each.metadata.name for each in read_cluster([found], "podium").nodes] == ["n1"]

"""ImageLocality: images that are on a node already, weighed by how many nodes have them."""

import pytest

from scheduler.core.plugins.image_locality import ImageLocality
from scheduler.testing import make_node, make_pod
from tests.unit.core.plugins.asking import parsed, raw_scores, snapshot_of

PLUGIN = ImageLocality()
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("size_mib", "score"), [(10, 0), (46, 0), (47, 0), (66, 1), (1022, 49), (1023, 50), (2000, 100), (9000, 100)]
)
def test_the_size_is_scaled_between_two_bounds(size_mib: int, score: int) -> None:
    """Half the nodes have it, so half its size counts: 23 MiB or less is 0, 1000 MiB or more is 100."""
    snapshot = snapshot_of(make_node("n1").image("app:v1", size_bytes=size_mib * MIB), make_node("n2"))
    assert raw_scores(PLUGIN, make_pod("p").container("app:v1"), snapshot) == {"n1": score, "n2": 0}


def test_images_of_all_containers_add_up() -> None:
    """The upper bound grows with the containers; one that is nowhere counts for the bound only."""
    snapshot = snapshot_of(
        make_node("n1").image("a:1", size_bytes=500 * MIB).image("b:1", size_bytes=500 * MIB),
        make_node("n2").image("a:1", size_bytes=500 * MIB),
    )
    pod = make_pod("p").container("a:1").container("b:1").container("c:1")
    # n1: 500 + 250 MiB, n2: 500 MiB, of 3000 MiB
    assert raw_scores(PLUGIN, pod, snapshot) == {"n1": 100 * 727 // 2977, "n2": 100 * 477 // 2977}


def test_names_without_a_tag_mean_latest() -> None:
    """A colon before the last slash is a port, not a tag."""
    snapshot = snapshot_of(make_node("n1").image("hub:5000/app:latest", size_bytes=2000 * MIB), make_node("n2"))
    assert raw_scores(PLUGIN, make_pod("p").container("hub:5000/app"), snapshot) == {"n1": 100, "n2": 0}
    assert raw_scores(PLUGIN, make_pod("p").container("hub:5000/app:v1"), snapshot) is None


def test_a_second_name_is_as_good() -> None:
    """An image is known under all the names that the node lists."""
    snapshot = snapshot_of(make_node("n1").image("app@sha256:ab", "app:v1", size_bytes=3000 * MIB))
    for name in ("app@sha256:ab", "app:v1"):
        assert raw_scores(PLUGIN, make_pod("p").container(name), snapshot) == {"n1": 100}


def test_the_first_size_said_counts_for_all() -> None:
    """Nodes that state another size for the same name do not change it."""
    snapshot = snapshot_of(
        make_node("n1").image("a:1", size_bytes=1023 * MIB), make_node("n2").image("a:1", size_bytes=MIB)
    )
    assert raw_scores(PLUGIN, make_pod("p").container("a:1"), snapshot) == {"n1": 100, "n2": 100}


def test_pods_with_equal_images_read_alike_until_images_move() -> None:
    """The signature goes by names, and by the version of what nodes have."""
    snapshot = snapshot_of(make_node("n1").image("a:latest", size_bytes=MIB))
    one = PLUGIN.score_signature(parsed(make_pod("a").container("a")), snapshot)
    same = PLUGIN.score_signature(parsed(make_pod("b").container("a:latest").req()), snapshot)
    assert one is not None
    assert PLUGIN.score_signature(parsed(make_pod("b").container("a:latest")), snapshot) == one != same
    moved = snapshot_of(make_node("n1").image("a:latest", size_bytes=MIB), make_node("n2").image("b", size_bytes=1))
    assert PLUGIN.score_signature(parsed(make_pod("a").container("a")), moved) != one

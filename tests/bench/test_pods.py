"""The pods of the workloads."""

import msgspec

from tests.bench.pods import PodShape, bound_pods, distinct_requests, low_priority, pods, preemptor


def test_small_pods_are_equal_but_for_their_name() -> None:
    """The plain workload gives a scheduler nothing to tell its pods apart by."""
    specs = {msgspec.json.encode(pod["spec"]) for pod in pods(PodShape(), "run1", 50, "podium")}
    assert len(specs) == 1
    assert [pod["metadata"]["name"] for pod in pods(PodShape(), "run1", 2, "podium")] == ["run1-0", "run1-1"]


def test_no_two_distinct_pods_ask_for_the_same() -> None:
    """Requests and limits agree within a pod, and no pod has another's."""
    resources = [
        pod["spec"]["containers"][0]["resources"]
        for is_realistic in (False, True)
        for pod in pods(PodShape(is_realistic), "run1", 3000, "podium", distinct_requests)
    ]
    assert all(each["requests"] == each["limits"] for each in resources)
    assert len({msgspec.json.encode(each) for each in resources}) == 3000


def test_padding_makes_a_realistic_pod_larger_byte_by_byte() -> None:
    """A size can be met exactly."""
    bare, padded = (
        len(msgspec.json.encode(next(pods(PodShape(is_realistic=True, padding_bytes=padding), "run1", 1, "podium"))))
        for padding in (0, 500)
    )
    assert padded - bare == 500


def test_bound_pods_are_spread_evenly() -> None:
    """Every node gets as many."""
    nodes = [pod["spec"]["nodeName"] for pod in bound_pods(PodShape(), "kept", 6, 3)]
    assert nodes == ["node-0", "node-1", "node-2"] * 2


def test_a_preemptor_asks_for_the_room_of_its_victims() -> None:
    """Four pods of low priority fill a node of four CPUs; they have no grace period, large ones neither."""
    for is_realistic in (False, True):
        shape = PodShape(is_realistic)
        (low,) = bound_pods(shape, "low", 1, 1, low_priority)
        (high,) = pods(shape, "run1", 1, "podium", preemptor(3))
        cpus = [pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in (low, high)]
        assert cpus == ["1000m", "3000m"]
        assert low["spec"]["terminationGracePeriodSeconds"] == 0
        assert "priorityClassName" not in low["spec"]
        assert high["spec"]["priorityClassName"]

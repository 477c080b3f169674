"""Each way of measuring, small, on a real control plane with kube-scheduler. The figures are not judged."""

from collections.abc import Iterator

import pytest

from tests.bench.benchmark import run_all
from tests.bench.cluster import BenchCluster
from tests.bench.contestants import BARE_LOOP, KUBE_SCHEDULER, PODIUM, Backlog, running
from tests.bench.errors import BenchError
from tests.bench.options import Only, Options
from tests.bench.pods import NAMESPACE, PodShape, bound_pods, pods
from tests.bench.workloads import WORKLOADS
from tests.conftest import Cluster

NODES = 10
PODS = 30


@pytest.fixture
def bench_cluster(cluster: Cluster) -> Iterator[BenchCluster]:
    """A cluster that is ready for a benchmark."""
    with BenchCluster(cluster.control_plane) as prepared:
        prepared.prepare(NODES)
        yield prepared


@pytest.mark.parametrize("name", ["plain", "startup", "arrival", "preemption"])
def test_a_benchmark_measures_every_metric_and_cleans_up(bench_cluster: BenchCluster, name: str) -> None:
    """Two runs follow one another, each gives all metrics, and only what is bound for all runs stays."""
    workload = WORKLOADS[name]
    options = Options(workload, NODES, PODS, 2, 0, Only.PEER, workload.method.has_limit, victims_each=1)

    rows = run_all(options, bench_cluster, PodShape())

    expected = [(1, KUBE_SCHEDULER.name), (2, KUBE_SCHEDULER.name)]
    expected += [(0, BARE_LOOP.name)] if workload.method.has_limit else []
    assert [(row.pair, row.contestant) for row in rows] == expected
    keys = {metric.key for metric in workload.method.metrics}
    assert all(row.values.keys() == keys and min(row.values.values()) >= 0 for row in rows)
    with bench_cluster.control_plane.client() as client:
        assert len(client.list("pods", NAMESPACE)) == workload.bound_pods_per_node * NODES
        assert client.list("events", NAMESPACE) == []


@pytest.mark.parametrize(
    "name", ["spread", "anti-affinity", "node-affinity", "preferred-affinity", "selectors", "volumes"]
)
def test_both_schedulers_put_constrained_pods_where_they_may_be(bench_cluster: BenchCluster, name: str) -> None:
    """A pair is run, and the judge of the workload accepts what each has made of it."""
    workload = WORKLOADS[name]
    pods = min(PODS, NODES * workload.pods_per_node)
    options = Options(workload, NODES, pods, 1, 0, None, with_limit=False, victims_each=1)

    rows = run_all(options, bench_cluster, PodShape())

    assert [row.contestant for row in rows] == [KUBE_SCHEDULER.name, PODIUM.name]
    with bench_cluster.control_plane.client() as client:
        left = ("persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes")
        assert [resource for resource in left if client.list(resource, NAMESPACE)] == []


def test_preemptors_get_the_room_of_as_many_victims_as_asked_for(bench_cluster: BenchCluster) -> None:
    """Each evicts three of the four pods of a node, and none is evicted for nothing."""
    workload = WORKLOADS["preemption"]
    options = Options(workload, NODES, NODES, 1, 0, Only.PODIUM, with_limit=False, victims_each=3)
    (row,) = run_all(options, bench_cluster, PodShape())
    assert row.values["victims"] == 3 * NODES


def test_a_realistic_pod_has_the_size_asked_for(bench_cluster: BenchCluster) -> None:
    """The size is that of the JSON which the API server writes."""
    assert bench_cluster.pod_size_bytes(bench_cluster.shape(6)) == 6000
    assert bench_cluster.pod_size_bytes(bench_cluster.shape(9)) == 9000
    assert bench_cluster.shape(0) == PodShape()
    with pytest.raises(BenchError, match="POD_KB=3 is less than the bare realistic pod has"):
        bench_cluster.shape(3)


def test_a_pod_that_stays_pending_fails_the_run(bench_cluster: BenchCluster) -> None:
    """The API server is asked, whatever was seen."""
    bench_cluster.create("pods", pods(PodShape(), "run0", 2, "nobody"))
    with pytest.raises(BenchError, match="of 2 pods 2 are still pending, and the API server has 0 Scheduled events"):
        bench_cluster.confirm(2)


def test_a_missing_event_fails_the_run(bench_cluster: BenchCluster) -> None:
    """Pods without their events are half the work."""
    bench_cluster.create("pods", bound_pods(PodShape(), "run0", 2, NODES))
    with pytest.raises(BenchError, match="of 2 pods 0 are still pending, and the API server has 0 Scheduled events"):
        bench_cluster.confirm(2)


def test_the_log_is_shown_when_a_run_fails_and_the_process_is_gone(bench_cluster: BenchCluster) -> None:
    """Nobody is left to take the next run's pods."""
    with (
        pytest.raises(BenchError, match=r"(?s)it failed\n.*last 40 lines.*"),
        running(KUBE_SCHEDULER, bench_cluster, Backlog("run0", PODS, NODES)) as component,
    ):
        raise BenchError("it failed")
    assert not component.is_running

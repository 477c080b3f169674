"""Podium as a cluster runs it: the installed command in a process of its own, as a user with just its rights."""

import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from scheduler.client.access_review import SCHEDULER_RIGHTS, Right
from tests.controlplane.client import Client, wait_until
from tests.controlplane.component import Component, ComponentError, answers_ok
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.ports import LOOPBACK, ReservedPort
from tests.controlplane.resources import Manifest
from tests.demo.metrics import Scrape

ROLE = "podium"
"""The ClusterRole that Podium's user has."""
_READY_SECONDS = 60.0


def rules(rights: Sequence[Right]) -> list[Manifest]:
    """The rules of a role that gives these rights and no others: one a resource."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        resource = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
        verbs.setdefault((right.group, resource), []).append(right.verb)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": allowed}
        for (group, resource), allowed in verbs.items()
    ]


class Podium:
    """The process. It ends with this one, however that ends."""

    def __init__(self, control_plane: ControlPlane) -> None:
        """Nothing is started yet. Raises ComponentError when the command is not installed."""
        command = Path(sys.executable).with_name("podium")
        if not command.exists():
            raise ComponentError(f"{command} is not there: install Podium into this environment with `make setup`")
        self._port = ReservedPort()
        arguments = [
            "run",
            *("--kubeconfig", str(control_plane.kubeconfig(User.PODIUM))),
            *("--metrics-port", str(self._port.number)),
            *("--identity", "demo"),
        ]
        self.command_line = " ".join(["podium", *arguments])
        """What a user would type to start it."""
        self._component = Component("podium", [command, *arguments], control_plane.directory)
        self.metrics_url = f"http://{LOOPBACK}:{self._port.number}/metrics"

    def grant_rights(self, client: Client) -> None:
        """Let Podium's user do what a scheduler does, and wait until that counts."""
        client.grant(User.PODIUM, rules(SCHEDULER_RIGHTS), role=ROLE)
        wait_until(lambda: client.may(User.PODIUM, "patch", "events", "events.k8s.io"), what="Podium's rights")

    def start(self) -> None:
        """Start the process; returns when it is ready to schedule."""
        self._component.start()
        self._component.wait_until_ready(lambda: answers_ok(self._port.number, "/readyz"), _READY_SECONDS)

    def require_running(self) -> None:
        """Raise ComponentError, with the end of the log, when the process has ended."""
        if not self._component.is_running:
            raise ComponentError(f"podium has ended\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The end of its log."""
        return self._component.log_tail()

    def scrape(self) -> Scrape:
        """What it measured so far."""
        with urllib.request.urlopen(self.metrics_url, timeout=10) as response:
            return Scrape(response.read().decode())

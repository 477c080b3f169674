"""Podium as a cluster runs it: the installed command in a process of its own, as a user with just its rights."""

from tests.controlplane.client import Client
from tests.controlplane.component import ComponentError
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.credentials import User
from tests.controlplane.ports import LOOPBACK, ReservedPort
from tests.demo.metrics import Scrape
from tests.integration.podium import PODIUM, PodiumProcess, let_schedule


class Podium:
    """The process. It ends with this one, however that ends."""

    def __init__(self, control_plane: ControlPlane) -> None:
        """Nothing is started yet. Raises ComponentError when the command is not installed."""
        if not PODIUM.exists():
            raise ComponentError(f"{PODIUM} is not there: install Podium into this environment with `make setup`")
        self._port = ReservedPort()
        kubeconfig = control_plane.kubeconfig(User.PODIUM)
        self._process = PodiumProcess("podium", kubeconfig, control_plane.directory, self._port.number, ())
        self.command_line = f"podium run --kubeconfig {kubeconfig} --metrics-port {self._port.number}"
        self.metrics_url = f"http://{LOOPBACK}:{self._port.number}/metrics"

    def start(self, client: Client) -> None:
        """Give its user the rights of a scheduler and start the process; returns when it is ready to schedule."""
        let_schedule(client)
        self._process.start()
        self._process.wait_until_synced()

    def require_running(self) -> None:
        """Raise ComponentError, with the end of the log, when the process has ended."""
        if not self._process.is_running:
            raise ComponentError(f"podium has ended\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The end of its log."""
        return self._process.log_tail()

    def scrape(self) -> Scrape:
        """What it measured so far."""
        return Scrape(self._process.get("/metrics")[1])

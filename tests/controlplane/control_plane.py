"""A real Kubernetes control plane on loopback: etcd and kube-apiserver, and on demand what a test wants beside them."""

import ssl
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from tests.controlplane.build import binary
from tests.controlplane.client import Client, wait_until
from tests.controlplane.component import Component, ComponentError, answers_ok
from tests.controlplane.credentials import Credentials, User
from tests.controlplane.ports import LOOPBACK, ReservedPort, is_free
from tests.controlplane.working_directory import WorkingDirectory

C = TypeVar("C", bound=Component)

_STAGES = Path(__file__).with_name("stages.yaml")
_READY_SECONDS = 90
# Longer than KWOK's renewal interval by the same factor as a kubelet's.
_NODE_LEASE_SECONDS = 40
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class PeerScheduler(Component):
    """A kube-scheduler beside the one under test; `pid`, `kill()` and `log_path` come with Component."""

    def __init__(
        self, name: str, command: Sequence[str | Path], directory: Path, port: int, context: ssl.SSLContext
    ) -> None:
        super().__init__(name, command, directory)
        self._context = context
        self.metrics_url = f"https://{LOOPBACK}:{port}/metrics"
        """Readable without a token; the control plane's CA vouches for the certificate."""

    def read_metrics(self) -> str:
        """The metrics in Prometheus' text format."""
        with urllib.request.urlopen(self.metrics_url, context=self._context) as response:
            text: str = response.read().decode()
        return text


class ControlPlane:
    """etcd and kube-apiserver with RBAC and Priority admission, each on a free port of 127.0.0.1.

    Use it as a context manager, or call `start` and `stop`, once each. All processes die with this one, however it
    ends. Every method that starts something returns when it is ready and raises ComponentError with the log when it
    does not become so. Binaries come from the cache and are built first when they are not there (BuildError).
    """

    def __init__(self, *, audit_log: Path | None = None, api_server_arguments: Sequence[str] = ()) -> None:
        """`audit_log` receives one JSON line a request (audit level Metadata)."""
        self._working_directory = WorkingDirectory()
        self.directory = self._working_directory.path
        self.credentials = Credentials(self.directory)
        self._ports: list[ReservedPort] = []
        self._etcd_port, self._etcd_peer_port, self.port = (self._reserve_port() for _ in range(3))
        self.url = f"https://{LOOPBACK}:{self.port}"
        self._audit_log = audit_log
        self._api_server_arguments = api_server_arguments
        self._components: dict[str, Component] = {}

    def start(self) -> None:
        """Start etcd and the API server."""
        try:
            self._start_etcd()
            self._add("kube-apiserver", self._api_server_flags())
            self.start_api_server()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill every process and delete the directory. Its state is thrown away, so nobody is asked to end nicely."""
        for component in reversed(self._components.values()):
            component.kill()
        for port in self._ports:
            port.release()
        self._working_directory.remove()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def token(self, user: User = User.ADMIN) -> str:
        """The user's bearer token."""
        return self.credentials.token(user)

    def kubeconfig(self, user: User = User.ADMIN) -> Path:
        """A kubeconfig file of the user; it is deleted when the control plane stops."""
        return self.credentials.write_kubeconfig(user, self.url, "control-plane")

    def client(self, user: User = User.ADMIN) -> Client:
        """A client that acts as the user. The caller closes it."""
        return Client(self.port, self.token(user), self.credentials.client_context())

    def start_api_server(self) -> None:
        """Start the API server that `kill_api_server` ended, on the same port and the same etcd."""
        api_server = self._components["kube-apiserver"]
        # The kernel may need a moment to free the port of a server that was killed.
        wait_until(lambda: is_free(self.port), what=f"port {self.port} becoming free")
        api_server.start()
        api_server.wait_until_ready(self._api_server_is_ready, _READY_SECONDS)

    def kill_api_server(self) -> None:
        """Kill -9 the API server; etcd goes on."""
        self._components["kube-apiserver"].kill()

    def restart_api_server(self) -> None:
        """Kill -9 the API server and start it again."""
        self.kill_api_server()
        self.start_api_server()

    def pause_api_server(self) -> None:
        """Stop the API server in its tracks: connections stay open or are even accepted, none is answered."""
        self._components["kube-apiserver"].pause()

    def resume_api_server(self) -> None:
        """Let a paused API server go on."""
        self._components["kube-apiserver"].resume()

    def start_controller_manager(
        self, *, controllers: Sequence[str] = ("*",), qps: float = 20, burst: int = 30
    ) -> Component:
        """Start kube-controller-manager with the named controllers, by default with those it runs by default.

        `qps` and `burst` bound the requests of each; its own defaults stand there.
        """
        port = self._reserve_port()
        flags: list[str | Path] = [
            *self._secure_serving_flags(port),
            *("--kubeconfig", self.kubeconfig(User.CONTROLLER_MANAGER)),
            "--leader-elect=false",
            "--use-service-account-credentials",
            *("--service-account-private-key-file", self.credentials.service_account_key_file),
            *("--root-ca-file", self.credentials.ca_file),
            *("--controllers", ",".join(controllers)),
            *("--kube-api-qps", str(qps), "--kube-api-burst", str(burst)),
        ]
        component = self._add("kube-controller-manager", flags)
        component.start()
        component.wait_until_ready(lambda: self._answers_ok(port, "/healthz"), _READY_SECONDS)
        return component

    def start_kwok(self, *, node_leases: bool = False) -> Component:
        """Start KWOK, which makes nodes ready, runs the pods bound to them, and ends pods that are being deleted.

        It writes a node once and then leaves it alone. With `node_leases` it also keeps each node's lease, which the
        controller manager wants to see: without, that takes the nodes for dead after 50 s.
        """
        port = self._reserve_port()
        flags: list[str | Path] = [
            *("--kubeconfig", self.kubeconfig(User.KWOK)),
            *("--config", _STAGES),
            "--manage-all-nodes=true",
            *("--server-address", f"{LOOPBACK}:{port}"),
            *("--node-lease-duration-seconds", str(_NODE_LEASE_SECONDS if node_leases else 0)),
        ]
        component = self._add("kwok", flags)
        component.start()
        component.wait_until_ready(lambda: answers_ok(port, "/healthz"), _READY_SECONDS)
        return component

    def start_peer(
        self,
        scheduler_name: str,
        *,
        qps: float = 5000,
        burst: int = 10000,
        config_overrides: Mapping[str, Any] | None = None,
        wait_until_ready: bool = True,
    ) -> PeerScheduler:
        """Start kube-scheduler for pods with this schedulerName.

        `config_overrides` replaces top-level fields of its KubeSchedulerConfiguration. Ready means that its informers
        have synced; a benchmark that times the start does not wait for it.
        """
        port = self._reserve_port()
        name = f"kube-scheduler-{scheduler_name}"
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig(User.KUBE_SCHEDULER)), "qps": qps, "burst": burst},
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": scheduler_name}],
        } | (dict(config_overrides) if config_overrides else {})
        flags = [
            *("--config", self._write_json(name, config)),
            *self._secure_serving_flags(port),
            *("--authorization-always-allow-paths", "/livez,/readyz,/metrics,/metrics/resources"),
        ]
        command = [binary("kube-scheduler"), *flags]
        peer = self._put(PeerScheduler(name, command, self.directory, port, self.credentials.client_context()))
        peer.start()
        if wait_until_ready:
            peer.wait_until_ready(lambda: self._answers_ok(port, "/readyz"), _READY_SECONDS)
        return peer

    def stop_extra_components(self) -> None:
        """Kill all but etcd and the API server: what acts on the cluster's objects by itself."""
        for name in [name for name in self._components if name not in ("etcd", "kube-apiserver")]:
            self._components.pop(name).kill()

    def log_tails(self) -> dict[str, str]:
        """The end of each component's log, by its name."""
        return {name: component.log_tail() for name, component in self._components.items()}

    def _start_etcd(self) -> None:
        client_url, peer_url = (f"http://{LOOPBACK}:{port}" for port in (self._etcd_port, self._etcd_peer_port))
        flags: list[str | Path] = [
            *("--data-dir", self.directory / "etcd"),
            *("--listen-client-urls", client_url, "--advertise-client-urls", client_url),
            *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
            *("--initial-cluster", f"default={peer_url}"),
            "--unsafe-no-fsync",
            *("--quota-backend-bytes", str(4 << 30)),
            *("--log-level", "warn"),
        ]
        etcd = self._add("etcd", flags)
        etcd.start()
        etcd.wait_until_ready(lambda: answers_ok(self._etcd_port, "/health"), _READY_SECONDS)

    def _api_server_flags(self) -> list[str | Path]:
        flags: list[str | Path] = [
            *("--etcd-servers", f"http://{LOOPBACK}:{self._etcd_port}"),
            *self._secure_serving_flags(self.port),
            # Without these it looks for the address of a default route, which a machine need not have.
            *("--advertise-address", LOOPBACK, "--endpoint-reconciler-type", "none"),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-account-key-file", self.credentials.service_account_public_key_file),
            *("--service-account-signing-key-file", self.credentials.service_account_key_file),
            *("--service-cluster-ip-range", "10.0.0.0/24"),
            *("--token-auth-file", self.credentials.token_file),
            *("--authorization-mode", "RBAC"),
            # TaintNodesByCondition would taint every node that a test makes as not ready.
            *("--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition"),
            "--allow-privileged",
            *("--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000"),
            *("--delete-collection-workers", "16"),
        ]
        if self._audit_log is not None:
            policy = self._write_json("audit-policy", _AUDIT_POLICY)
            flags += ["--audit-log-path", self._audit_log.absolute(), "--audit-policy-file", policy]
        return [*flags, *self._api_server_arguments]

    def _secure_serving_flags(self, port: int) -> list[str | Path]:
        return [
            *("--bind-address", LOOPBACK, "--secure-port", str(port)),
            *("--tls-cert-file", self.credentials.serving_certificate_file),
            *("--tls-private-key-file", self.credentials.serving_key_file),
        ]

    def _api_server_is_ready(self) -> bool:
        # The namespaces come a moment after /readyz, and a test may use them at once.
        paths = ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
        return all(self._answers_ok(self.port, path) for path in paths)

    def _answers_ok(self, port: int, path: str) -> bool:
        return answers_ok(port, path, self.credentials.client_context(), self.token())

    def _add(self, name: str, flags: Sequence[str | Path]) -> Component:
        return self._put(Component(name, [binary(name), *flags], self.directory))

    def _put(self, component: C) -> C:
        if (present := self._components.get(component.name)) is not None and present.is_running:
            raise ComponentError(f"{component.name} runs already")
        self._components[component.name] = component
        return component

    def _reserve_port(self) -> int:
        port = ReservedPort()
        self._ports.append(port)
        return port.number

    def _write_json(self, name: str, content: Mapping[str, Any]) -> Path:
        path = self.directory / f"{name}.json"
        path.write_bytes(msgspec.json.encode(content))
        return path

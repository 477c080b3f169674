"""What `podium run` was asked to do: the command line and the configuration, read and checked."""

import msgspec

from scheduler.config.loading import LoadedConfiguration


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The input of `scheduler.app.run`.

    Attributes:
        loaded: the configuration, its resolved plugins, and the notes to log.
        kubeconfig: the file that leads to the API server; None for the usual places (environment, in-cluster, home).
        bind_address: IP address of the HTTP server.
        metrics_port: its port; 0 takes a free one.
        verbosity: kube's V-level, 0 to 10.
        identity: names this replica in the User-Agent, in events and in the lease.
    """

    loaded: LoadedConfiguration
    kubeconfig: str | None
    bind_address: str
    metrics_port: int
    verbosity: int
    identity: str

"""Free ports on 127.0.0.1 that stay ours for as long as this process lives."""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LOCAL_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def _candidates() -> list[int]:
    """Ports in random order, outside the range from which the kernel takes ports for outgoing connections.

    A server that is killed and started again on its port would otherwise find it taken by a client's connection, and a
    client that retries a dead port inside that range may even connect to itself.
    """
    low, high = (int(part) for part in _LOCAL_PORT_RANGE.read_text(encoding="ascii").split())
    outside = [port for port in range(10_000, 60_000) if not low <= port <= high]
    candidates = outside or list(range(20_000, 30_000))
    random.shuffle(candidates)
    return candidates


class ReservedPort:
    """A port nobody listens on, and which no other control plane on this machine takes.

    The reservation is an abstract Unix socket named after the port: the kernel drops it when the process ends, however
    it ends. Call `release` when the server is stopped for good.
    """

    def __init__(self) -> None:
        """Raise OSError when no port is free."""
        for port in _candidates():
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                claim.bind(f"\0podium-controlplane-port-{port}")
            except OSError:
                claim.close()
                continue
            if is_free(port):
                self.number = port
                self._claim = claim
                return
            claim.close()
        raise OSError(f"no free port on {LOOPBACK}: stop servers that are no longer needed")

    def release(self) -> None:
        """Let others have the port."""
        self._claim.close()


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the port now (connections in TIME_WAIT do not count)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True

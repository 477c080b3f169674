"""One server process of the control plane: start, signals, readiness, log.

(none) --start--> running --pause--> paused --resume--> running
                     |                  |
                     +------ kill ------+--> (none)
"""

import http.client
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.controlplane.ports import LOOPBACK

_WRAPPER = Path(__file__).with_name("exec_with_parent.py")
_POLL_SECONDS = 0.05

# The kernel's parent-death signal fires when the *thread* that started the child ends. All children are therefore
# started from one thread that lives as long as the process.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="controlplane-spawner")


class ComponentError(Exception):
    """A server did not start, ended by itself or did not become ready; the message carries the end of its log."""


class Component:
    """A server process in a process group of its own that dies with this process, even after kill -9."""

    def __init__(self, name: str, command: Sequence[str | Path], directory: Path) -> None:
        """`directory` is the working directory and HOME, and takes the log `<name>.log`; nothing is started yet."""
        self.name = name
        self.log_path = directory / f"{name}.log"
        self._command = [str(part) for part in command]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises ComponentError when the server is not running."""
        if self._process is None:
            raise ComponentError(f"{self.name} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process exists; a paused one does."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process; its output is appended to the log. Raises ComponentError when it runs already."""
        if self.is_running:
            raise ComponentError(f"{self.name} runs already")
        self._process = _spawner.submit(self._spawn).result()

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log_path.open("ab") as log:
            return subprocess.Popen(
                dying_with_this_process(self._command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._directory)},
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill -9 the process, paused or not, and wait for its end. Does nothing when it is not running."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def pause(self) -> None:
        """Stop the process in its tracks (SIGSTOP); its connections stay open and get no answer."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        os.killpg(self.pid, signal.SIGCONT)

    def wait_until_ready(self, is_ready: Callable[[], bool], timeout_seconds: float) -> None:
        """Wait until `is_ready()`; raise ComponentError with the log when the process ends or time is up."""
        deadline = time.monotonic() + timeout_seconds
        while not is_ready():
            if self._process is None or self._process.poll() is not None:
                code = None if self._process is None else self._process.returncode
                raise ComponentError(f"{self.name} ended with exit code {code}\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ComponentError(f"{self.name} was not ready after {timeout_seconds:g} s\n{self.log_tail()}")
            time.sleep(_POLL_SECONDS)

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, under a heading."""
        heading = f"--- {self.log_path}, last {lines} lines ---"
        if not self.log_path.exists():
            return f"{heading}\n(no log)"
        with self.log_path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - lines * 1000))
            text = log.read().decode(errors="replace")
        return "\n".join([heading, *text.splitlines()[-lines:]])


def dying_with_this_process(command: Sequence[str]) -> list[str]:
    """The command, to be run by a direct child of the calling thread, which the kernel kills when that thread ends."""
    return [sys.executable, "-I", "-S", str(_WRAPPER), str(os.getpid()), *command]


def answers_ok(port: int, path: str, context: ssl.SSLContext | None = None, token: str | None = None) -> bool:
    """Whether the server on the port answers GET `path` with 200 within two seconds."""
    connection = (
        http.client.HTTPConnection(LOOPBACK, port, timeout=2)
        if context is None
        else http.client.HTTPSConnection(LOOPBACK, port, timeout=2, context=context)
    )
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return response.status == http.HTTPStatus.OK

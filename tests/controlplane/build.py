"""Build the servers of the control plane and the oracle from their pinned Go modules, once, into a cache elsewhere.

    <cache>/controlplane/<module>-<hash>/            finished: the binaries
    <cache>/controlplane/<module>-<hash>.partial/    being built: sources, temporary files, build.log

The hash covers go.mod, go.sum, the Go sources and the build flags. A file lock per entry lets the second of two
builders wait for the first; a finished directory appears by rename, so that it is complete or absent.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.component import dying_with_this_process
from tests.controlplane.go_toolchain import GoToolchain, NoGoError, find_go

_SOURCES = Path(__file__).parent
_KUBERNETES_VERSION = "v1.37.2"
_PROGRESS_SECONDS = 20
_LOG_LINES = 25
_DISK_FULL = "The disk is full: free 6 GB, or point PODIUM_CACHE_DIR and GOCACHE to a larger one."


@dataclass(frozen=True)
class Module:
    """A Go module and what to build from it."""

    name: str
    packages: dict[str, str]
    """Main package of each binary."""
    expected_time: str
    """On two cores, with an empty Go cache."""
    ldflags: str = "-s -w"
    directory: Path | None = None
    """Where the module is, if not in the folder of its name beside this file."""

    def files(self) -> list[Path]:
        """All that the build reads of the checkout."""
        directory = self.directory or _SOURCES / self.name
        return [directory / "go.mod", directory / "go.sum", *sorted(directory.glob("*.go"))]


MODULES = {
    module.name: module
    for module in (
        Module("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}, "40 s"),
        Module(
            "k8s",
            {
                name: f"k8s.io/kubernetes/cmd/{name}"
                for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
            },
            "5 minutes",
            " ".join(
                [
                    "-s -w",
                    f"-X k8s.io/component-base/version.gitVersion={_KUBERNETES_VERSION}",
                    "-X k8s.io/component-base/version.gitMajor=1",
                    "-X k8s.io/component-base/version.gitMinor=37",
                ]
            ),
        ),
        Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, "70 s"),
        Module("helm", {"helm": "helm.sh/helm/v4/cmd/helm"}, "3 minutes"),
        # Shares all but its own few files with `k8s`: a minute after that one, 4 minutes alone.
        Module("oracle", {"oracle": "."}, "a minute", directory=_SOURCES.parent / "oracle"),
    )
}
CONTROL_PLANE_MODULES = ("etcd", "k8s", "kwok")
"""What a control plane is made of."""
SETUP_MODULES = (*CONTROL_PLANE_MODULES, "oracle")
"""What `make setup` builds; the others are built by the first test that needs them."""


class BuildError(Exception):
    """A build failed; the message says why and what to do."""


def binary(name: str) -> Path:
    """Return the path of a server's binary, building its module first when the cache lacks it.

    Raises BuildError, and KeyError for a binary that no module has.
    """
    module = next((module for module in MODULES.values() if name in module.packages), None)
    if module is None:
        raise KeyError(name)
    return build(module) / name


def build_all(names: Sequence[str] = CONTROL_PLANE_MODULES) -> None:
    """Build the named modules that the cache lacks, with progress on stderr. Raises BuildError."""
    for name in names:
        build(MODULES[name])


def build(module: Module) -> Path:
    """Return the directory with the module's binaries, built now if need be. Raises BuildError."""
    cache = _cache_directory()
    finished = cache / f"{module.name}-{_hash(module)}"
    if finished.is_dir():
        return finished
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _lock(finished.with_suffix(".lock"), module):
            if not finished.is_dir():
                _build_into(finished, module)
    except NoGoError as error:
        raise BuildError(str(error)) from error
    except OSError as error:
        way_out = (
            _DISK_FULL if error.errno == errno.ENOSPC else "Point PODIUM_CACHE_DIR to a directory you may write to."
        )
        raise BuildError(f"cannot build {module.name} in {cache}: {error.strerror}. {way_out}") from error
    return finished


def _build_into(finished: Path, module: Module) -> None:
    partial = finished.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    go = find_go(finished.parent)
    for folder in ("module", "tmp", "bin"):
        (partial / folder).mkdir(parents=True)
    for file in module.files():
        shutil.copyfile(file, partial / "module" / file.name)
    started = time.monotonic()
    log_path = partial / "build.log"
    _say(f"building {', '.join(module.packages)} (about {module.expected_time} on 2 cores); log: {log_path}")
    for name, package in module.packages.items():
        command = [str(go.program), "build", "-ldflags", module.ldflags, "-o", str(partial / "bin" / name), package]
        _run(command, go, partial, log_path)
    (partial / "bin").rename(finished)
    shutil.rmtree(partial)
    _say(f"built {module.name} in {time.monotonic() - started:.0f} s: {finished}")


def _run(command: list[str], go: GoToolchain, partial: Path, log_path: Path) -> None:
    environment = go.environment | {"GOTMPDIR": str(partial / "tmp")}
    started = time.monotonic()
    with log_path.open("ab") as log:
        # A compiler that outlived this process would write into the next builder's directory.
        process = subprocess.Popen(
            dying_with_this_process(command),
            cwd=partial / "module",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            while not _ends_within(process, _PROGRESS_SECONDS):
                _say(f"  … {Path(command[-2]).name}: {time.monotonic() - started:.0f} s")
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if process.returncode != 0:
        lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        disk_full = any("no space left on device" in line for line in lines)
        way_out = _DISK_FULL if disk_full else "If the log names the network: Go fetches modules through GOPROXY."
        raise BuildError(
            f"`{' '.join(command)}` failed with exit code {process.returncode}. {way_out}\n"
            f"--- {log_path}, last lines ---\n" + "\n".join(lines[-_LOG_LINES:])
        )


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _cache_directory() -> Path:
    if chosen := os.environ.get("PODIUM_CACHE_DIR"):
        base = Path(chosen)
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "podium"  # noqa: PTH111
    return base.absolute() / "controlplane"


def _hash(module: Module) -> str:
    digest = hashlib.sha256(repr((module.ldflags, sorted(module.packages.items()))).encode())
    for file in module.files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _lock(path: Path, module: Module) -> Iterator[None]:
    """Hold the file lock; the kernel releases it when the process ends, however it ends."""
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"waiting for another process that builds {module.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

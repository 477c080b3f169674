"""Facts of the machine and the software, without which figures say little."""

import datetime as dt
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

_CHECKOUT = Path(__file__).parents[2]
_PACKAGES = ("podium-scheduler", "aiohttp", "msgspec", "numpy", "prometheus-client", "structlog", "uvloop")


def machine_facts() -> dict[str, Any]:
    """Cores, processor, memory, load, kernel, Python, packages and the commit of this checkout, as of now."""
    return {
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _first_value(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "memory": _first_value(Path("/proc/meminfo"), "MemTotal"),
        "load_average": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {package: version(package) for package in _PACKAGES},
        "commit": _commit(),
    }


def _first_value(file: Path, key: str) -> str | None:
    lines = (line.partition(":") for line in file.read_text(encoding="utf-8").splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == key), None)


def _commit() -> str | None:
    """Abbreviated, with a mark when files differ from it; None outside a checkout or without git."""
    try:
        command = ["git", "-C", str(_CHECKOUT), "describe", "--always", "--dirty"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

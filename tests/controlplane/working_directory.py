"""The directory of one control plane, which is removed even if its process was killed."""

import fcntl
import shutil
import tempfile
from pathlib import Path

_PREFIX = "podium-controlplane-"
_LOCK = "owner.lock"


class WorkingDirectory:
    """A private temporary directory, locked while this process lives.

    Making one also removes those whose owner died before it could: their lock is free.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        # Named so that others see it only once it is locked.
        unlocked = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}"))
        self._lock = (unlocked / _LOCK).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = unlocked.rename(unlocked.with_name(unlocked.name.removeprefix("new-")))

    def remove(self) -> None:
        """Delete the directory with all it holds."""
        shutil.rmtree(self.path)
        self._lock.close()


def _remove_abandoned() -> None:
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            with (directory / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory)
        except OSError:
            # In use, another user's, or just removed by another process.
            continue

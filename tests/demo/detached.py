"""Work that goes on after the command that began it has returned."""

import os
import signal
import sys
from collections.abc import Callable

_INTERRUPTED = 130


def run_detached(work: Callable[[Callable[[int], None]], int]) -> int:
    """Run `work` in a child process with a session of its own; the exit code of this process, parent or child.

    `work` is given a function: called with an exit code, it lets the parent end with that code, while the child goes
    on without a terminal. Before that, an interrupt of the parent ends the child too, and so does the parent's death.
    Called while the process has one thread, with SIGTERM raising KeyboardInterrupt.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        return work(lambda code: _release_parent(writer, code))
    os.close(writer)
    try:
        told = os.read(reader, 1)
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        return _INTERRUPTED
    if told:
        return told[0]
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _release_parent(writer: int, code: int) -> None:
    """Raises BrokenPipeError when the parent is gone: then nobody knows of this process, and it should end."""
    sys.stdout.flush()
    sys.stderr.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.write(writer, bytes([code]))
    os.close(writer)

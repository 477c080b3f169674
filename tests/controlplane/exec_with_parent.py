"""Turn into a program that the kernel kills as soon as the given parent process ends.

Usage: `python -I -S exec_with_parent.py PARENT_PID PROGRAM ARGUMENT…`. The process id stays the same, so the caller
may signal it. This is a program of its own and not a `preexec_fn`, which may deadlock in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for SIGKILL at the parent's death, then run the program."""
    parent_pid, program = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before prctl, in which case no signal would ever come.
    if os.getppid() != parent_pid:
        sys.exit("the parent process is gone")
    os.execv(program[0], program)


if __name__ == "__main__":
    main()

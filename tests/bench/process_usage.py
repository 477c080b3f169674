"""What a process has used, read from /proc."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """User and system time of the process so far; whole clock ticks. Raises OSError when there is no such process."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return parse_cpu_ticks(stat) / os.sysconf("SC_CLK_TCK")


def peak_memory_mib(pid: int) -> float:
    """The largest resident set that the process has had. Raises OSError when there is no such process."""
    return parse_peak_memory_kib(Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")) / 1024


def parse_cpu_ticks(stat: str) -> int:
    """utime + stime of a `/proc/PID/stat` line. Counted from after the command, which may hold anything, even `)`."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def parse_peak_memory_kib(status: str) -> int:
    """VmHWM of a `/proc/PID/status` text."""
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1])

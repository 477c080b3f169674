"""Reading /proc."""

import os

from tests.bench.process_usage import cpu_seconds, parse_cpu_ticks, parse_peak_memory_kib, peak_memory_mib


def test_cpu_time_is_user_and_system_time() -> None:
    """A command with spaces and parentheses does not shift the fields."""
    stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 12345 0 0\n"
    assert parse_cpu_ticks(stat) == 200


def test_peak_memory_is_the_high_water_mark() -> None:
    """The present resident set does not count."""
    assert parse_peak_memory_kib("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  345 kB\nVmRSS:\t  300 kB\n") == 345


def test_this_process_uses_something() -> None:
    """The files of a live process have what is looked for."""
    assert cpu_seconds(os.getpid()) >= 0
    assert peak_memory_mib(os.getpid()) > 1

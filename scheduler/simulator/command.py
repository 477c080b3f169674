"""`podium simulate`: reads, simulates, reports.

Exit codes: 0 every pending pod is placed, 3 some are not, 2 something in the input or configuration can't be used,
or the answer can't be written.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from scheduler.config.faults import ConfigurationError
from scheduler.config.loading import LoadedConfiguration, load_configuration
from scheduler.simulator.cluster_input import ClusterInput, read_cluster
from scheduler.simulator.documents import STANDARD_INPUT, Found, read_file, read_objects
from scheduler.simulator.oddities import oddities
from scheduler.simulator.places import InputError, Remark
from scheduler.simulator.report import json_report
from scheduler.simulator.simulation import simulate
from scheduler.simulator.text_report import write_text_report
from scheduler.telemetry.standard_output import answer

ALL_PLACED: Final = 0
BAD_INPUT: Final = 2
SOME_NOT_PLACED: Final = 3

_CLUSTERS_OWN: Final = "default-scheduler"


class Output(Enum):
    """The form of the answer."""

    TEXT = "text"
    JSON = "json"


class SimulateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The command line.

    Attributes:
        files: names of input files; `-` is the standard input.
        config: a KubeSchedulerConfiguration; None for the defaults.
        seed: decides where nodes tie.
        from_cluster: whether to begin with what an API server has, to which `kubeconfig` leads.
    """

    files: tuple[str, ...]
    config: Path | None
    seed: int
    output: Output
    from_cluster: bool = False
    kubeconfig: str | None = None


def run_simulation(options: SimulateOptions) -> int:
    """Carry the command out; the exit code of the process. Logging should be silenced before."""
    try:
        loaded = load_configuration(options.config, simulated=True)
        cluster = _read(options, loaded)
    except (ConfigurationError, InputError) as error:
        sys.stderr.writelines(f"podium: {line}\n" for line in str(error).splitlines())
        return BAD_INPUT
    simulation = simulate(cluster, loaded, options.seed)
    if options.output is Output.JSON:
        code = answer(lambda stream: stream.write(json_report(simulation).decode()))
    else:
        code = answer(lambda stream: write_text_report(simulation, stream))
    return code or (ALL_PLACED if simulation.all_placed else SOME_NOT_PLACED)


def _read(options: SimulateOptions, loaded: LoadedConfiguration) -> ClusterInput:
    found, warnings = _found(options.files), []
    if options.from_cluster:
        from scheduler.simulator.from_cluster import read_api_server

        kubeconfig = options.kubeconfig or loaded.configuration.client_connection.kubeconfig or None
        snapshot = read_api_server(kubeconfig)
        found, warnings = chain(snapshot.found(), found), snapshot.warnings
    gc.disable()  # what is read stays: to look at it again and again would take as long as reading it
    try:
        cluster = read_cluster(found, _own_name(loaded))
    finally:
        gc.freeze()
        gc.enable()
    cluster.warnings[:0] = [*warnings, *oddities(cluster, set(loaded.plugins))]
    return cluster


def _found(files: Sequence[str]) -> Iterator[Found | Remark]:
    """What the files hold; one that can't be used doesn't keep the faults of the others from being told."""
    for name in files:
        piped = sys.stdin.buffer.read() if name == STANDARD_INPUT else None
        try:
            yield from read_objects(read_file(name, piped), name)
        except InputError as error:
            yield from error.faults


def _own_name(loaded: LoadedConfiguration) -> str:
    """The schedulerName of pods that name none: the cluster's own if a profile has it, else that of the first."""
    return _CLUSTERS_OWN if _CLUSTERS_OWN in loaded.plugins else next(iter(loaded.plugins))

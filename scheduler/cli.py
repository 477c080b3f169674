"""The command line: `podium run`, `podium simulate`, `podium config` and `podium version`.

Exit codes: 2 for a command line that cannot be read; for a configuration with faults (all of them listed) 1 from `run`
and 2 from `config`; 2 where the answer cannot be written; else what the command returns. What a command needs
is imported when it runs, so that `version` and `--help` answer at once.
"""

import argparse
import importlib.metadata
import ipaddress
import re
import socket
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from scheduler.telemetry.standard_output import answer

_DISTRIBUTION: Final = "podium-scheduler"
_IDENTITY: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,126}[A-Za-z0-9])?")
_MAXIMUM_PORT: Final = 65535
_MAXIMUM_SEED: Final = 2**63 - 1
_USAGE_ERROR: Final = 2
_CONFIGURATION_ERROR: Final = 1
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (without the program's name; those of the process when None) ask for.

    Returns:
        The exit code. A command line that cannot be read, and `--help`, end in SystemExit, as argparse does.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "simulate" and not options.files and not options.from_cluster:
        parser.error("simulate needs a file, or --from-cluster")
    if options.command == "simulate" and options.kubeconfig and not options.from_cluster:
        parser.error("--kubeconfig leads to a cluster that only --from-cluster reads")
    if options.command == "version":
        return answer(lambda stream: stream.write(f"podium {importlib.metadata.version(_DISTRIBUTION)}\n"))
    if options.command == "simulate":
        return _simulate(options)
    if options.command == "config":
        return _check(options) if options.action == "check" else _show(options)
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    from scheduler.config.faults import ConfigurationError
    from scheduler.config.loading import load_configuration
    from scheduler.config.run_options import RunOptions
    from scheduler.telemetry.logging import configure_logging

    try:
        loaded = load_configuration(options.config, take_over=options.take_over)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return _CONFIGURATION_ERROR
    configure_logging(options.v)
    from scheduler.app import run

    return run(
        RunOptions(
            loaded=loaded,
            kubeconfig=options.kubeconfig or loaded.configuration.client_connection.kubeconfig or None,
            bind_address=options.bind_address,
            metrics_port=options.metrics_port,
            verbosity=options.v,
            identity=options.identity or _default_identity(),
        )
    )


def _simulate(options: argparse.Namespace) -> int:
    from scheduler.simulator.command import Output, SimulateOptions, run_simulation
    from scheduler.telemetry.logging import silence_logging

    silence_logging()
    asked = SimulateOptions(
        files=tuple(options.files),
        config=options.config,
        seed=options.seed,
        output=Output(options.output),
        from_cluster=options.from_cluster,
        kubeconfig=options.kubeconfig,
    )
    try:
        return run_simulation(asked)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _check(options: argparse.Namespace) -> int:
    """List what is wrong with a configuration, and what of it has no effect."""
    from scheduler.config.faults import ConfigurationError
    from scheduler.config.loading import load_configuration

    try:
        notes, faults = load_configuration(options.file, take_over=options.take_over).notes, ""
    except ConfigurationError as error:
        notes, faults = error.notes, f"{error}\n"
    sys.stderr.write(faults)
    lines = [f"{options.file}: note: {note}\n" for note in notes]
    if not faults:
        lines.append(f"{options.file}: valid\n")
    code = answer(lambda stream: stream.writelines(lines))
    return _USAGE_ERROR if faults else code


def _show(options: argparse.Namespace) -> int:
    """Print the effective configuration, as a file that means the same."""
    import json

    import yaml

    from scheduler.config.faults import ConfigurationError
    from scheduler.config.loading import load_configuration
    from scheduler.config.view import configuration_view

    try:
        loaded = load_configuration(options.file, take_over=options.take_over)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return _USAGE_ERROR
    view = configuration_view(loaded.configuration)
    text = json.dumps(view, indent=2) + "\n" if options.output == "json" else yaml.safe_dump(view, sort_keys=False)
    return answer(lambda stream: stream.write(text))


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong with a command line in one line."""

    def error(self, message: str) -> NoReturn:
        """Write the line and exit; the usage is a `--help` away."""
        self.exit(_USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="podium", description="A Kubernetes scheduler.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    run = commands.add_parser(
        "run",
        help="schedule pods",
        description="Schedule the pods whose spec.schedulerName is a profile's (podium when there is no --config).",
        allow_abbrev=False,
    )
    _add_run_flags(run)
    _add_simulate(commands)
    _add_config(commands)
    commands.add_parser("version", help="print the version", description="Print the version.", allow_abbrev=False)
    return parser


def _add_simulate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    simulate = commands.add_parser(
        "simulate",
        help="tell where pending pods would go",
        description="Schedule the pending pods of a cluster in memory, as `podium run` would, and tell where each went "
        "and why. Exit code 0 when all are placed, 3 when some are not, 2 when something can't be used.",
        allow_abbrev=False,
    )
    simulate.add_argument(
        "files",
        nargs="*",
        type=_text,
        metavar="FILE",
        help="objects as `kubectl get -o yaml` (or json) prints them, or written by hand; - is the standard input",
    )
    simulate.add_argument(
        "--config", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration v1, YAML or JSON (default: none)"
    )
    simulate.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="decides between nodes that tie (default: %(default)s)"
    )
    simulate.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="form of the answer (default: %(default)s)"
    )
    simulate.add_argument(
        "--from-cluster", action="store_true", help="begin with what the API server has; it is only read"
    )
    simulate.add_argument(
        "--kubeconfig",
        type=_text,
        metavar="FILE",
        help="leads to it (default: the configuration's, $KUBECONFIG, in-cluster, ~/.kube/config)",
    )


def _add_config(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """`config check` and `config show`."""
    config = commands.add_parser(
        "config",
        help="check or show a configuration",
        description="Read a KubeSchedulerConfiguration v1 without running it.",
        allow_abbrev=False,
    )
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION", title="actions")
    check = actions.add_parser(
        "check",
        help="list what is wrong with a file",
        description="List all faults of a configuration, with the way out, and what of it has no effect. Exit code 0 "
        "when `podium run` takes it, else 2.",
        allow_abbrev=False,
    )
    check.add_argument("file", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration v1, YAML or JSON")
    show = actions.add_parser(
        "show",
        help="print the effective configuration",
        description="Print a configuration with all defaults filled in. Exit code 2 when it has faults.",
        allow_abbrev=False,
    )
    show.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a KubeSchedulerConfiguration v1, YAML or JSON (default: the configuration of `podium run` without one)",
    )
    show.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="how to print it (default: %(default)s)"
    )
    for action in (check, show):
        action.add_argument("--take-over", action="store_true", help="as for `podium run`")


def _add_run_flags(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--config", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration v1, YAML or JSON (default: none)"
    )
    run.add_argument(
        "--kubeconfig",
        type=_text,
        metavar="FILE",
        help="leads to the API server (default: the configuration's, $KUBECONFIG, in-cluster, ~/.kube/config)",
    )
    run.add_argument(
        "--bind-address",
        type=_ip_address,
        default="127.0.0.1",
        metavar="IP",
        help="where health and metrics are served (default: %(default)s)",
    )
    run.add_argument(
        "--metrics-port",
        type=_port,
        default=10251,
        metavar="PORT",
        help="its port; 0 takes a free one, which the log tells (default: %(default)s)",
    )
    run.add_argument(
        "--v", type=_verbosity, default=0, metavar="N", help="verbosity of the log, 0 to 10 (default: %(default)s)"
    )
    run.add_argument(
        "--take-over",
        action="store_true",
        help="allow to serve default-scheduler and to take kube-scheduler's lease; stop kube-scheduler first",
    )
    run.add_argument(
        "--identity",
        type=_identity,
        metavar="NAME",
        help="names this replica in requests, events and the lease (default: the host's name and a UUID)",
    )


def _text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("expected a value, got nothing")
    return text


def _ip_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        hint = "write an IP address, such as 127.0.0.1, 0.0.0.0 or ::"
        raise argparse.ArgumentTypeError(f"{text!r} is no IP address; {hint}") from None


def _port(text: str) -> int:
    return _whole_number(text, _MAXIMUM_PORT)


def _verbosity(text: str) -> int:
    from scheduler.telemetry.logging import MAXIMUM_VERBOSITY

    return _whole_number(text, MAXIMUM_VERBOSITY)


def _seed(text: str) -> int:
    return _whole_number(text, _MAXIMUM_SEED)


def _whole_number(text: str, maximum: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(maximum)) or int(text) > maximum:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {maximum}")
    return int(text)


def _identity(text: str) -> str:
    if not _IDENTITY.fullmatch(text):
        rule = "up to 128 letters, digits, -, _ and ., beginning and ending with a letter or digit"
        raise argparse.ArgumentTypeError(f"{text!r} does not name a replica; write {rule}")
    return text


def _default_identity() -> str:
    """Host and a UUID, as kube-scheduler names its replicas; odd characters of a host's name become dashes."""
    host = re.sub(r"[^-A-Za-z0-9_.]", "-", socket.gethostname()).strip("-_.")[:64]
    return f"{host or 'podium'}_{uuid.uuid4()}"

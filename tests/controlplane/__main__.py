"""`python -m tests.controlplane build [MODULE…]` and `python -m tests.controlplane up`."""

import argparse
import signal
import sys

from tests.controlplane.build import MODULES, SETUP_MODULES, BuildError, build_all
from tests.controlplane.component import ComponentError
from tests.controlplane.control_plane import ControlPlane


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build what the cache lacks")
    build.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)}")
    up = commands.add_parser("up", help="run a control plane until Ctrl-C or SIGTERM")
    up.add_argument("--nodes", type=int, default=0, help="create so many nodes")
    up.add_argument("--kwok", action=argparse.BooleanOptionalAction, default=True, help="let KWOK play the kubelets")
    up.add_argument("--controller-manager", action="store_true", help="also run kube-controller-manager")
    arguments = parser.parse_args()
    if arguments.command == "build" and not set(arguments.modules) <= set(MODULES):
        build.error(f"choose MODULE from {', '.join(MODULES)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.command == "build":
            build_all(arguments.modules or SETUP_MODULES)
        else:
            run_until_interrupted(arguments.nodes, kwok=arguments.kwok, controller_manager=arguments.controller_manager)
    except (BuildError, ComponentError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if arguments.command == "up" else 130
    return 0


def run_until_interrupted(nodes: int, *, kwok: bool, controller_manager: bool) -> None:
    """Start a control plane, tell how to reach it on stdout, and stop it at KeyboardInterrupt."""
    with ControlPlane() as control_plane:
        if controller_manager:
            control_plane.start_controller_manager()
        if kwok:
            control_plane.start_kwok(node_leases=controller_manager)
        with control_plane.client() as client:
            client.create_nodes(nodes)
        print(f"export KUBECONFIG={control_plane.kubeconfig()}", flush=True)
        print(f"{nodes} nodes, API server {control_plane.url}; Ctrl-C ends it", file=sys.stderr, flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    sys.exit(main())

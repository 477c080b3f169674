"""`python -m tests.demo [--keep]`: Podium at its main job on a real control plane, told as a story.

Exits 0 only if every fact that the story rests on was read back from the API server.
"""

import argparse
import http.client
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from tests.controlplane.build import BuildError, build_all
from tests.controlplane.client import ApiError
from tests.controlplane.component import ComponentError
from tests.controlplane.control_plane import ControlPlane
from tests.demo.chapters import CHAPTERS
from tests.demo.detached import run_detached
from tests.demo.podium import Podium
from tests.demo.stage import NAMESPACE, Stage
from tests.demo.story import Story

# A TimeoutError is an OSError.
_FAILURES = (ApiError, BuildError, ComponentError, OSError, http.client.HTTPException)
_FAILED = 1
_INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Tell the story; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running, and tell how to end it")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if options.keep:
        return run_detached(lambda leave: _run(Story(Console()), leave))
    return _run(Story(Console()), None)


def _run(story: Story, leave: Callable[[int], None] | None) -> int:
    """The whole demo. With `leave`, called with the exit code, the cluster then runs on until SIGTERM."""
    code = _FAILED
    try:
        with ExitStack() as stack:
            build_all()
            control_plane = ControlPlane()
            stage = _set_the_stage(story, stack, control_plane)
            code = _tell(stage, story)
            if leave is not None:
                _tell_how_to_go_on(story, control_plane, stage)
                leave(code)
                while True:
                    signal.pause()
    except _FAILURES as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def _set_the_stage(story: Story, stack: ExitStack, control_plane: ControlPlane) -> Stage:
    """Start everything; `stack` ends it."""
    story.title("Podium at work: a real Kubernetes control plane, and pods that ask for schedulerName: podium")
    with story.step("Starting etcd and kube-apiserver on 127.0.0.1", 5):
        stack.enter_context(control_plane)
    client = stack.enter_context(control_plane.client())
    podium = Podium(control_plane)
    with story.step("Starting KWOK, which plays kubelets, and creating nine nodes", 2):
        stage = Stage(client, podium, control_plane.start_kwok())
        stage.set()
    with story.step("Starting Podium, as a user who has a scheduler's rights and no others", 2):
        stage.podium.start(client)
    story.say(f"$ {stage.podium.command_line}")
    return stage


def _tell(stage: Stage, story: Story) -> int:
    for chapter in CHAPTERS:
        story.chapter(chapter.title)
        chapter.tell(stage, story)
    if story.conclude():
        return 0
    print(stage.podium.log_tail(), file=sys.stderr)
    return _FAILED


def _tell_how_to_go_on(story: Story, control_plane: ControlPlane, stage: Stage) -> None:
    story.title("\nEverything is left running.")
    story.say(f"export KUBECONFIG={control_plane.kubeconfig()}")
    story.say(f"{Path(sys.executable).with_name('kubectl')} --namespace {NAMESPACE} get pods --output wide")
    story.say(f"curl {stage.podium.metrics_url}")
    story.say("There is no controller manager: create pods; nothing makes them of a Deployment.")
    story.say(f"To end it: kill {os.getpid()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`make demo KEEP=1`, as a user runs it: the story is true, the cluster stays, and ends when it is told to."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane.client import wait_until

_CHECKOUT = Path(__file__).parents[2]
_KUBECTL = Path(sys.executable).with_name("kubectl")
# Long enough for a machine that must build the control plane first.
_PATIENCE_SECONDS = 1200


@contextmanager
def kept_demo() -> Iterator[subprocess.CompletedProcess[str]]:
    """A demo that has told its story; what it left running is ended at the end."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.demo", "--keep"],
        cwd=_CHECKOUT,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        yield told
    finally:
        if left := re.search(r"To end it: kill (\d+)", told.stdout):
            os.kill(int(left[1]), signal.SIGTERM)


@pytest.mark.timeout(_PATIENCE_SECONDS)
def test_demo_tells_a_true_story_and_leaves_its_cluster_until_told() -> None:
    """Every fact holds; the kubeconfig it prints leads to the pods; nothing is left after the end it names."""
    with kept_demo() as told:
        assert told.returncode == 0, told.stdout + told.stderr
        held = re.search(r"^(\d+) of (\d+) facts hold\.$", told.stdout, re.MULTILINE)
        assert held is not None
        assert held[1] == held[2]
        assert "condition PodScheduled, Unschedulable: 0/9 nodes are available: 9 Insufficient cpu." in told.stdout
        assert re.search(r"^   deciding on a node +\d+( +\d+\.\d\d){3}$", told.stdout, re.MULTILINE)
        assert "\x1b" not in told.stdout
        export = re.search(r"export KUBECONFIG=(.+)", told.stdout)
        assert export is not None
        kubeconfig = Path(export[1])
        command = [str(_KUBECTL), f"--kubeconfig={kubeconfig}", "--namespace", "demo", "get", "pods", "--no-headers"]
        pods = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(pods) == 31
    wait_until(lambda: not kubeconfig.parent.exists(), what="the end of the cluster")

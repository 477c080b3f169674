"""The real Helm, and what it makes of the chart of this checkout."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tests.controlplane.build import binary
from tests.controlplane.resources import Manifests

CHART = Path(__file__).parents[2] / "charts" / "podium"
RELEASE = "podium"
NAMESPACE = "podium-system"


class HelmError(Exception):
    """Helm refused; the message is what it printed."""


def run_helm(*arguments: str | Path, values: Mapping[str, Any] | None = None, kubeconfig: Path | None = None) -> str:
    """Run Helm, with `values` in place of the chart's own, and return what it prints. Raises HelmError."""
    command = [binary("helm"), *arguments]
    if values is not None:
        command += ["--values", "-"]
    # The user's own Helm and cluster have no say.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBE"))}
    if kubeconfig is not None:
        environment["KUBECONFIG"] = str(kubeconfig)
    result = subprocess.run(
        command,
        input=msgspec.json.encode(values or {}).decode(),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise HelmError(result.stdout + result.stderr)
    return result.stdout


def render(values: Mapping[str, Any] | None = None, *, release: str = RELEASE, namespace: str = NAMESPACE) -> str:
    """The manifests of a release, as Helm would send them to the API server. Raises HelmError."""
    return run_helm("template", release, CHART, "--namespace", namespace, values=values)


def objects(manifests: str) -> Manifests:
    """The objects in YAML documents."""
    return [document for document in yaml.safe_load_all(manifests) if document is not None]

"""`python -m tests.chart` renders deploy/ from the chart, for those who install without Helm."""

import sys
from pathlib import Path

from tests.chart.helm import NAMESPACE, HelmError, render
from tests.controlplane.build import BuildError

MANIFESTS = Path(__file__).parents[2] / "deploy" / "podium.yaml"

_HEAD = f"""\
# Podium with the defaults of the chart in charts/podium, rendered by `make manifests`. Change the chart, not this file.
---
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""


def rendered() -> str:
    """What deploy/ should hold: the namespace and a release with default values. Raises HelmError and BuildError."""
    return f"{_HEAD}{render().rstrip()}\n"


def main() -> int:
    """Write the file; returns the exit code."""
    try:
        text = rendered()
    except (BuildError, HelmError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    MANIFESTS.parent.mkdir(exist_ok=True)
    MANIFESTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

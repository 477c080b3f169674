"""`python -m tests.bench.simulate [--nodes N] [--pods N]`: how long `podium simulate` takes for a large cluster.

Writes the cluster as kubectl prints it, as YAML and as JSON, and runs the installed command on either, reading and
answer included. Seconds of wall and CPU time.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_PODIUM = Path(sys.executable).with_name("podium")
_APPS = 200
_IMAGES = 20


def main() -> int:
    """Print a line for each format and form of answer."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulate", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for form in ("json", "yaml"):
            files = [
                _write(Path(directory), "nodes", form, map(_node, range(options.nodes))),
                _write(Path(directory), "pods", form, map(_pod, range(options.pods))),
            ]
            size_mb = sum(file.stat().st_size for file in files) / 1e6
            for output in ("text", "json"):
                wall, cpu = _measured([str(_PODIUM), "simulate", "-o", output, *map(str, files)])
                print(f"{size_mb:.0f} MB of {form}, answer as {output}: {wall:.1f} s, {cpu:.1f} s of CPU time")
    return 0


def _measured(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _write(directory: Path, name: str, form: str, items: Iterator[dict[str, Any]]) -> Path:
    path = directory / f"{name}.{form}"
    listed = {"apiVersion": "v1", "items": list(items), "kind": "List", "metadata": {"resourceVersion": ""}}
    with path.open("w", encoding="utf-8") as file:
        if form == "json":
            json.dump(listed, file, indent=4)
        else:
            yaml.dump(listed, file, Dumper=yaml.CSafeDumper, width=10**9)
    return path


def _node(number: int) -> dict[str, Any]:
    name = f"node-{number:05d}"
    amounts = {"cpu": "16", "ephemeral-storage": "104845292Ki", "memory": f"{64_000_000 + number}Ki", "pods": "110"}
    condition = {"lastHeartbeatTime": "2026-06-01T10:20:30Z", "lastTransitionTime": "2026-03-01T10:20:30Z"}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    image = "registry.example/team/app"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {"csi.volume.kubernetes.io/nodeid": json.dumps({"ebs.csi.example": f"i-{number:017x}"})},
            "creationTimestamp": "2026-03-01T10:20:30Z",
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "large",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
            },
            "name": name,
            "resourceVersion": f"{100_000 + number}",
            "uid": f"aaaaaaaa-0000-0000-0000-{number:012d}",
        },
        "spec": {"podCIDR": f"10.{number // 250}.{number % 250}.0/24", "providerID": f"example:///{name}"},
        "status": {
            "addresses": [{"address": name, "type": "Hostname"}],
            "allocatable": amounts,
            "capacity": amounts | {"cpu": "16"},
            "conditions": [{**condition, "status": str(kind == "Ready"), "type": kind} for kind in kinds],
            "images": [
                {"names": [f"{image}{k}@sha256:{k:064x}", f"{image}{k}:v1.{k}"], "sizeBytes": 100_000_000 + k}
                for k in range(_IMAGES)
            ],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.37.2", "machineID": f"m{number:031x}"},
        },
    }


def _pod(number: int) -> dict[str, Any]:
    app, token = number % _APPS, f"kube-api-access-{number:05d}"
    probe = {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}}
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    container = {
        "env": [{"name": "POD_NAME", "valueFrom": reference}, {"name": "LEVEL", "value": "info"}],
        "image": f"registry.example/team/app{app}:v1.2.3",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": probe,
        "name": "app",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": f"{100 + app % 10 * 10}m", "memory": "128Mi"}},
        "volumeMounts": [{"mountPath": "/var/run/secrets/token", "name": token, "readOnly": True}],
    }
    toleration = {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 300}
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "creationTimestamp": "2026-06-01T10:20:30Z",
            "labels": {"app": f"app{app}", "pod-template-hash": "7d9f8c6b5"},
            "name": f"app{app}-7d9f8c6b5-{number:05d}",
            "namespace": f"team-{app % 20}",
            "resourceVersion": f"{200_000 + number}",
            "uid": f"bbbbbbbb-0000-0000-0000-{number:012d}",
        },
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "podium",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [toleration | {"key": key} for key in keys],
            "volumes": [{"name": token, "projected": {"defaultMode": 420, "sources": sources}}],
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


if __name__ == "__main__":
    sys.exit(main())

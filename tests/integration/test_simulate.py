"""`podium simulate` and `podium run` give the same answer on the same objects of a real API server.

Both see many random clusters at once. Where nodes tie chance decides, and differently for each; so a cluster is gone
through pod by pod: the ones before stand where `run` put them, and its choice must be among the best of `simulate`'s.
"""

import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import yaml

from scheduler.config.loading import load_configuration
from scheduler.simulator.cluster_input import read_cluster
from scheduler.simulator.documents import read_objects
from scheduler.simulator.report import document
from scheduler.simulator.simulation import simulate as run_simulation
from tests.conftest import Cluster
from tests.controlplane.client import Client, wait_until
from tests.controlplane.credentials import User
from tests.controlplane.resources import Manifest, Manifests
from tests.integration.observations import scheduled_condition
from tests.integration.podium import PODIUM, Podiums
from tests.integration.random_clusters import RandomCluster, priority_classes

_PATIENCE_SECONDS = 300.0
_NOT_PLACED = 3
_API_VERSIONS = {"PriorityClass": "scheduling.k8s.io/v1"}


def test_run_and_simulate_agree_on_50_clusters(cluster: Cluster, podium: Podiums) -> None:
    """Nodes, reasons, nominations and victims."""
    assert_agreement(cluster, podium, [RandomCluster(number) for number in range(50)])


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_run_and_simulate_agree_on_300_clusters(cluster: Cluster, podium: Podiums) -> None:
    """The same with many more."""
    assert_agreement(cluster, podium, [RandomCluster(number) for number in range(100, 400)])


def assert_agreement(cluster: Cluster, podium: Podiums, clusters: Sequence[RandomCluster]) -> None:
    client = cluster.client
    create(client, clusters)
    before = {kind: client.list(kind) for kind in ("nodes", "pods", "priorityclasses", "namespaces")}
    simulated = simulate("--from-cluster", "--kubeconfig", str(cluster.control_plane.kubeconfig(User.ADMIN)))
    by_key = {(pod["namespace"], pod["name"]): pod for pod in simulated["pods"]}
    process = podium.start(cluster.control_plane)
    after = wait_until(lambda: settled(client, clusters, by_key), _PATIENCE_SECONDS, what="an answer to every pod")
    wait_until(lambda: process.sample("scheduler_preemption_victims_sum") == len(being_deleted(client)))
    victims = being_deleted(client)
    compared: Counter[str] = Counter()
    for each in clusters:
        pods = in_turn(after, each)
        answers = [by_key[each.name, pod["metadata"]["name"]] for pod in pods]
        if all((answer["tied"] or 1) == 1 for answer in answers):
            for answer, pod in zip(answers, pods, strict=True):
                assert_same(answer, pod, victims, each)
                if "nodeName" not in pod["spec"]:
                    assert answer["message"] == (scheduled_condition(pod) or {})["message"]
        else:
            compared["by chance"] += 1
        compared += go_through(of_cluster(before, each), pods, victims, each)
    assert compared["placed"] > len(clusters)
    assert min(compared["preempts"], compared["refused"]) > len(clusters) // 5
    assert compared["by chance"] < len(clusters) // 2


def go_through(objects: dict[str, Manifests], pods: Manifests, victims: set[str], each: RandomCluster) -> Counter[str]:
    """Compare pod by pod, the ones before where `run` put them, up to one that had to wait for another one."""
    compared: Counter[str] = Counter()
    for pod in pods:
        answer = simulate_alone(objects, pod)
        placed = "nodeName" in pod["spec"]
        if placed and answer["node"] is None:
            break  # it was placed in a later attempt
        assert_same(answer, pod, victims, each)
        if placed:
            objects["Pod"].append(pod)
        compared["placed" if placed else "preempts" if answer["evicts"] else "refused"] += 1
    return compared


def create(client: Client, clusters: Sequence[RandomCluster]) -> None:
    """All clusters, with nobody scheduling yet; of each the pods one after another."""
    client.create_many(priority_classes())
    client.create_many({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.name}} for each in clusters)
    client.create_many(node for each in clusters for node in each.nodes())
    client.create_many(pod for each in clusters for pod in each.running())
    for each in clusters:
        for pod in each.pending():
            client.create(pod)


def simulate(*arguments: str) -> dict[str, Any]:
    """The answer of the installed command."""
    done = subprocess.run([PODIUM, "simulate", "-o", "json", *arguments], capture_output=True, check=False)
    assert done.returncode in (0, _NOT_PLACED), done.stderr.decode()
    assert not done.stderr
    answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    return answer


def settled(
    client: Client, clusters: Sequence[RandomCluster], answers: dict[tuple[str, str], dict[str, Any]]
) -> Manifests | None:
    """The pending pods once each is bound or told why not; one may be told first and fit when another is placed."""
    names = {each.name for each in clusters}
    pods = [pod for pod in client.list("pods") if pod["metadata"]["namespace"] in names]
    pending = [pod for pod in pods if pod["metadata"]["name"].startswith("p-")]
    by_chance = {answer["namespace"] for answer in answers.values() if (answer["tied"] or 1) > 1}

    def is_settled(pod: Manifest) -> bool:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        answer = answers[namespace, name]
        # Its victims are gone at once in a simulation, and never here, without kubelets.
        waits_for_good = namespace in by_chance or answer["node"] is None or bool(answer["evicts"])
        return "nodeName" in pod["spec"] or (waits_for_good and scheduled_condition(pod) is not None)

    return pending if all(map(is_settled, pending)) else None


def being_deleted(client: Client) -> set[str]:
    """namespace/name of the pods on their way out."""
    metadata = [pod["metadata"] for pod in client.list("pods")]
    return {f"{each['namespace']}/{each['name']}" for each in metadata if "deletionTimestamp" in each}


def of_cluster(before: dict[str, Manifests], each: RandomCluster) -> dict[str, Manifests]:
    """The cluster's objects by kind, without its pending pods."""
    return {
        "PriorityClass": before["priorityclasses"],
        "Node": [node for node in before["nodes"] if node["metadata"]["labels"].get("cluster") == each.name],
        "Pod": [
            pod for pod in before["pods"] if pod["metadata"]["namespace"] == each.name and "nodeName" in pod["spec"]
        ],
    }


def in_turn(after: Manifests, each: RandomCluster) -> Manifests:
    """Its pending pods by priority, then by name."""
    own = [pod for pod in after if pod["metadata"]["namespace"] == each.name]
    return sorted(own, key=lambda pod: (-pod["spec"]["priority"], pod["metadata"]["name"]))


def simulate_alone(objects: dict[str, Manifests], pod: Manifest) -> dict[str, Any]:
    """What becomes of the pod, as it was made, beside these objects: from YAML, in this process."""
    fresh = {"metadata": pod["metadata"], "spec": {k: v for k, v in pod["spec"].items() if k != "nodeName"}}
    lists = {**objects, "Pod": [*objects["Pod"], fresh]}
    text = yaml.safe_dump_all(
        {"apiVersion": _API_VERSIONS.get(kind, "v1"), "kind": f"{kind}List", "items": items}
        for kind, items in lists.items()
    )
    cluster = read_cluster(read_objects(text.encode(), "objects"), "podium")
    (answer,) = document(run_simulation(cluster, load_configuration(None), seed=0))["pods"]
    assert isinstance(answer, dict)
    return answer


def assert_same(answer: dict[str, Any], pod: Manifest, victims: set[str], each: RandomCluster) -> None:
    """What simulate says of the pod is what run did."""
    where = f"{each.name}/{pod['metadata']['name']}"
    node = pod["spec"].get("nodeName")
    if node is not None:
        assert node == answer["node"] or node in answer["tiedNodes"], where
        return
    assert pod["status"].get("nominatedNodeName") == answer["nominatedNode"], where
    assert {name for name in victims if name.startswith(f"{each.name}/")} == set(answer["evicts"]), where
    assert answer["evicts"] or answer["node"] is None, where


def test_a_cluster_that_may_not_be_read_is_bad_input(cluster: Cluster) -> None:
    """Without rights, and without anybody who answers: one line that says what is wrong, exit code 2."""
    kubeconfig = cluster.control_plane.kubeconfig(User.PODIUM)
    client = cluster.client
    assert client.find("clusterroles", f"{User.PODIUM}-granted") is None
    assert "nodes can't be listed: 403" in refused("--from-cluster", "--kubeconfig", str(kubeconfig))
    assert "/no/such/file" in refused("--from-cluster", "--kubeconfig", "/no/such/file")


def test_kinds_that_may_not_be_listed_are_told(cluster: Cluster) -> None:
    """Nodes and pods suffice; that the others are taken not to be there is a warning each."""
    rules = [{"apiGroups": [""], "resources": ["nodes", "pods", "namespaces"], "verbs": ["list"]}]
    cluster.client.grant(User.PODIUM, rules)
    wait_until(lambda: cluster.client.may(User.PODIUM, "list", "pods"))
    answer = simulate("--from-cluster", "--kubeconfig", str(cluster.control_plane.kubeconfig(User.PODIUM)))
    told = [warning["message"].partition(",")[0] for warning in answer["warnings"]]
    assert "storageclasses can't be listed" in told
    assert not any(message.startswith(("pods", "nodes", "namespaces")) for message in told)


def refused(*arguments: str) -> str:
    """The only line that the installed command has to say."""
    done = subprocess.run([PODIUM, "simulate", *arguments], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    return line

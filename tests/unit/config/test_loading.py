"""From a file to a configuration: the way as a whole."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.config.faults import ConfigurationError
from scheduler.config.loading import load_configuration, parse_configuration
from scheduler.config.plugin_args import NodeAffinityArgs
from tests.unit.config.configurations import faults

EXAMPLE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: /etc/podium/kubeconfig
profiles:
- schedulerName: batch
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: pool, operator: In, values: [batch]}
"""


def test_a_file_is_loaded(tmp_path: Path) -> None:
    """A file gives the typed, effective configuration and the plugins of its profiles."""
    path = tmp_path / "config.yaml"
    path.write_text(EXAMPLE)
    loaded = load_configuration(path)
    (profile,) = loaded.configuration.profiles
    affinity = profile.args(NodeAffinityArgs).added_affinity
    assert affinity is not None
    required = affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    (term,) = required.node_selector_terms
    assert term.match_expressions is not None
    assert term.match_expressions[0].values == ("batch",)
    assert loaded.configuration.client_connection.kubeconfig == "/etc/podium/kubeconfig"
    assert list(loaded.plugins) == ["batch"]


def test_no_file_means_the_defaults() -> None:
    """Without a file one profile named podium runs."""
    assert list(load_configuration(None).plugins) == ["podium"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("kind: KubeSchedulerConfiguration", "f: apiVersion: missing (write kubescheduler.config.k8s.io/v1)"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            (
                'f: apiVersion: "kubescheduler.config.k8s.io/v1beta3" is not understood '
                "(bring the file to kubescheduler.config.k8s.io/v1, which every kube-scheduler since 1.25 reads)"
            ),
        ),
        (
            "apiVersion: v1\nkind: Pod",
            (
                'f: apiVersion: "v1" is not understood (write kubescheduler.config.k8s.io/v1)\n'
                'f: kind: "Pod" is not a scheduler\'s configuration (write KubeSchedulerConfiguration)'
            ),
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfig",
            (
                'f: kind: "KubeSchedulerConfig" is not a scheduler\'s configuration '
                '(did you mean "KubeSchedulerConfiguration"?)'
            ),
        ),
        ("apiVersion: [1]\nkind: 5", "f: apiVersion: a list is not understood"),
    ],
)
def test_another_kind_of_file_is_named_as_such(header: str, expected: str) -> None:
    """A wrong apiVersion or kind is the only complaint, whatever else stands in the file."""
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(f"{header}\nspec: {{}}".encode(), source="f")
    assert str(caught.value).startswith(expected)
    assert "spec" not in str(caught.value)


def test_the_error_has_one_line_a_fault() -> None:
    """The text of the error lists every fault with the name of the file, and its faults are there as values."""
    text = f"{EXAMPLE}parallelism: 0\npodInitialBackoffSeconds: 0\n"
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text.encode(), source="conf.yaml")
    assert str(caught.value).splitlines() == [f"conf.yaml: {fault}" for fault in caught.value.faults]
    assert [fault.path for fault in caught.value.faults] == ["parallelism", "podInitialBackoffSeconds"]
    assert caught.value.source == "conf.yaml"


KEYS = st.sampled_from(
    [
        "schedulerName",
        "plugins",
        "score",
        "multiPoint",
        "enabled",
        "name",
        "args",
        "weight",
        "kind",
        "type",
        "resources",
        "foo",
    ]
)
SCALARS = st.sampled_from([None, True, 0, 2**70, 1.5, "", "*", "NodeResourcesFit", "NodeAffinity", "NodeName"])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(KEYS, SCALARS, max_size=2)


@settings(max_examples=50)
@given(
    profile=st.dictionaries(KEYS, VALUES, max_size=3),
    entry=st.fixed_dictionaries({"name": VALUES, "args": VALUES}),
    election=VALUES,
)
def test_whatever_is_written_the_answer_is_a_list_of_faults(
    profile: dict[str, object], entry: dict[str, object], election: object
) -> None:
    """No value in any place breaks the loading: it is taken, or refused with faults that have a place and a text."""
    profiles = [profile, {"schedulerName": "test", "pluginConfig": [entry]}]
    for fault in faults({"profiles": profiles, "leaderElection": election}):
        assert fault.path
        assert fault.message

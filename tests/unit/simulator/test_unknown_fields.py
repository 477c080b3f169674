"""A misspelt field is refused by name; what comes from an API server is not looked at again."""

import pytest

from scheduler.simulator.unknown_fields import field_names
from tests.unit.simulator.clusters import faults, node, pod
from tests.unit.simulator.published_fields import published_fields


def test_the_table_is_what_kubernetes_publishes() -> None:
    """Of the release whose client is installed."""
    assert field_names() == published_fields()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (pod("a", "toleration: []"), 'spec.toleration: there is no such field; did you mean "tolerations"?'),
        (pod("a", "tolerations: [{keys: x, operator: Exists}]"),
         'spec.tolerations[0].keys: there is no such field; did you mean "key"?'),
        (pod("a", metadata="label: {}"), 'metadata.label: there is no such field; did you mean "labels"?'),
        (pod("a", "xyzzy: 1"), "spec.xyzzy: there is no such field"),
    ],
)  # fmt: skip
def test_a_misspelt_field_is_refused(text: str, fault: str) -> None:
    """With its path, and what may be meant."""
    assert faults(text) == [f"document 1, Pod default/a, {fault}"]


def test_what_no_plugin_reads_is_known_all_the_same() -> None:
    """Fields that are passed over are no mistake."""
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {x: z}, managedFields: []}\nspec:\n"
    text += "  restartPolicy: Never\n  dnsPolicy: Default\n  containers:\n  - name: c\n    image: i\n    env: []\n"
    text += "    volumeMounts: [{name: v, mountPath: /v}]\n  volumes:\n  - name: v\n    configMap: {name: m}\n"
    assert faults(text + "---\n" + node("n1")) == []


def test_objects_of_an_api_server_are_taken_as_they_are() -> None:
    """A newer one may have fields that are not known here; the resourceVersion tells where an object comes from."""
    assert faults(pod("a", "new: 1", metadata="resourceVersion: '5'")) == []

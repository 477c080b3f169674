"""What is wrong with the objects of a cluster is told by place and field, all at once; the rest has its defaults."""

import pytest

from scheduler.api.types import Namespace, ReplicationController, StorageClass
from tests.unit.simulator.clusters import faults, node, pod, read

LONG = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = "{labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}, topologyKey: ''}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kind: Pod\n", "document 1: apiVersion is missing; write apiVersion: v1 or what it is"),
        ("apiVersion: v1\nkind: [Pod]\n", "document 1: kind must be text; write kind: Pod or what it is"),
        ("apiVersion: v2\nkind: Pod\n", "document 1, Pod, apiVersion: expected v1, got v2"),
        ("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n",
         "document 1, PodDisruptionBudget, apiVersion: expected policy/v1, got policy/v1beta1"),
        ("apiVersion: v1\nkind: pod\n",
         "document 1: there is no kind pod in v1; write apiVersion: v1 and kind: Pod"),
        ("apiVersion: apps/v1\nkind: Pod\n",
         "document 1: there is no kind Pod in apps/v1; write apiVersion: v1 and kind: Pod"),
        ("apiVersion: v1\nkind: StorageClasses\n", ("document 1: there is no kind StorageClasses in v1; "
         "write apiVersion: storage.k8s.io/v1 and kind: StorageClass")),
        ("apiVersion: v1\nkind: Pod\n", "document 1, Pod, metadata: is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: x\n", 'document 1, Pod, metadata: expected a mapping, got "x"'),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}\n", "document 1, Pod, metadata.name: is missing"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: ''}\n", "document 1, Node, metadata.name: is missing"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: 5}\n",
         "document 1, Node, metadata.name: expected text, got 5; put it in quotes"),
        (pod("a", metadata="labels: {x: yes}"),
         "document 1, Pod a, metadata.labels.x: expected text, got true; put it in quotes"),
        (pod("a", metadata="creationTimestamp: today"),
         'document 1, Pod a, metadata.creationTimestamp: expected a time such as 2026-01-31T12:00:00Z, got "today"'),
        (pod("A_b"), ('document 1, Pod default/A_b, metadata.name: "A_b": a name has lower-case letters, digits, '
         "- and ., and begins and ends with a letter or digit")),
        (pod("a", metadata="labels: {app: -x}"), ('document 1, Pod default/a, metadata.labels.app: "-x": a label value '
         "has up to 63 letters, digits, -, _ and ., and begins and ends with a letter or digit")),
        (pod("a", "tolerations: {}"), "document 1, Pod a, spec.tolerations: expected a list, got a mapping"),
        (pod("a", "hostNetwork: 1"), "document 1, Pod a, spec.hostNetwork: expected true or false, got 1"),
        (pod("a", cpu="1x"), ("document 1, Pod default/a, spec.containers[0].resources.requests.cpu: "
         "'1x' is not a quantity; write a number and a suffix, such as 500m, 2, 1.5Gi or 1e3")),
        (pod("a", cpu="-1"), "document 1, Pod default/a, spec.containers[0].resources.requests.cpu: -1 is below 0"),
        (pod("a", "resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
         "document 1, Pod default/a, spec.resources.requests.cpu: 2 is more than the limit of 1"),
        (pod("a", "initContainers: [{name: i, ports: [{containerPort: 0, hostPort: 70000, protocol: tcp}]}]"),
         "document 1, Pod default/a, spec.initContainers[0].ports[0].containerPort: 0 is not between 1 and 65535"),
        (pod("a", "tolerations: [{key: a, operator: Exist}]"),
         'document 1, Pod default/a, spec.tolerations[0].operator: "Exist" is not one of Equal, Exists'),
        (pod("a", "tolerations: [{effect: NoSchedule}]"),
         "document 1, Pod default/a, spec.tolerations[0].operator: must be Exists where there is no key"),
        (pod("a", f"affinity: {{nodeAffinity: {{{LONG}: {{nodeSelectorTerms: []}}}}}}"), ("document 1, Pod default/a, "
         f"spec.affinity.nodeAffinity.{LONG}.nodeSelectorTerms: has at least one term")),
        (pod("a", f"affinity: {{podAffinity: {{{LONG}: [{TERM}]}}}}"), ("document 1, Pod default/a, "
         f"spec.affinity.podAffinity.{LONG}[0].topologyKey: is missing")),
        (pod("a", "topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"),
         "document 1, Pod default/a, spec.topologySpreadConstraints[0].maxSkew: 0 is not above 0"),
        (pod("a", "priority: 3000000000"),
         "document 1, Pod default/a, spec.priority: 3000000000 is not between -2147483648 and 2147483647"),
        (pod("a", "priority: 100000000000000000000000"),
         "document 1, Pod a, spec.priority: expected a whole number, got 1e+23"),
        (pod("a", "priorityClassName: none"), ("document 1, Pod default/a, spec.priorityClassName: "
         'there is no PriorityClass "none"; add it to the input')),
        (pod("a", "nodeName: n1, schedulingGates: [{name: g}]"),
         "document 1, Pod default/a, spec.schedulingGates: a pod that is on a node can't be held back"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
         "document 1, Pod default/a, spec.containers: a pod has at least one container"),
        (node("n1", cpu="two"), ("document 1, Node n1, status.capacity.cpu: "
         "'two' is not a quantity; write a number and a suffix, such as 500m, 2, 1.5Gi or 1e3")),
        (node("n1", spec="{taints: [{key: a, effect: Never}]}"), ("document 1, Node n1, spec.taints[0].effect: "
         '"Never" is not one of NoSchedule, PreferNoSchedule, NoExecute')),
        (node("n1") + node("n1"), "document 2, Node n1: stands twice; first in input.yaml, document 1"),
        (pod("a", metadata="uid: u") + pod("b", metadata="uid: u"),
         "document 2, Pod default/b, metadata.uid: is that of another object, input.yaml, document 1, Pod default/a"),
        ("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: p}\nvalue: 2000000000\n",
         "document 1, PriorityClass p, value: 2000000000 is not between -2147483648 and 1000000000"),
        ("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\nvolumeBindingMode: Late\n",
         'document 1, StorageClass s, volumeBindingMode: "Late" is not one of Immediate, WaitForFirstConsumer'),
        (pod("a", "nodeSelector: {a b: c}"), ('document 1, Pod default/a, spec.nodeSelector.a b: a name has '
         "1 to 63 letters, digits, -, _ and ., and begins and ends with a letter or digit")),
    ],
)  # fmt: skip
def test_what_no_api_server_would_store_is_refused(text: str, fault: str) -> None:
    """Document, object, field, and what is wrong with it."""
    assert fault in faults(text)


SELECTOR = "{matchExpressions: [{key: a, operator: Gt, values: ['1']}]}"


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("v1 PersistentVolumeClaim", "spec: {accessModes: [Once]}", 'spec.accessModes[0]: "Once" is not one of'),
        ("v1 PersistentVolumeClaim", "spec: {volumeMode: File}", 'spec.volumeMode: "File" is not one of Filesystem'),
        ("v1 PersistentVolumeClaim", f"spec: {{selector: {SELECTOR}}}", "spec.selector.matchExpressions[0].operator: "),
        ("v1 PersistentVolumeClaim", "spec: {resources: {requests: {storage: -1}}}",
         "spec.resources.requests.storage: -1 is below 0"),
        ("v1 PersistentVolume", "spec: {accessModes: [Once]}", 'spec.accessModes[0]: "Once" is not one of'),
        ("v1 PersistentVolume", "spec: {capacity: {storage: -1}}", "spec.capacity.storage: -1 is below 0"),
        ("v1 PersistentVolume",
         "spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Is}]}]}}}",
         "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: "),
        ("storage.k8s.io/v1 StorageClass", "allowedTopologies: [{matchLabelExpressions: [{key: a}]}]",
         "allowedTopologies[0].matchLabelExpressions[0].values: has at least one value"),
        ("storage.k8s.io/v1 CSINode", "spec: {drivers: [{name: d, nodeID: a, allocatable: {count: -1}}]}",
         "spec.drivers[0].allocatable.count: -1 is below 0"),
        ("storage.k8s.io/v1 CSIStorageCapacity", f"storageClassName: s\nnodeTopology: {SELECTOR}",
         "nodeTopology.matchExpressions[0].operator: "),
        ("storage.k8s.io/v1 CSIStorageCapacity", "storageClassName: s\ncapacity: -1Gi", "capacity: -1Gi is below 0"),
        ("policy/v1 PodDisruptionBudget", f"spec: {{selector: {SELECTOR}}}", "spec.selector.matchExpressions[0]"),
        ("apps/v1 ReplicaSet", f"spec: {{selector: {SELECTOR}}}", "spec.selector.matchExpressions[0].operator: "),
        ("apps/v1 StatefulSet", f"spec: {{selector: {SELECTOR}}}", "spec.selector.matchExpressions[0].operator: "),
    ],
)  # fmt: skip
def test_what_else_a_decision_depends_on_is_checked_too(kind: str, body: str, field: str) -> None:
    """Modes, amounts and selectors of every kind that is read: one fault, at its field."""
    api_version, name = kind.split()
    (fault,) = faults(f"apiVersion: {api_version}\nkind: {name}\nmetadata: {{name: a}}\n{body}\n")
    assert fault.partition(", ")[2].partition(", ")[2].startswith(field)


def test_a_name_that_is_no_namespace_is_told_where_it_stands() -> None:
    """The pod is named, not the namespace that nobody wrote."""
    rule = "has up to 63 lower-case letters, digits and -, and it begins and ends with a letter or digit"
    assert faults(pod("a", metadata="namespace: a.b")) == [
        f'document 1, Pod a.b/a, metadata.namespace: "a.b": the name of a namespace {rule}'
    ]


def test_all_faults_come_at_once() -> None:
    """In the order of the input, pods among the others."""
    text = pod("a", cpu="x") + node("n1", cpu="y") + "kind: Pod\n---\n" + pod("b", "hostNetwork: 1, hostUsers: 2")
    assert [fault.partition(": ")[0] for fault in faults(text)] == [
        "document 1, Pod default/a, spec.containers[0].resources.requests.cpu",
        "document 2, Node n1, status.capacity.cpu",
        "document 3",
        "document 4, Pod b, spec.hostNetwork",
        "document 4, Pod b, spec.hostUsers",
    ]


def test_what_cannot_be_read_hides_no_other_fault() -> None:
    """A broken document is told beside the others' faults; what may stand in it is not missed."""
    text = "text\n---\n" + pod("a", "priorityClassName: high") + pod("b", cpu="x")
    assert [fault.partition(": ")[0] for fault in faults(text)] == [
        "document 1",
        "document 3, Pod default/b, spec.containers[0].resources.requests.cpu",
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        '{"name": "\\ud800"}',
        '{"name": "a", "generation": 1e400}',
        '{"name": "a", "annotations": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
    ],
)
def test_what_only_json_can_say_is_refused_too(metadata: str) -> None:
    """Half a surrogate pair, numbers without end, nesting without end: one fault, no crash."""
    text = f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {metadata}, "spec": {{"containers": [{{"name": "c"}}]}}}}'
    assert len(faults(text)) == 1


def test_of_very_many_faults_not_all_are_listed() -> None:
    """A file of another kind ends in a hundred lines, not in a million, and the last line says so."""
    told = faults("kind: Pod\n---\n" * 5_000)
    assert (len(told), told[-1]) == (101, "input: there may be more faults: mend these first")


def test_nulls_are_as_good_as_absent_fields() -> None:
    """What people write with nothing behind it breaks nothing."""
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: , namespace: }\nspec:\n  containers:\n"
    text += "  - name: c\n    resources:\n    ports:\n  tolerations:\n  volumes:\n  - name: v\n    emptyDir:\nstatus:\n"
    (read_pod,) = read(text).pods
    assert (read_pod.metadata.namespace, read_pod.status.phase) == ("default", "Pending")


def test_numbers_are_quantities() -> None:
    """Bare numbers, whole and broken, mean what they say."""
    (read_pod,) = read(pod("a", cpu="0.5")).pods
    assert read_pod.spec.containers[0].resources is not None
    assert read_pod.spec.containers[0].resources.requests == {"cpu": 0.5}


def test_kinds_that_play_no_part_are_passed_over() -> None:
    """ConfigMaps, and kinds of the same name in other groups."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: 7\n---\napiVersion: serving.knative.dev/v1\nkind: Service\n"
    cluster = read(text)
    assert (cluster.nodes, cluster.pods, cluster.objects, cluster.warnings) == ([], [], [], [])


def test_who_gives_a_deployment_is_told_that_it_makes_no_pods() -> None:
    """Unless there is a pending pod, which may be what is meant."""
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n---\n"
    assert [str(each) for each in read(deployment).warnings] == [
        "input.yaml, document 1: no pods are made for a Deployment here: give the pods themselves"
    ]
    assert read(deployment + pod("a")).warnings == []


def test_a_name_is_made_up_where_the_api_server_would() -> None:
    """Pods of one generateName get names of their own."""
    text = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: [{name: c}]}\n---\n"
    assert [each.metadata.name for each in read(text * 2).pods] == ["a-00001", "a-00002"]


def test_shared_parts_are_not_confused() -> None:
    """An alias gives two pods one selector; each has its own label keys in it."""
    constraint = (
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [v]}"
    )
    spec = f"&s {{containers: [{{name: c}}], topologySpreadConstraints: [{constraint}]}}"
    items = f"  - {{apiVersion: v1, kind: Pod, metadata: {{name: a, labels: {{v: '1'}}}}, spec: {spec}}}\n"
    items += "  - {apiVersion: v1, kind: Pod, metadata: {name: b, labels: {v: '2'}}, spec: *s}\n"
    values = []
    for each in read(f"kind: List\napiVersion: v1\nitems:\n{items}").pods:
        (only,) = each.spec.topology_spread_constraints or ()
        assert only.label_selector is not None
        (expression,) = only.label_selector.match_expressions or ()
        values.append(expression.values)
    assert values == [("1",), ("2",)]


def test_the_namespaces_of_pods_are_there() -> None:
    """With the label that every namespace has; one that is given keeps its own."""
    text = pod("a", metadata="namespace: x") + pod("b") + (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {team: red}}\n"
    )  # fmt: skip
    labels = {obj.metadata.name: obj.metadata.labels for obj in read(text).objects if isinstance(obj, Namespace)}
    name = "kubernetes.io/metadata.name"
    assert labels == {"x": {"team": "red", name: "x"}, "default": {name: "default"}}


def test_defaults_of_other_kinds() -> None:
    """A controller's selector is its template's labels; a class binds at once."""
    text = "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: r}\n"
    text += "spec: {template: {metadata: {labels: {a: b}}}}\n"
    text += "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\nprovisioner: p\n"
    controller, storage_class = read(text).objects[:2]
    assert isinstance(controller, ReplicationController)
    assert controller.spec.selector == {"a": "b"}
    assert isinstance(storage_class, StorageClass)
    assert storage_class.volume_binding_mode == "Immediate"


CLASSES = "".join(
    f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\n{rest}\n---\n"
    for name, rest in (
        ("high", "value: 100\npreemptionPolicy: Never"),
        ("usual", "value: 7\nglobalDefault: true"),
        ("lower", "value: 5\nglobalDefault: true"),
    )
)


@pytest.mark.parametrize(
    ("classes", "spec", "priority", "class_name", "policy"),
    [
        ("", "", 0, None, "PreemptLowerPriority"),
        (CLASSES, "", 5, "lower", "PreemptLowerPriority"),
        (CLASSES, "priorityClassName: high", 100, "high", "Never"),
        (
            CLASSES,
            "priorityClassName: high, preemptionPolicy: PreemptLowerPriority",
            100,
            "high",
            "PreemptLowerPriority",
        ),
        ("", "priorityClassName: system-node-critical", 2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
        (CLASSES, "priority: 3", 3, None, None),
        ("", "priority: 3, priorityClassName: gone", 3, "gone", None),
    ],
)
def test_priority_admission(classes: str, spec: str, priority: int, class_name: str | None, policy: str | None) -> None:
    """Named class, the cluster's default (the lowest of several), built-in ones; a priority that is there stands."""
    (only,) = read(pod("a", spec) + classes).pods
    assert only.spec.priority == priority
    assert (only.spec.priority_class_name, only.spec.preemption_policy) == (class_name, policy)

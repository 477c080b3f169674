"""Our field names against the published models of the API. Not covered: what the values mean.

The models are read as source, because importing them needs the client library they belong to.
"""

import ast
import importlib.resources

import msgspec
import pytest

from scheduler.api import types

GROUPS = ("events_v1", "core_v1", "storage_v1", "apps_v1", "policy_v1", "scheduling_v1", "coordination_v1", "meta_v1")
MADE_WHEN_DECODED = {("PodSpec", "volumeKinds")}
ONLY_IN_PERSISTENT_VOLUMES = {("AzureFileVolumeSource", "secretNamespace"): "AzureFilePersistentVolumeSource"}
WATCHED_KINDS = (
    *("Pod", "Node", "Namespace", "PriorityClass", "PodDisruptionBudget", "PersistentVolume", "PersistentVolumeClaim"),
    *("StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment", "Service", "Lease", "Event"),
    *("ReplicationController", "ReplicaSet", "StatefulSet"),
)
OURS = [
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type)
    and issubclass(value, types.ApiStruct)
    and value is not types.ApiStruct
]


def read_published() -> dict[str, set[str]]:
    """Type name to its JSON field names; where two groups have the name, the first of GROUPS counts."""
    published: dict[str, set[str]] = {}
    for group in GROUPS:
        source = importlib.resources.files("lightkube.models").joinpath(f"{group}.py").read_text()
        for model in ast.parse(source).body:
            if isinstance(model, ast.ClassDef):
                attributes = {
                    line.target.id
                    for line in model.body
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                }
                published.setdefault(model.name, attributes)
    return published


PUBLISHED = read_published()


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: ours.__name__)
def test_each_field_exists_in_the_published_model(ours: type[msgspec.Struct]) -> None:
    """Each of our fields has the JSON name of a field of the published type of the same name."""
    unknown = [
        field
        for field in ours.__struct_encode_fields__
        if (ours.__name__, field) not in MADE_WHEN_DECODED
        and field not in PUBLISHED[ONLY_IN_PERSISTENT_VOLUMES.get((ours.__name__, field), ours.__name__)]
    ]
    assert unknown == []


def test_the_kinds_a_scheduler_watches_are_all_there() -> None:
    """Each watched kind has a type with metadata."""
    assert all("metadata" in getattr(types, kind).__struct_fields__ for kind in WATCHED_KINDS)

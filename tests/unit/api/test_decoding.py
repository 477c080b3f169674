"""JSON to typed objects. Not covered: what other modules make of the values."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler.api import types
from scheduler.api.decoding import DECODERS, decode_node, decode_pod
from scheduler.api.pod import MIRROR_POD_ANNOTATION, NOMINATED_NODE_ANNOTATION, Pod
from tests.unit.api.documents import documents, full_document

KINDS = sorted(DECODERS)


def encode(document: Any) -> bytes:
    return json.dumps(document).encode()


def type_of(kind: str) -> Any:
    return getattr(types, kind)


def member_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all members and items, those of an object's identity left out."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        if (*path, key) not in {("metadata",), ("metadata", "name")}:
            yield (*path, key)
        yield from member_paths(member, (*path, key))


def parent_of(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


def make_pod_document(suffix: str = "abcde", **spec: Any) -> dict[str, Any]:
    """A pod as a controller makes it: its token volume, and so a mount in each container, has a name of its own."""
    token = f"kube-api-access-{suffix}"
    container = {
        "name": "app",
        "image": "shop:1",
        "resources": {"requests": {"cpu": "100m"}},
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
    }
    return {
        "metadata": {
            "name": f"shop-{suffix}",
            "namespace": "shop",
            "uid": suffix,
            "labels": {"app": "shop"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "shop", "uid": "1", "controller": True}],
        },
        "spec": {
            "containers": [container],
            "initContainers": [{**container, "name": "init"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "affinity": {"podAffinity": {}, "nodeAffinity": {}},
            "volumes": [{"name": token, "projected": {"sources": []}}, {"name": "tmp", "emptyDir": {}}],
            **spec,
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-01-10T09:00:0{len(spec)}Z"}
            ],
            "containerStatuses": [{"name": "app", "containerID": suffix, "allocatedResources": {"cpu": "100m"}}],
        },
    }


def test_there_is_a_decoder_for_each_kind() -> None:
    """Each kind of object that has metadata has a decoder that makes it."""
    objects = {
        name
        for name in types.__all__
        if isinstance(kind := getattr(types, name), type) and "metadata" in getattr(kind, "__struct_fields__", ())
    }
    assert set(DECODERS) == objects


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_decoded(kind: str) -> None:
    """A document with every field gives an object with every field, equal to what plain decoding gives."""
    document = full_document(type_of(kind))
    decoded = DECODERS[kind](encode(document))
    expected = msgspec.convert(document, type_of(kind))
    if kind == "Node":
        expected = replace(expected, metadata=replace(expected.metadata, annotations=None, owner_references=None))
        expected = replace(expected, metadata=replace(expected.metadata, namespace="", generation=None))
    if kind == "Pod":
        expected = replace(expected, spec=replace(expected.spec, volume_kinds=decoded.spec.volume_kinds))
    assert decoded == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_field_is_as_good_as_an_absent_one(kind: str) -> None:
    """Whichever field is null, the object is the one without it; a null item of a list or map breaks nothing."""
    document = full_document(type_of(kind))
    for path in member_paths(document):
        with_null, without = json.loads(json.dumps(document)), json.loads(json.dumps(document))
        parent_of(with_null, path)[path[-1]] = None
        parent = parent_of(without, path)
        del parent[path[-1]]
        decoded = DECODERS[kind](encode(with_null))
        in_map_or_list = isinstance(parent, list) or path[-1] in {"cpu", "memory", *types.READ_ANNOTATIONS}
        if not in_map_or_list:
            assert decoded == DECODERS[kind](encode(without)), path


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(KINDS), data=st.data())
def test_nulls_anywhere_break_nothing(kind: str, data: st.DataObject) -> None:
    """A valid document with nulls strewn over it is decoded."""
    document = data.draw(documents(type_of(kind), nulls=True))
    assert DECODERS[kind](encode(document)).metadata.name == document["metadata"]["name"]


@settings(max_examples=60, deadline=None)
@given(document=documents(Pod, nulls=False))
def test_a_pod_put_together_from_shared_parts_is_the_pod(document: Any) -> None:
    """Decoding in two steps gives what decoding in one step gives."""
    decoded = decode_pod(encode(document))
    plain = msgspec.convert(document, Pod)
    # an empty list of volumes or annotations is kept as none at all
    assert replace(decoded.metadata, annotations=None) == replace(plain.metadata, annotations=None)
    assert (decoded.metadata.annotations or {}) == (plain.metadata.annotations or {})
    assert decoded.status == plain.status
    read = tuple(volume for volume in plain.spec.volumes or () if volume != types.Volume(volume.name))
    assert [volume for volume in decoded.spec.volumes or () if volume != types.Volume(volume.name)] == list(read)
    unlike = {"volumes": None, "volume_kinds": frozenset[str]()}
    assert replace(decoded.spec, **unlike) == replace(plain.spec, **unlike)


def test_map_values_that_are_null_are_zero_values() -> None:
    """As in Go a label without a value has the empty one, and an amount that is null is 0."""
    document = make_pod_document()
    document["metadata"]["labels"] = {"gpu": None}
    document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = None
    pod = decode_pod(encode(document))
    assert pod.metadata.labels == {"gpu": ""}
    assert pod.spec.containers[0].resources == types.ResourceRequirements({"cpu": "0"})


def test_a_null_list_item_is_an_empty_item() -> None:
    """A list keeps its length when an item is null."""
    pod = decode_pod(encode(make_pod_document(tolerations=[None, {"key": "gpu"}])))
    assert pod.spec.tolerations == (types.Toleration(), types.Toleration(key="gpu"))


def test_pods_of_one_template_share_their_parts() -> None:
    """Equal parts of two pods are the same object, although names of token volumes differ."""
    one, other = decode_pod(encode(make_pod_document("abcde"))), decode_pod(encode(make_pod_document("vwxyz")))
    assert one.metadata.uid != other.metadata.uid
    for part in ("labels", "owner_references"):
        assert getattr(one.metadata, part) is getattr(other.metadata, part)
    shared = ("containers", "init_containers", "node_selector", "tolerations", "affinity", "volumes", "volume_kinds")
    for part in shared:
        assert getattr(one.spec, part) is getattr(other.spec, part)
    for part in ("conditions", "container_statuses"):
        assert getattr(one.status, part) is getattr(other.status, part)


def test_pods_that_differ_in_one_part_share_the_others() -> None:
    """Another toleration changes nothing about the containers, another pod affinity nothing about the node affinity."""
    one = decode_pod(encode(make_pod_document()))
    other = decode_pod(
        encode(
            make_pod_document(
                tolerations=[{"key": "tpu"}],
                affinity={"nodeAffinity": {}, "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
            )
        )
    )
    assert one.spec.containers is other.spec.containers
    assert one.spec.affinity is not None
    assert other.spec.affinity is not None
    assert one.spec.affinity.pod_affinity != other.spec.affinity.pod_affinity
    assert one.spec.affinity.node_affinity is other.spec.affinity.node_affinity


def test_an_object_owns_its_bytes() -> None:
    """What was decoded from a receive buffer stays as it was when the buffer is used again."""
    document = encode(make_pod_document(schedulingGates=[{"name": "quota"}]))
    buffer = bytearray(document)
    pod = decode_pod(memoryview(buffer))
    buffer[:] = b" " * len(buffer)
    assert pod == decode_pod(document)


def test_volumes_that_no_plugin_reads_are_only_named() -> None:
    """The kinds of all volumes are known, and only those that are read are kept, with their names."""
    volumes: list[dict[str, Any]] = [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "c", "nfs": {"server": "s"}},
    ]
    spec = decode_pod(encode(make_pod_document(volumes=volumes))).spec
    assert spec.volume_kinds == {"emptyDir", "persistentVolumeClaim", "nfs"}
    claim = types.PersistentVolumeClaimVolumeSource("data")
    assert spec.volumes == (types.Volume("b", persistent_volume_claim=claim),)


def test_a_volume_source_that_is_null_is_no_kind() -> None:
    """A claim that is null is not there, so the pod has no volume that a plugin reads."""
    volumes: list[dict[str, Any]] = [{"name": "a", "emptyDir": {}, "persistentVolumeClaim": None}]
    spec = decode_pod(encode(make_pod_document(volumes=volumes))).spec
    assert spec.volume_kinds == {"emptyDir"}
    assert spec.volumes is None


def test_only_annotations_that_are_read_are_kept() -> None:
    """Of a pod's annotations the nomination and the mark of a mirror pod stay; a pod with neither has none."""
    document = make_pod_document()
    document["metadata"]["annotations"] = {"checksum": "x" * 100}
    assert decode_pod(encode(document)).metadata.annotations is None
    document["metadata"]["annotations"][NOMINATED_NODE_ANNOTATION] = "n1"
    assert decode_pod(encode(document)).metadata.annotations == {NOMINATED_NODE_ANNOTATION: "n1"}
    document["metadata"]["annotations"][MIRROR_POD_ANNOTATION] = "hash"
    assert MIRROR_POD_ANNOTATION in (decode_pod(encode(document)).metadata.annotations or {})


def test_nodes_share_images_and_amounts() -> None:
    """Two nodes with the same images and amounts hold them once."""
    status = {"allocatable": {"cpu": "4"}, "images": [{"names": ["shop:1"], "sizeBytes": 1}, {"names": ["web:1"]}]}
    one, other = (decode_node(encode({"metadata": {"name": name}, "status": status})) for name in ("a", "b"))
    assert one.status.allocatable is other.status.allocatable
    assert one.status.images is not None
    assert other.status.images is not None
    assert all(left is right for left, right in zip(one.status.images, other.status.images, strict=True))


def test_numbers_are_amounts() -> None:
    """YAML by hand has bare numbers where the API has text."""
    node = decode_node(b'{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": 4, "memory": 1.5e9}}}')
    assert node.status.allocatable == {"cpu": 4, "memory": 1.5e9}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"tolerations": [{"key": 5}]}, r"\$\.spec\.tolerations\[0\]\.key"),
        ({"containers": [{"name": "a"}, {"name": "b", "ports": "80"}]}, r"\$\.spec\.containers\[1\]\.ports"),
        ({"affinity": {"nodeAffinity": []}}, r"\$\.spec\.affinity\.nodeAffinity"),
        ({"priority": "high"}, r"\$\.spec\.priority"),
        ({"nodeSelector": {"gpu": True}}, r"\$\.spec\.nodeSelector\[\.\.\.\]"),
    ],
)
def test_a_wrong_type_is_named_by_its_path(change: dict[str, Any], path: str) -> None:
    """A value of the wrong type is refused, wherever it stands, with the path from the object's root."""
    with pytest.raises(msgspec.ValidationError, match=path):
        decode_pod(encode(make_pod_document(**change)))


def test_an_object_needs_a_name() -> None:
    """An object without metadata or without a name is refused."""
    nameless: list[dict[str, Any]] = [{}, {"metadata": {}}, {"metadata": None}, {"metadata": {"name": None}}]
    for document in nameless:
        for decode in DECODERS.values():
            with pytest.raises(msgspec.ValidationError, match="missing required field"):
                decode(encode(document))


@pytest.mark.parametrize("text", [b"", b"{", b'{"metadata": {"name": "a"}', b"\xff", b"[]", b"null", b"1"])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    """Truncated or foreign text raises the error that informers expect."""
    for decode in DECODERS.values():
        with pytest.raises(msgspec.DecodeError):
            decode(text)


def test_encoding_leaves_absent_fields_out() -> None:
    """An outbound object has the fields that were set, under their JSON names."""
    event = types.Event(types.ObjectMeta("e"), reporting_controller="podium", event_time="2026-01-10T09:00:00.000000Z")
    assert json.loads(msgspec.json.encode(event)) == {
        "metadata": {"name": "e"},
        "reportingController": "podium",
        "eventTime": "2026-01-10T09:00:00.000000Z",
    }

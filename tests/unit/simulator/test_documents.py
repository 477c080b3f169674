"""From the bytes of a file to its objects, each with its place."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from scheduler.simulator.documents import Found, read_file, read_objects
from scheduler.simulator.places import InputError

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
OTHER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}
LIST = {"apiVersion": "v1", "kind": "List", "items": [POD, OTHER]}
TYPED = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": each["metadata"]} for each in (POD, OTHER)]}


def objects(data: bytes | str) -> list[tuple[str, Any]]:
    """Place of each object, and its value or what is wrong there."""
    read = read_objects(data.encode() if isinstance(data, str) else data, "f")
    return [(str(each.place), each.value if isinstance(each, Found) else each.message) for each in read]


def dumped(*documents: object) -> str:
    return yaml.safe_dump_all(documents, explicit_start=True)


@pytest.mark.parametrize(
    "data",
    [
        msgspec.json.encode(LIST),
        msgspec.json.encode(LIST["items"]),
        msgspec.json.format(msgspec.json.encode(LIST), indent=4) + b"\n",
        dumped(LIST),
        dumped(LIST).replace("\n", "\r\n"),
        dumped(LIST).encode("utf-16"),
        b"\xef\xbb\xbf" + dumped(LIST).encode(),
        dumped(TYPED),
        msgspec.json.encode(TYPED),
        dumped(LIST).replace("- apiVersion", "- # the first\n  apiVersion"),
    ],
)
def test_lists_are_taken_apart(data: bytes | str) -> None:
    """JSON or YAML, typed or not, with comments, in the encodings of editors: the same items at the same places."""
    assert objects(data) == [("f, document 1, items[0]", POD), ("f, document 1, items[1]", OTHER)]


@pytest.mark.parametrize(
    "data",
    [
        dumped(POD, OTHER),
        f"{yaml.safe_dump(POD)}---\n{yaml.safe_dump(OTHER)}",
        f"%YAML 1.1\n{dumped(POD)}...\n{dumped(OTHER)}",
        msgspec.json.encode(POD) + b"\n" + msgspec.json.encode(OTHER),
        f"--- {{apiVersion: v1, kind: Pod, metadata: {{name: a}}}}\n{dumped(OTHER)}",
    ],
)
def test_documents_are_numbered(data: bytes | str) -> None:
    """Several documents, or several JSON values, one object each."""
    assert objects(data) == [("f, document 1", POD), ("f, document 2", OTHER)]


def test_empty_documents_count_but_hold_nothing() -> None:
    """A separator too many, or a document of comments, gives no object and no fault."""
    assert objects(f"---\n# nothing\n---\n{yaml.safe_dump(POD)}---\n") == [("f, document 2", POD)]
    assert objects('{"kind": "List", "items": null}') == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f: is empty"),
        (b" \n\t\n", "f: is empty"),
        (b"\x7fELF\x02\x00", "f: is no text: character 5 is a null"),
        (b"a: \xff\n", "f: is no text: byte 3 is not UTF-8"),
    ],
)
def test_files_that_hold_no_text_are_refused(data: bytes, message: str) -> None:
    """The file, and what is wrong with it."""
    with pytest.raises(InputError) as caught:
        objects(data)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text", "f, document 1: expected an object with apiVersion, kind and metadata, got text"),
        (b"- 1\n", "f, document 1, items[0]: expected an object with apiVersion, kind and metadata, got a number"),
        (b"kind: List\nitems: {}\n", "f, document 1, items: expected a list, got a mapping"),
        (b"kind: List\nitems: [{kind: List, items: []}]\n", "f, document 1, items[0]: a list within a list"),
        (b"a: 1\n---\nb: [\n", "f, document 2: no valid YAML: line 4, column 1: while parsing a flow node"),
        (b"---\na: 1\n---\nb: 1\nb: 2\n", "f, document 2: line 5: the key b stands twice"),
        (b'{"a": 1,\n"a": 2}', "f, document 1: line 2: the key a stands twice"),
        (b"items:\n- a: 1\n- b: *x\nkind: List\n", "f, document 1: line 3: the alias *x has no anchor before it"),
        (b"{", "f, document 1: no valid YAML: line 2, column 1: while parsing a flow node"),
        (b"[" * 100_000, "f, document 1: no valid YAML: line 1, column 1001"),
        (b'{"a":' * 100_000, "f, document 1: line 1: nested more than 200 levels deep"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, message: str) -> None:
    """File, document, line, and what is wrong there."""
    place, told = objects(data)[-1]
    assert f"{place}: {told}".startswith(message)


def test_documents_behind_a_broken_one_are_read() -> None:
    """So that the faults of all come at once."""
    text = f"a: [\n---\n{yaml.safe_dump(POD)}---\ntext\n---\n{yaml.safe_dump(OTHER)}"
    assert [place for place, _ in objects(text)] == [f"f, document {number}" for number in (1, 2, 3, 4)]
    assert objects(text)[1::2] == [("f, document 2", POD), ("f, document 4", OTHER)]


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    """A directory, a missing file, and a name that can't be one."""
    for name, reason in ((str(tmp_path), "is a directory"), (f"{tmp_path}/no", "No such file"), ("a\0b", "null byte")):
        with pytest.raises(InputError, match=reason):
            read_file(name)
    assert read_file("-", b"piped") == b"piped"

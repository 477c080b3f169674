"""YAML into values: what is refused and where, and that the fast reader never disagrees with the whole one."""

import string
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import given, settings

from scheduler.simulator.yaml_blocks import NOT_PLAIN, UNREAD, read_block, split_list
from scheduler.simulator.yaml_events import YamlError, read_documents
from scheduler.simulator.yaml_scalars import ScalarError, plain_scalar

WORDS = st.sampled_from(
    [
        *("app", "10.0.0.1", "1", "0x1F", "017", "1e3", "yes", "no", "null", "~", "true", ".5", "-1", "a b", "a: b"),
        *("'", '"x"', "", " ", "2026-01-01", "2026-01-01T00:00:00Z", "500m", "1Gi", "-", "- a", "?", "#c", "a #c"),
        *("é", "l1\nl2", "\ttab", "{}", "[]", "{a: 1}", "|", ">", "&a", "*a", "!t", "%", "@", "`", "=", "<<", "a,b"),
        *("x:", "key:v", "a\\b", "it''s", "|-"),
    ]
)
SCALARS = st.one_of(WORDS, st.integers(-(2**40), 2**40), st.booleans(), st.none(), st.floats(-1e9, 1e9))
KEYS = st.one_of(
    st.sampled_from(
        ["name", "labels", "app.kubernetes.io/name", "images", "images", "items", "y", "0", "a-b", "null", "a b", "é"]
    ),
    st.text(string.ascii_letters + "./-_ ", min_size=1, max_size=8),
).filter(lambda key: key not in UNREAD)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)
STYLES = st.fixed_dictionaries(
    {
        "default_style": st.sampled_from([None, None, '"', "'", "|"]),
        "default_flow_style": st.sampled_from([False, False, None]),
        "width": st.sampled_from([20, 10**9]),
        "indent": st.sampled_from([2, 4]),
        "allow_unicode": st.booleans(),
    }
)


def whole(text: str) -> Any:
    """The value of the only document, as the whole reader has it."""
    (value,) = read_documents(text)
    return value


def fails(text: str) -> bool:
    try:
        whole(text)
    except (YamlError, ValueError):
        return True
    return False


@settings(max_examples=80, deadline=None)
@given(OBJECTS, STYLES)
def test_the_fast_reader_agrees_on_what_it_reads(value: dict[str, Any], style: dict[str, Any]) -> None:
    """Whatever it takes, in whatever style it is written, has the value that the whole reader gives it."""
    text = yaml.dump(value, Dumper=yaml.SafeDumper, **style)
    fast = read_block(text)
    assert fast is NOT_PLAIN or fast == whole(text)


@settings(max_examples=80, deadline=None)
@given(OBJECTS, st.data())
def test_the_fast_reader_takes_no_broken_text(value: dict[str, Any], data: st.DataObject) -> None:
    """Text with lines removed, moved or damaged is read as the whole reader reads it, or left to it."""
    lines = yaml.dump(value, Dumper=yaml.SafeDumper).splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "indent", "dedent", "dash", "char", "swap", "blank", "comment"]))
        line = lines[index]
        lines[index : index + 1] = {
            "drop": [],
            "indent": [f" {line}"],
            "dedent": [line[1:]],
            "dash": [f"- {line}"],
            "char": [line + data.draw(st.sampled_from([" ", ":", "'", '"', " #c", "|", "\t", "&a"]))],
            "swap": [line, lines[0]],
            "blank": [line, ""],
            "comment": ["# c", line],
        }[change]
        lines = lines or ["a: 1"]
    text = "\n".join(lines) + "\n"
    fast = read_block(text)
    if fast is not NOT_PLAIN:
        assert not fails(text), "the whole reader refuses it"
        assert fast == whole(text)


@settings(max_examples=40, deadline=None)
@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from([0, 2]), OBJECTS)
def test_a_list_is_cut_into_its_items(items: list[dict[str, Any]], indent: int, around: dict[str, Any]) -> None:
    """Every part that can be read by itself has its value, and the parts are as many as the items."""
    around = {key: value for key, value in around.items() if key != "items"}
    header = yaml.dump(around) if around else ""
    body = yaml.dump(items, Dumper=yaml.SafeDumper, default_flow_style=False)
    text = "items:\n" + "".join(f"{' ' * indent}{line}\n" for line in body.splitlines()) + header
    cut = split_list(text)
    if cut is None:  # the first item is not written as a block
        return
    values = [read_block(item) for item in cut[1]]
    rest = read_block(cut[0]) if cut[0] else {}
    if all(value is not NOT_PLAIN for value in (*values, rest)):
        assert {"items": values, **rest} == whole(text)


def test_what_kubectl_prints_is_read_fast() -> None:
    """Mappings, sequences at the key's indentation, quotes, literal blocks, empty collections, and what is not read."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    note: |\n      {\"a\":1}\n\n      b\n"
        "  labels:\n    app.kubernetes.io/name: web\n    \"quoted\": 'it''s'\n  name: web-1\nspec:\n  containers:\n"
        "  - args:\n    - --x\n    image: web:1\n    name: c\n    resources: {}\n    ports:\n    - containerPort: 80\n"
        "  - name: d\n    env:\n    - name: A\n      value: \"1\"\n  priority: 0\n  volumes: []\nstatus: {}\n"
    )  # fmt: skip
    fast, slow = read_block(text), whole(text)
    assert fast is not NOT_PLAIN
    assert slow["spec"]["containers"][0].pop("args") == ["--x"]
    assert slow["spec"]["containers"][1].pop("env")
    assert fast["spec"]["containers"][0].pop("args") == fast["spec"]["containers"][1].pop("env") == {}
    assert fast == slow


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("yes", True), ("Off", False), ("y", True), ("~", None), ("", None), ("Null", None), ("1", 1)),
        *(("-0x1F", -31), ("017", 15), ("0o17", 15), ("0b11", 3), ("1_000", 1000), ("08", 8.0), ("1e3", 1000.0)),
        *((".5", 0.5), ("+1.", 1.0), ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), ("500m", "500m"), ("-", "-")),
        *(("0x", "0x"), ("1e999", "1e999"), ("yEs", "yEs")),
        *(("18446744073709551615", 2**64 - 1), ("18446744073709551616", 18446744073709551616.0)),
    ],
)
def test_plain_scalars_mean_what_they_mean_to_kubectl(text: str, value: object) -> None:
    """Truth values of YAML 1.1, numbers of Go, everything else is text."""
    assert plain_scalar(text) == value
    assert type(plain_scalar(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN"])
def test_numbers_that_json_lacks_are_refused(text: str) -> None:
    """Nothing in an object can be infinite."""
    with pytest.raises(ScalarError):
        plain_scalar(text)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\n", "no valid YAML: line 2, column 1: while parsing a flow sequence, did not find expected ',' or ']'"),
        ("a: 1\n\tb: 2\n", "no valid YAML: line 2, column 1: while scanning"),
        ("a: 1\nb: 2\na: 3\n", "line 3: the key a stands twice"),
        ("a: *x\n", "line 1: the alias *x has no anchor before it"),
        ("a: &a [*a]\n", "line 1: the alias *a has no anchor before it"),
        ("? [1]\n: 2\n", "line 1: a key that is no text"),
        ("~: 2\n", "line 1: a key that is no text"),
        ("a: !!python/object:os.system x\n", "line 1: the tag tag:yaml.org,2002:python/object:os.system is not known"),
        ("a: .nan\n", "line 1: .nan is no number that an object can hold"),
        ("<<: 3\n", "line 1: << takes mappings only"),
        ("a: [" * 300 + "\n", "line 1: nested more than 200 levels deep"),
        ("[" * 100_000, "no valid YAML: line 1, column 1001: while increasing flow level, exceeded"),
        (BOMB, "line 7: its aliases unfold to more than 10000000 values"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str) -> None:
    """Faults of syntax and of what no object can hold; and nothing takes long."""
    with pytest.raises(YamlError) as caught:
        list(read_documents(text))
    assert str(caught.value).startswith(message)


def test_aliases_and_merge_keys_are_followed() -> None:
    """What is written goes before what is merged in."""
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlist: [*b]\nboth: {<<: [{z: 1}, {z: 2, w: 2}]}\n"
    assert whole(text) == {
        "base": {"x": 1, "y": 2},
        "more": {"x": 1, "y": 3},
        "list": [{"x": 1, "y": 2}],
        "both": {"z": 1, "w": 2},
    }

"""From bytes to plain values: what is taken, and what is refused with a reason."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.config.document import MAXIMUM_BYTES, read_document, read_file
from scheduler.config.faults import ConfigurationError


def test_yaml_and_json_give_the_same() -> None:
    """The same content in YAML, flow style and JSON with tabs reads alike."""
    expected = {"a": 1, "b": [True, "x"], "c": {"d": 1.5}}
    assert read_document(b"a: 1\nb: [true, x]\nc:\n  d: 1.5\n", "f") == expected
    assert read_document(b"{a: 1, b: [yes, x], c: {d: 1.5}}", "f") == expected
    assert read_document(b'{\t"a": 1,\n\t"b": [true, "x"], "c": {"d": 1.5}}', "f") == expected


def test_a_date_stays_text() -> None:
    """YAML's dates are not turned into objects that no field can hold."""
    assert read_document(b"a: 2026-01-01", "f") == {"a": "2026-01-01"}


def test_aliases_and_merge_keys_work() -> None:
    """Anchors, aliases and merge keys are unfolded, also where a merged key is overridden."""
    text = b"base: &base {x: 1, y: 2}\nother: {<<: *base, y: 3}\nsame: *base"
    assert read_document(text, "f") == {"base": {"x": 1, "y": 2}, "other": {"x": 1, "y": 3}, "same": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"# nothing\n", "empty"),
        (b"- a", "expected a mapping of fields, got a list"),
        (b"just text", 'expected a mapping of fields, got "just text"'),
        (b"a: 1\na: 2", 'line 2, column 1: the key "a" stands twice'),
        (b"x: {b: 1, b: 2}", 'the key "b" stands twice'),
        (b'{"a": {"b": 1, "b": 2}}', 'the key "b" stands twice'),
        (b"a: 1\n---\nb: 2", "single document"),
        (b"a: [1", "not valid YAML at line 1"),
        (b'{"a": 1,, "b": 2}', "not valid YAML at line 1"),
        (b"a: \xff", "not valid YAML"),
        (b"a: \x00", "not valid YAML"),
        (b"1: x", "the key 1 is not text; put it in quotes"),
        (b"on: x", "the key true is not text"),
        (b"? [a]\n: x", "not valid YAML"),
        (b"a: *nowhere", "undefined alias"),
        (b"a: !!python/object:os.system x", "not valid YAML"),
        (b"a: !!int x", "does not fit its tag"),
        (b"a: !!timestamp x", "does not fit its tag"),
        (b"a: !!bool x", "does not fit its tag"),
        (b"a: " + b"9" * 5000, "does not fit its tag"),
        (rb'{"a": "\ud800"}', "not Unicode"),
        (b"- " * 2000, "nested too deeply"),
        (b"a: " + b"[" * 70 + b"]" * 70, "64 levels"),
        (b"a: &a [*a]", "levels once its aliases are unfolded"),
        (b"x" * (MAXIMUM_BYTES + 1), "larger than"),
    ],
)
def test_refuses_with_a_reason(text: bytes, reason: str) -> None:
    """Each kind of bad file gives one line that starts with its name and says what is wrong."""
    with pytest.raises(ConfigurationError) as caught:
        read_document(text, "bad.yaml")
    message = str(caught.value)
    assert message.startswith("bad.yaml: ")
    assert reason in message
    assert "\n" not in message


def test_aliases_cannot_unfold_without_end() -> None:
    """A small file whose aliases multiply to billions of values is refused."""
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(ConfigurationError, match="aliases are unfolded"):
        read_document(f"l0: &l0 [x]\n{levels}".encode(), "f")


@given(st.text(alphabet="{}[]&*!|>-:?,#'\"%@`~ \n\tabn01.", max_size=40))
def test_no_text_escapes_the_error(text: str) -> None:
    """Whatever stands in the file, the answer is a mapping or a ConfigurationError."""
    try:
        document = read_document(text.encode(), "f")
    except ConfigurationError:
        return
    assert all(isinstance(key, str) for key in document)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file gives its path, the reason and the way out."""
    missing = tmp_path / "missing.yaml"
    with pytest.raises(ConfigurationError) as caught:
        read_file(missing)
    expected = f"{missing}: cannot be read: No such file or directory (name a file that can be read)"
    assert str(caught.value) == expected


def test_reads_no_more_than_needed_to_know_a_file_is_too_large(tmp_path: Path) -> None:
    """Of a huge file only enough is read to refuse it."""
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (MAXIMUM_BYTES + 100))
    assert len(read_file(huge)) == MAXIMUM_BYTES + 1

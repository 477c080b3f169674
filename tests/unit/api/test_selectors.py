"""Compiled selectors. Not covered: what plugins do with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.api.meta import LabelSelector, LabelSelectorRequirement
from scheduler.api.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.selectors import (
    EVERYTHING,
    NOTHING,
    FieldRequirement,
    SelectorError,
    compile_label_selector,
    compile_labels,
    compile_node_selector,
    compile_node_term,
    parse_int64,
)

KEYS = st.sampled_from(["app", "tier", "example.com/disk"])
VALUES = st.sampled_from(["", "a", "b", "5", "010"])
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.one_of(
    st.builds(
        LabelSelectorRequirement,
        key=KEYS,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(LabelSelectorRequirement, key=KEYS, operator=st.sampled_from(["Exists", "DoesNotExist"])),
)


def holds(requirement: LabelSelectorRequirement, labels: dict[str, str]) -> bool:
    """The API's words for each operator."""
    present = requirement.key in labels
    among = present and labels[requirement.key] in (requirement.values or ())
    return {"In": among, "NotIn": not among, "Exists": present, "DoesNotExist": not present}[requirement.operator]


def expression(operator: str, *values: str, key: str = "gen") -> NodeSelectorTerm:
    return NodeSelectorTerm((NodeSelectorRequirement(key, operator, values or None),))


@given(pairs=LABELS, requirements=st.lists(REQUIREMENTS, max_size=4), labels=LABELS)
def test_all_conditions_must_hold(
    pairs: dict[str, str], requirements: list[LabelSelectorRequirement], labels: dict[str, str]
) -> None:
    """A selector selects what carries all its labels and fulfils all its expressions."""
    selector = compile_label_selector(LabelSelector(pairs, tuple(requirements)))
    assert selector.matches(labels) == (
        pairs.items() <= labels.items() and all(holds(requirement, labels) for requirement in requirements)
    )


@pytest.mark.parametrize(
    ("operator", "values", "absent", "among", "other"),
    [
        ("In", ("a", "b"), False, True, False),
        ("NotIn", ("a", "b"), True, False, True),
        ("Exists", None, False, True, True),
        ("DoesNotExist", None, True, False, False),
    ],
)
def test_operators(operator: str, values: tuple[str, ...] | None, absent: bool, among: bool, other: bool) -> None:
    """What each operator says of an absent label, of one with a listed value and of one with another."""
    selector = compile_label_selector(LabelSelector(None, (LabelSelectorRequirement("app", operator, values),)))
    assert [selector.matches(labels) for labels in ({}, {"app": "b"}, {"app": ""})] == [absent, among, other]


@given(pairs=LABELS, requirements=st.lists(REQUIREMENTS, max_size=4))
def test_the_same_in_another_order_is_equal(
    pairs: dict[str, str], requirements: list[LabelSelectorRequirement]
) -> None:
    """Order and repetition of conditions and values do not matter, nor whether a label is given as an expression."""
    one = compile_label_selector(LabelSelector(pairs, tuple(requirements)))
    rewritten = 2 * [LabelSelectorRequirement(key, "In", (value, value)) for key, value in pairs.items()]
    for requirement in requirements:
        values = requirement.values and requirement.values[::-1] * 2
        rewritten.append(LabelSelectorRequirement(requirement.key, requirement.operator, values))
    other = compile_label_selector(LabelSelector(None, tuple(rewritten[::-1])))
    assert one == other
    assert hash(one) == hash(other)


def test_absent_selects_nothing_and_empty_everything() -> None:
    """No selector is not the same as one without conditions."""
    assert compile_label_selector(None) is NOTHING
    assert not NOTHING.matches({})
    for empty in (LabelSelector(), LabelSelector({}, ())):
        assert compile_label_selector(empty) is EVERYTHING
    assert EVERYTHING.matches({"any": "thing"})
    assert compile_labels(None) is EVERYTHING


@pytest.mark.parametrize(
    ("key", "operator", "values", "message"),
    [
        ("app", "Gt", ("1",), r"matchExpressions\[0\]\.operator: 'Gt' is none of In, NotIn, Exists, DoesNotExist"),
        ("app", "in", ("1",), r"operator: 'in' is none of"),
        ("app", "In", (), r"values: In needs at least one value"),
        ("app", "NotIn", (), r"values: NotIn needs at least one value"),
        ("app", "Exists", ("a",), r"values: Exists takes no value"),
        ("app", "In", ("a", "not this"), r"values\[1\]: 'not this' cannot be a label's value"),
        ("app", "In", ("x" * 64,), r"cannot be a label's value"),
        ("a/b/c", "Exists", (), r"key: 'a/b/c' cannot be a label"),
        ("/a", "Exists", (), r"cannot be a label"),
        ("Upper.com/a", "Exists", (), r"cannot be a label"),
        ("", "Exists", (), r"cannot be a label"),
        ("x" * 64, "Exists", (), r"cannot be a label"),
    ],
)
def test_a_wrong_label_selector_is_refused(key: str, operator: str, values: tuple[str, ...], message: str) -> None:
    """The error names the place and the fault."""
    with pytest.raises(SelectorError, match=message):
        compile_label_selector(LabelSelector(None, (LabelSelectorRequirement(key, operator, values),)))


def test_a_wrong_label_is_refused() -> None:
    """A label that cannot exist is a fault in a selector, but not in a pod's nodeSelector, as in kube-scheduler."""
    with pytest.raises(SelectorError, match=r"matchLabels\[app\]\.values\[0\]: '\+5' cannot be"):
        compile_label_selector(LabelSelector({"app": "+5"}))
    assert compile_labels({"app": "+5"}).matches({"app": "+5"})


@pytest.mark.parametrize(
    ("text", "number"),
    [("10", 10), ("010", 10), ("+5", 5), ("-5", -5), ("9223372036854775807", 2**63 - 1)]
    + [
        (text, None) for text in ("", "4.5", " 5", "5 ", "1_0", "0x5", "5a", "+", "٣", "9223372036854775808", "1" * 200)
    ],
)
def test_integers_are_read_as_go_reads_them(text: str, number: int | None) -> None:
    """A sign and decimal digits within 64 bits, nothing else."""
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("operator", "limit", "label", "expected"),
    [
        *[
            ("Gt", "3", label, expected)
            for label, expected in [("4", True), ("3", False), ("04", True), ("4.5", False)]
        ],
        *[
            ("Lt", "010", label, expected)
            for label, expected in [("9", True), ("10", False), ("", False), ("x", False)]
        ],
    ],
)
def test_greater_and_less_compare_integers(operator: str, limit: str, label: str, expected: bool) -> None:
    """A label that is no integer, or absent, is neither greater nor less."""
    term = compile_node_term(expression(operator, limit))
    assert term.matches({"gen": label}, "n1") == expected
    assert not term.matches({}, "n1")


def test_an_empty_term_matches_no_node() -> None:
    """A term without conditions, and a selector without terms, select nothing."""
    assert not compile_node_term(NodeSelectorTerm()).matches({"a": "b"}, "n1")
    assert not compile_node_selector(NodeSelector()).matches({"a": "b"}, "n1")


def test_one_term_is_enough() -> None:
    """Terms are alternatives, conditions within a term are not."""
    both = NodeSelectorTerm(
        (NodeSelectorRequirement("disk", "In", ("ssd",)),), (NodeSelectorRequirement("metadata.name", "In", ("n1",)),)
    )
    selector = compile_node_selector(NodeSelector((both, expression("Exists", key="gpu"))))
    assert selector.matches({"disk": "ssd"}, "n1")
    assert not selector.matches({"disk": "ssd"}, "n2")
    assert selector.matches({"gpu": ""}, "n2")


def test_fields_are_the_node_name() -> None:
    """In and NotIn look at the name; a field that no node has is empty."""
    term = NodeSelectorTerm(
        None,
        (
            NodeSelectorRequirement("metadata.name", "NotIn", ("n1",)),
            NodeSelectorRequirement("spec.providerID", "NotIn", ("x",)),
        ),
    )
    compiled = compile_node_term(term)
    assert compiled.matches({}, "n2")
    assert not compiled.matches({}, "n1")
    assert FieldRequirement("metadata.name", "n1", negated=True) in compiled.fields
    assert not FieldRequirement("spec.providerID", "x").matches("x")


@pytest.mark.parametrize(
    ("term", "fault"),
    [
        (expression("Gt", "x"), r"matchExpressions\[0\]\.values: Gt needs exactly one value, an integer"),
        (expression("Lt", "1", "2"), r"values: Lt needs exactly one value"),
        (expression("Gt", "-5"), r"values\[0\]: '-5' cannot be a label's value"),
        (expression("Near"), r"operator: 'Near' is none of In, NotIn, Exists, DoesNotExist, Gt, Lt"),
        (
            NodeSelectorTerm(None, (NodeSelectorRequirement("metadata.name", "Exists"),)),
            r"matchFields\[0\]\.operator: 'Exists' is none of In, NotIn",
        ),
        (
            NodeSelectorTerm(None, (NodeSelectorRequirement("metadata.name", "In", ("a", "b")),)),
            r"matchFields\[0\]\.values: In on a field needs exactly one value",
        ),
    ],
)
def test_a_wrong_term_is_left_out_and_reported(term: NodeSelectorTerm, fault: str) -> None:
    """By itself it is refused; in a selector the other terms still count."""
    with pytest.raises(SelectorError, match=fault):
        compile_node_term(term)
    selector = compile_node_selector(NodeSelector((term, expression("Exists"))))
    assert selector.matches({"gen": "5"}, "n1")
    assert len(selector.terms) == 1
    assert selector.faults[0].startswith("nodeSelectorTerms[0].match")

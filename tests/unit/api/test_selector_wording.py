"""What is said of a wrong selector is what kube-scheduler says; the texts are its own, as the oracle gave them."""

import pytest

from scheduler.api.selector_wording import aggregated, kubernetes_wording
from scheduler.api.types import LabelSelector, LabelSelectorRequirement

_NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_DOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_OF_KEY = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_LONG = "a" * 64
_LONG_DOMAIN = "a." * 130 + "com/x"


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


@pytest.mark.parametrize(
    ("selector", "wording"),
    [
        (None, ""),
        (LabelSelector(), ""),
        (LabelSelector({"app": "web", "example.com/tier": ""}), ""),
        (expression("app", "Exists"), ""),
        (expression("app", "Foo", "x"), '"Foo" is not a valid label selector operator'),
        (expression("app", "Gt", "1"), '"Gt" is not a valid label selector operator'),
        (
            expression("app", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("app", "DoesNotExist", "x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
        ),
        (expression("bad key!", "Exists"), f'key: Invalid value: "bad key!": name part {_NAME}'),
        (expression("x/", "Exists"), f'key: Invalid value: "x/": name part must be non-empty; name part {_NAME}'),
        (expression("/x", "Exists"), 'key: Invalid value: "/x": prefix part must be non-empty'),
        (expression(_LONG, "Exists"), f'key: Invalid value: "{_LONG}": name part must be no more than 63 bytes'),
        (
            expression(_LONG_DOMAIN, "Exists"),
            f'key: Invalid value: "{_LONG_DOMAIN}": prefix part must be no more than 253 bytes',
        ),
        (expression("Bad_Domain/x", "Exists"), f'key: Invalid value: "Bad_Domain/x": prefix part {_DOMAIN}'),
        (expression("a/b/c", "Exists"), f'key: Invalid value: "a/b/c": a valid label key {_NAME}{_OF_KEY}'),
        (expression("app", "In", "ok", "no no"), f'values[1][app]: Invalid value: "no no": {_VALUE}'),
        (expression("app", "In", _LONG), f'values[0][app]: Invalid value: "{_LONG}": must be no more than 63 bytes'),
        (
            LabelSelector({"no key!": "no no"}),
            f'[key: Invalid value: "no key!": name part {_NAME}, values[0][no key!]: Invalid value: "no no": {_VALUE}]',
        ),
    ],
)
def test_the_words_are_kube_schedulers(selector: LabelSelector | None, wording: str) -> None:
    """Of the first requirement that is wrong all that is wrong with it."""
    assert kubernetes_wording(selector) == wording


def test_several_faults_are_listed() -> None:
    """One stands by itself, several in brackets."""
    assert aggregated(["a"]) == "a"
    assert aggregated(["a", "b"]) == "[a, b]"

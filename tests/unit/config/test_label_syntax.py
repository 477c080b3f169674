"""Label keys, label values and resource names."""

import pytest

from scheduler.config.label_syntax import is_extended_resource, label_value_problem, qualified_name_problem


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "example.com/a", "a.b-c/D", "a" * 63, f"{'a.' * 126}b/c"])
def test_good_keys(name: str) -> None:
    """Names with and without a domain, up to the longest."""
    assert qualified_name_problem(name) == ""


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "a b", "/a", "a/", "A/b", "a..b/c", "a/b/c", "a" * 64, f"{'a' * 254}/b", "ä"]
)
def test_bad_keys(name: str) -> None:
    """Whatever Kubernetes refuses gives a reason."""
    assert qualified_name_problem(name)


def test_values_may_be_empty_but_not_long_or_odd() -> None:
    """A value is like a name without a domain, or empty."""
    assert not label_value_problem("")
    assert not label_value_problem("a" * 63)
    assert label_value_problem("a" * 64)
    assert label_value_problem("a/b")


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("cpu", False),
        ("example.com/gpu", True),
        ("kubernetes.io/batch", False),
        ("requests.example.com/gpu", False),
        (f"{'a' * 250}/gpu", False),
    ],
)
def test_extended_resources(name: str, extended: bool) -> None:
    """Extended resources have a domain that is not Kubernetes' own and leave room for the quota prefix."""
    assert is_extended_resource(name) is extended

"""What the story prints, and what it takes for it to be true."""

import io

import pytest
from rich.console import Console

from tests.demo.story import Story


@pytest.fixture
def told() -> io.StringIO:
    """Where the story is written; no terminal."""
    return io.StringIO()


@pytest.fixture
def story(told: io.StringIO) -> Story:
    """A story of which nothing was told yet."""
    return Story(Console(file=told))


def test_true_when_all_facts_hold(story: Story, told: io.StringIO) -> None:
    """Each fact is listed with its mark, and the number of those that hold is told."""
    story.check("pods are bound", seen=2, expected=2)
    story.check("nobody is lost", seen=True)
    assert story.conclude()
    assert "   ✓ pods are bound\n   ✓ nobody is lost\n\n2 of 2 facts hold.\n" in told.getvalue()


def test_one_fact_that_does_not_hold_makes_it_false(story: Story, told: io.StringIO) -> None:
    """What was seen and what should have been stand below it; the facts after it are told all the same."""
    story.check("pods are bound", seen=["web"], expected=["web", "db"])
    story.check("nobody is lost", seen=True)
    assert not story.conclude()
    failure = "   ✗ pods are bound\n       seen: ['web']\n       expected: ['web', 'db']\n   ✓ nobody is lost\n"
    assert failure in told.getvalue()
    assert told.getvalue().endswith("1 of 2 facts hold.\n")


def test_without_facts_it_is_not_true(story: Story) -> None:
    """A story that checked nothing proves nothing."""
    assert not story.conclude()


def test_marks_can_be_told_apart_without_unicode() -> None:
    """An ASCII terminal gets words."""
    raw = io.BytesIO()
    story = Story(Console(file=io.TextIOWrapper(raw, encoding="ascii")))
    story.check("good", seen=1, expected=1)
    story.check("bad", seen=1, expected=2)
    assert not story.conclude()
    assert b"   ok good\n   NOT SO bad\n" in raw.getvalue()


def test_columns_are_as_wide_as_needed(story: Story, told: io.StringIO) -> None:
    """Text stands to the left, numbers to the right, and nothing follows the last cell."""
    story.table(("node", "pods", "taints"), [("a", 2, ""), ("node-b", 10, "dedicated=gpu:NoSchedule")])
    assert told.getvalue() == ("   node    pods  taints\n   a          2\n   node-b    10  dedicated=gpu:NoSchedule\n")


def test_words_of_the_api_server_are_not_changed(story: Story, told: io.StringIO) -> None:
    """Neither brackets nor length make a difference: no markup, no wrapping."""
    words = "0/5000 nodes are available: " + ", ".join(f"1 node(s) had [bold]taint {i}" for i in range(50))
    story.quote("condition", words)
    assert told.getvalue() == f"   condition: {words}\n"

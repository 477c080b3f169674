"""What README and docs/ name exists: tests, files, make targets."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.configuration import CONFIGURATION, configuration_reference

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = (CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *sorted((CHECKOUT / "docs").glob("*.md")))

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)


def found(pattern: str, document: Path) -> Iterator[re.Match[str]]:
    return re.finditer(pattern, document.read_text(encoding="utf-8"))


@documents
def test_every_named_test_exists(document: Path) -> None:
    """A test is named by its file and, after two colons, its function."""
    for match in found(r"`(tests/[\w/]+\.py)::(\w+)`", document):
        assert f"def {match[2]}(" in (CHECKOUT / match[1]).read_text(encoding="utf-8"), match[0]


@documents
def test_every_named_file_exists(document: Path) -> None:
    """In code font with its path from the checkout, or as the target of a link."""
    for match in found(r"`((?:scheduler|tests|docs|charts|deploy)/[\w./]*)`", document):
        assert (CHECKOUT / match[1]).exists(), match[0]
    for match in found(r"\]\(([^):#]+)\)", document):
        assert (document.parent / match[1]).exists(), match[0]
    headings = {match[1].lower().replace(" ", "-") for match in found(r"(?m)^#+ (.+)$", document)}
    for match in found(r"\]\(#([^):]+)\)", document):
        assert match[1] in headings, match[0]


@documents
def test_every_named_make_target_exists(document: Path) -> None:
    """Whoever types what stands in the text gets what it promises."""
    targets = re.findall(r"^\.PHONY: (\S+)$", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for match in found(r"`make ([a-z-]+)[^`]*`", document):
        assert match[1] in targets, match[0]


def test_the_reference_of_the_configuration_is_up_to_date() -> None:
    """It says what the types, their descriptions and the table of plugins say."""
    assert CONFIGURATION.read_text(encoding="utf-8") == configuration_reference(), "stale: python -m tests.documents"

"""The table of shared parts."""

import weakref

import pytest

from scheduler.api.sharing import SharingTable


class Part:
    """Something that can be seen to go."""


def test_equal_keys_give_the_same_object() -> None:
    """What was built for a key is given again."""
    table: SharingTable[str, list[str]] = SharingTable(lambda key: [key])
    assert table["a"] is table["a"]
    assert table["a"] == ["a"]


def test_the_table_holds_two_generations_at_most() -> None:
    """However many keys come, no more than twice the limit is held."""
    table: SharingTable[int, Part] = SharingTable(lambda _: Part(), limit=10)
    parts = [weakref.ref(table[key]) for key in range(1000)]
    assert sum(part() is not None for part in parts) <= 20


def test_a_key_in_use_outlives_those_that_are_not() -> None:
    """A key that is asked for in each generation is never built again."""
    built: list[str] = []

    def build(key: str) -> object:
        built.append(key)
        return object()

    table: SharingTable[str, object] = SharingTable(build, limit=4)
    first = table["kept"]
    for number in range(100):
        _ = table[str(number)]
        assert table["kept"] is first
    assert built.count("kept") == 1


def test_a_key_that_nobody_asks_for_is_forgotten() -> None:
    """After two generations the object of an unused key is built anew."""
    table: SharingTable[str, object] = SharingTable(lambda _: object(), limit=4)
    first = table["once"]
    for number in range(12):
        _ = table[str(number)]
    assert table["once"] is not first


def test_what_cannot_be_built_is_not_kept() -> None:
    """A key whose building fails fails again, and leaves no trace."""
    table: SharingTable[str, int] = SharingTable(int)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            _ = table["x"]
    assert len(table) == 0

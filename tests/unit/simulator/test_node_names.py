"""Many nodes in few words."""

import pytest

from scheduler.simulator.node_names import compact


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["b", "a"], "a, b"),
        (["n3", "n1", "n2", "n7"], "n[1-3,7]"),
        (["n-008", "n-009", "n-010"], "n-[008-010]"),
        (["ip-10-0-0-1.eu.internal", "ip-10-0-0-2.eu.internal"], "ip-10-0-0-[1-2].eu.internal"),
        (["n9", "n10"], "n[9-10]"),
        (["n5"], "n5"),
        (["n007"], "n007"),
        (["7"], "7"),
        (
            [f"a{chr(97 + number)}" for number in range(20)],
            ", ".join(f"a{chr(97 + n)}" for n in range(12)) + ", 8 more",
        ),
        ([f"n{number}" for number in range(0, 60, 2)], "n[" + ",".join(str(n) for n in range(0, 24, 2)) + ",…]"),
        (["n" + "1" * 30], "n" + "1" * 30),
    ],
)
def test_names_that_differ_by_a_number_stand_together(names: list[str], text: str) -> None:
    """Runs of numbers become ranges, leading zeros stay, and a line's worth is shown."""
    assert compact(names) == text

"""Reading amounts, against fractions and against what the API server's own code gives."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scheduler.api.quantity import INT64_MAX, INT64_MIN, QuantityError, milli_value, nano_value, value

FACTORS = {
    **{suffix: Fraction(10) ** power for suffix, power in {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6}.items()},
    **{suffix: Fraction(10) ** power for suffix, power in {"G": 9, "T": 12, "P": 15, "E": 18}.items()},
    **{f"{letter}i": Fraction(1024) ** (index + 1) for index, letter in enumerate("KMGTPE")},
    **{f"{letter}{power}": Fraction(10) ** power for letter in "eE" for power in range(-12, 19)},
    "e+3": Fraction(1000),
}


def away_from_zero(amount: Fraction) -> int:
    rounded = math.ceil(amount) if amount >= 0 else math.floor(amount)
    return max(INT64_MIN, min(rounded, INT64_MAX))


DIGITS = st.text("0123456789", max_size=12)


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=DIGITS,
    fraction=st.none() | DIGITS,
    suffix=st.sampled_from(sorted(FACTORS)),
)
def test_amounts_are_exact(sign: str, whole: str, fraction: str | None, suffix: str) -> None:
    """Every spelling gives the exact amount, rounded away from zero once, and limited to 64 bits."""
    magnitude = Fraction(int(whole + (fraction or "") or "0"), 10 ** len(fraction or "")) * FACTORS[suffix]
    amount = -magnitude if sign == "-" else magnitude
    text = sign + whole + ("" if fraction is None else f".{fraction}") + suffix
    assume(text)
    assert milli_value(text) == away_from_zero(amount * 1000)
    assert value(text) == away_from_zero(amount)


@pytest.mark.parametrize("suffix", sorted(FACTORS))
def test_each_suffix_has_its_factor(suffix: str) -> None:
    """Decimal, binary and exponent suffixes alike."""
    assert Fraction(nano_value(f"3{suffix}"), 10**9) == max(FACTORS[suffix] * 3, Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("quantity", "milli", "whole"),
    [
        ("0", 0, 0),
        ("0.1", 100, 1),
        ("100m", 100, 1),
        ("1e3", 1_000_000, 1000),
        ("1E3", 1_000_000, 1000),
        ("0.5Gi", 536_870_912_000, 536_870_912),
        ("1Pi", 1_125_899_906_842_624_000, 1_125_899_906_842_624),
        ("128974848", 128_974_848_000, 128_974_848),
        ("1n", 1, 1),
        ("1u", 1, 1),
        ("+1", 1000, 1),
        (".5", 500, 1),
        ("5.", 5000, 5),
        ("-1", -1000, -1),
        ("-1500m", -1500, -2),
        ("12e-3", 12, 1),
        ("1e-30", 1, 1),
        ("1.0001", 1001, 2),
        ("0.1Ki", 102_400, 103),
        (" 1Ki\n", 1_024_000, 1024),
        ("m", 0, 0),
        ("-", 0, 0),
        ("8Ei", INT64_MAX, INT64_MAX),
        ("1e30", INT64_MAX, INT64_MAX),
        ("-1e30", INT64_MIN, INT64_MIN),
        ("1e999999999", INT64_MAX, INT64_MAX),
        (2, 2000, 2),
        (0.1, 100, 1),
        (1.5e9, 1_500_000_000_000, 1_500_000_000),
        (1e22, INT64_MAX, INT64_MAX),
    ],
)
def test_spellings(quantity: str | float, milli: int, whole: int) -> None:
    """What the API server reads is read alike; beyond 64 bits the limit stands."""
    assert (milli_value(quantity), value(quantity)) == (milli, whole)


@pytest.mark.parametrize(
    "text",
    [
        *["", " ", "abc", "1 Gi", "1gi", "1KI", "1K", "1i", "1e", "1.2.3", "--1", "+-1", "0x10", "1_000", "\uff11"],
        *["1e3m", "1,5", "nan", "inf", "1" * 300],
    ],
)
def test_what_is_no_amount_is_refused_by_name(text: str) -> None:
    """The error shows the text and how an amount is written."""
    with pytest.raises(QuantityError, match="is not a quantity; write a number and a suffix") as raised:
        value(text)
    assert repr(text[:40])[:-1] in str(raised.value)


@given(amounts=st.lists(st.integers(0, 10**12), max_size=5))
def test_sums_of_billionths_are_exact(amounts: list[int]) -> None:
    """Amounts may be added before they are rounded."""
    assert sum(nano_value(f"{amount}n") for amount in amounts) == sum(amounts)

"""What a plain scalar of YAML means, as Kubernetes reads it: text, number, truth value or null, whatever JSON can say.

The rules are those of the library that kubectl uses (YAML 1.1 with the numbers of Go): `yes`, `on` and `y` are true,
`0x1F`, `0o17` and `017` are numbers, `1_000` too; dates and base-60 numbers are text.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

Scalar = str | int | float | bool | None


class ScalarError(ValueError):
    """JSON has no word for the value."""


def _spellings(words: str) -> list[str]:
    return [spelled for word in words.split() for spelled in (word, word.capitalize(), word.upper())]


_WORDS: Final[Mapping[str, Scalar]] = {
    **dict.fromkeys(_spellings("y yes true on"), True),
    **dict.fromkeys(_spellings("n no false off"), False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
}
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER: Final = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAYBE_NUMBER: Final = frozenset("0123456789.+-")
_BASES: Final = {"x": 16, "b": 2, "o": 8}
_MINIMUM: Final = -(2**63)
_MAXIMUM: Final = 2**64 - 1


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar.

    Raises:
        ScalarError: it is infinite or not a number.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAYBE_NUMBER:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is no number that an object can hold")
    digits = text.replace("_", "") if text[0] != "." else text
    integer = _INTEGER.fullmatch(digits)
    if integer is not None:
        number = _integer(*integer.groups())
        if _MINIMUM <= number <= _MAXIMUM:
            return number
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        if not math.isfinite(value):
            return text
        return value
    return text


def _integer(sign: str, digits: str) -> int:
    base = 10
    if len(digits) > 1 and digits[0] == "0":
        base = _BASES.get(digits[1].lower(), 8)
        digits = digits.lstrip("0").lstrip("xXbBoO") or "0"
    if len(digits) > 80:
        return _MAXIMUM + 1
    number = int(digits, base)
    return -number if sign == "-" else number

"""Amounts as Kubernetes writes them, read exactly.

A quantity is a decimal number and a suffix: decimal (`n u m k M G T P E`), binary (`Ki Mi Gi Ti Pi Ei`) or an exponent
(`e3`, `E-2`). A sign may stand before it, digits may be missing on either side of the point, and even on both: `m` is
no amount of thousandths, 0. YAML written by hand has bare numbers.

Amounts are kept in billionths, the finest the API knows: what is finer is rounded away from zero. So are the results
here when their unit is coarser than the amount. They lie in 64 bits; a greater amount is as good as the greatest,
where kube-scheduler's arithmetic would wrap around or give 0.
"""

import re
from functools import lru_cache
from typing import Final

from scheduler.api.meta import Quantity

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

NANO_PER_MILLI: Final = 10**6
NANO_PER_UNIT: Final = 10**9

_FORM: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([A-Za-z]*))", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO_PER_SUFFIX: Final = {suffix: 10 ** (9 + power) for suffix, power in _DECIMAL.items()} | {
    suffix: NANO_PER_UNIT << power for suffix, power in _BINARY.items()
}
_LONGEST: Final = 200
_LARGEST_EXPONENT: Final = 400
"""Numbers beyond both are outside 64 bits or below a billionth in any case."""


class QuantityError(ValueError):
    """The text is no quantity."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= 40 else text[:40] + "…"
        super().__init__(f"{shown!r} is not a quantity; write a number and a suffix, such as 500m, 2, 1.5Gi or 1e3")


@lru_cache(maxsize=16_384)
def nano_value(quantity: Quantity) -> int:
    """The amount in billionths, not limited to 64 bits, so that sums of amounts are rounded once.

    Raises:
        QuantityError: when the text is no quantity.
    """
    text = str(quantity).strip()
    form = _FORM.fullmatch(text)
    if form is None or not text or len(text) > _LONGEST:
        raise QuantityError(text)
    sign, whole, fraction, exponent, suffix = form.groups()
    multiplier = _NANO_PER_SUFFIX.get(suffix or "")
    if multiplier is None:
        raise QuantityError(text)
    digits = int(whole + (fraction or "") or "0")
    power = max(-_LARGEST_EXPONENT, min(int(exponent or "0"), _LARGEST_EXPONENT)) - len(fraction or "")
    nano = digits * multiplier * 10**power if power >= 0 else divide_rounding_up(digits * multiplier, 10**-power)
    return -nano if sign == "-" else nano


@lru_cache(maxsize=16_384)
def milli_value(quantity: Quantity) -> int:
    """The amount in thousandths, as cpu is counted; rounded away from zero, limited to 64 bits.

    Raises:
        QuantityError: when the text is no quantity.
    """
    return in_units(nano_value(quantity), NANO_PER_MILLI)


@lru_cache(maxsize=16_384)
def value(quantity: Quantity) -> int:
    """The amount in whole units (bytes, pods, devices); rounded away from zero, limited to 64 bits.

    Raises:
        QuantityError: when the text is no quantity.
    """
    return in_units(nano_value(quantity), NANO_PER_UNIT)


def in_units(nano: int, nano_per_unit: int) -> int:
    """An amount of billionths in a coarser unit, rounded away from zero, limited to 64 bits."""
    return max(INT64_MIN, min(divide_rounding_up(nano, nano_per_unit), INT64_MAX))


def divide_rounding_up(amount: int, divisor: int) -> int:
    """`amount / divisor` rounded away from zero; the divisor is above 0."""
    return -(-amount // divisor) if amount >= 0 else amount // divisor

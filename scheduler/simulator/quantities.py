"""Amounts as the API server stores them: rounded up to thousandths, and added up for a pod as a whole."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from scheduler.api.meta import Quantity
from scheduler.api.quantity import NANO_PER_MILLI, divide_rounding_up, nano_value

Resources = Mapping[str, Quantity]
"""Resource name to amount, as written."""

_SHARED_AMOUNTS: Final = 16_384


@lru_cache(_SHARED_AMOUNTS)
def rounded(quantity: Quantity) -> Quantity:
    """The amount, in whole thousandths: what is finer is rounded away from zero.

    Raises:
        QuantityError: when the text is no quantity.
    """
    nano = nano_value(quantity)
    return quantity if nano % NANO_PER_MILLI == 0 else f"{divide_rounding_up(nano, NANO_PER_MILLI)}m"


def rounded_resources(resources: Resources) -> Resources:
    """The same of a whole list; the list itself where nothing is to be rounded."""
    if all(rounded(amount) is amount for amount in resources.values()):
        return resources
    return {name: rounded(amount) for name, amount in resources.items()}


def as_quantity(nano: int) -> Quantity:
    """An amount of billionths, written as a quantity."""
    milli, rest = divmod(nano, NANO_PER_MILLI)
    if rest:
        return f"{nano}n"
    return f"{milli}m" if milli % 1000 else str(milli // 1000)

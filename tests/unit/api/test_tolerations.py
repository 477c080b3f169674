"""Which toleration bears which taint."""

import pytest

from scheduler.api.node import Taint
from scheduler.api.pod import Toleration
from scheduler.api.tolerations import tolerates

GPU = Taint("gpu", "a100", "NoSchedule")


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration("gpu", "Equal", "a100", "NoSchedule"),
        Toleration("gpu", None, "a100", "NoSchedule"),
        Toleration("gpu", "", "a100"),
        Toleration("gpu", "Exists"),
        Toleration("gpu", "Exists", "ignored", "NoSchedule"),
        Toleration(None, "Exists"),
        Toleration("", "Exists", None, ""),
        Toleration(None, None, "a100"),
    ],
)
def test_borne(toleration: Toleration) -> None:
    """Absent key, operator and effect stand for every key, Equal and every effect."""
    assert tolerates(toleration, GPU)


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration("gpu", "Equal", "h100"),
        Toleration("gpu", "Equal"),
        Toleration("tpu", "Exists"),
        Toleration("gpu", "Exists", None, "NoExecute"),
        Toleration("gpu", "exists"),
        Toleration("gpu", "Gt", "1"),
        Toleration("gpu", "Lt", "9"),
        Toleration(),
    ],
)
def test_not_borne(toleration: Toleration) -> None:
    """Another key, value or effect, an unknown operator, and those that are still off bear nothing."""
    assert not tolerates(toleration, GPU)


def test_no_value_is_the_empty_value() -> None:
    """A taint without a value is borne by Equal without a value."""
    assert tolerates(Toleration("gpu", "Equal", ""), Taint("gpu", None, "NoExecute"))
    assert tolerates(Toleration("gpu"), Taint("gpu", "", "NoExecute"))

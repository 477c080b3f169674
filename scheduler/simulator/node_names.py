"""Many nodes in few words: `node-[1-3,7], gpu-1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_LAST_NUMBER: Final = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_LONGEST_NUMBER: Final = 18
_SHOWN_PARTS: Final = 12


def compact(names: Iterable[str]) -> str:
    """The names, sorted, those that differ by their last number only together; at most a line's worth of them."""
    alone: list[str] = []
    numbered: dict[tuple[str, str, int], list[int]] = {}
    for name in names:
        match = _LAST_NUMBER.fullmatch(name)
        if match is None or len(match[2]) > _LONGEST_NUMBER:
            alone.append(name)
            continue
        digits = match[2]
        width = len(digits) if digits[0] == "0" and len(digits) > 1 else 0
        numbered.setdefault((match[1], match[3], width), []).append(int(digits))
    parts = [
        (prefix, _group(prefix, suffix, width, sorted(numbers)), len(numbers))
        for (prefix, suffix, width), numbers in numbered.items()
    ]
    parts += [(name, name, 1) for name in alone]
    parts.sort()
    shown = [text for _, text, _ in parts[:_SHOWN_PARTS]]
    left_out = sum(count for _, _, count in parts[_SHOWN_PARTS:])
    return ", ".join([*shown, f"{left_out} more"] if left_out else shown)


def _group(prefix: str, suffix: str, width: int, numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]:0{width}d}{suffix}"
    texts = [f"{first:0{width}d}" + (f"-{last:0{width}d}" if last > first else "") for first, last in runs]
    if len(texts) > _SHOWN_PARTS:
        texts = [*texts[:_SHOWN_PARTS], "…"]
    return f"{prefix}[{','.join(texts)}]{suffix}"

"""Lines out of a byte stream."""

from __future__ import annotations


class LineSplitter:
    """Cuts a stream that arrives in chunks of any shape into lines of any length.

    Empty lines are left out. A long line is kept as the pieces it came in and joined once, so its cost stays linear.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""The lines that `chunk` completed, without their `\n`; what follows the last one waits for the next chunk."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces = []
        if rest:
            self._pieces.append(rest)
        return [line for line in lines if line]

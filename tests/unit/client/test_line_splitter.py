"""Lines out of chunks."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler.client.line_splitter import LineSplitter
from tests.unit.client.chunking import cut


def _lines(chunks: list[bytes]) -> list[bytes]:
    splitter = LineSplitter()
    return [line for chunk in chunks for line in splitter.feed(chunk)]


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_any_chunking_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    """However the stream is cut, the lines are those that were written, without the empty ones."""
    stream = b"".join(line + b"\n" for line in lines)
    assert _lines(cut(stream, data)) == [line for line in lines if line]


def test_a_line_that_never_ends_is_not_handed_out() -> None:
    """What has no line end yet is no line."""
    assert _lines([b"whole\nhal", b"f"]) == [b"whole"]


def test_a_long_line_is_put_together() -> None:
    """A line may be longer than any chunk."""
    piece = b"x" * 65_536
    assert _lines([piece] * 64 + [b"\nnext\n"]) == [piece * 64, b"next"]

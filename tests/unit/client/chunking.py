"""Cuts byte strings as a network does."""

from hypothesis import strategies as st


def cut(stream: bytes, data: st.DataObject) -> list[bytes]:
    """The stream in pieces, cut at places that hypothesis chooses."""
    places = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    return [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]

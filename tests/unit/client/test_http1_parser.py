"""HTTP/1.1 responses out of chunks. Connections are tested in tests/integration/test_round_trippers.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.client.http1_parser import ProtocolError, ResponseParser
from tests.unit.client.chunking import cut


def _feed(parser: ResponseParser, *pieces: bytes) -> bytes:
    return b"".join(parser.feed(piece) for piece in pieces)


def _chunked(pieces: list[bytes]) -> bytes:
    return b"".join(b"%x;note=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: t\r\n\r\n"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.data())
def test_chunked_body_survives_any_cutting(pieces: list[bytes], data: st.DataObject) -> None:
    """A chunked body is the same however the connection cuts it."""
    stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _chunked(pieces)
    parser = ResponseParser()
    assert _feed(parser, *cut(stream, data)) == b"".join(pieces)
    assert (parser.status, parser.done, parser.keep_alive) == (200, True, True)


@given(st.binary(max_size=200), st.data())
def test_sized_body_survives_any_cutting(body: bytes, data: st.DataObject) -> None:
    """A body with a length is the same however the connection cuts it, after an interim answer too."""
    stream = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    parser = ResponseParser()
    assert _feed(parser, *cut(stream, data)) == body
    assert (parser.status, parser.done, parser.keep_alive) == (201, True, True)


def test_is_not_done_before_the_last_byte() -> None:
    """Each answer is done with its last byte and not before."""
    for stream in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ):
        parser = ResponseParser()
        done = []
        for piece in (stream[:-1], stream[-1:]):
            parser.feed(piece)
            done.append(parser.done)
        assert done == [False, True]


def test_body_without_length_ends_with_the_connection() -> None:
    """An answer with neither length nor chunks is whole only when the peer closes."""
    parser = ResponseParser()
    assert _feed(parser, b"HTTP/1.1 502 Bad Gateway\r\n\r\nsorry, ", b"no") == b"sorry, no"
    done = parser.done
    parser.end_of_stream()
    assert (done, parser.done, parser.keep_alive) == (False, True, False)


def test_end_of_stream_does_not_finish_a_sized_body() -> None:
    """A body shorter than announced is no whole answer."""
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
    parser.end_of_stream()
    assert not parser.done


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 never asked for",
    ],
)
def test_connection_is_not_reused(head: bytes) -> None:
    """A connection ends with its answer when the peer says so, is of HTTP/1.0, or sends more than was asked for."""
    parser = ResponseParser()
    parser.feed(head)
    assert parser.done
    assert not parser.keep_alive


def test_reads_retry_after() -> None:
    """The header's value is kept, whatever the case of its name."""
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 429 Too Many Requests\r\nRETRY-AFTER:  7 \r\nContent-Length: 0\r\n\r\n")
    assert parser.retry_after == "7"


@pytest.mark.parametrize(
    "stream",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"x" * 70_000,
    ],
)
def test_refuses_what_is_no_http(stream: bytes) -> None:
    """A peer that does not speak HTTP/1.1 is found out and not waited for."""
    with pytest.raises(ProtocolError):
        ResponseParser().feed(stream)

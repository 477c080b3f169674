"""When an HTTP answer is complete."""

import pytest

from tests.bench.load_client import is_whole_answer

SIZED = b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"kind":"Pod"}'[:-1]
CHUNKED = b'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{"kind":"Pod"\r\n1\r\n}\r\n0\r\n\r\n'


@pytest.mark.parametrize("answer", [SIZED, CHUNKED, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
def test_an_answer_is_whole_with_its_last_byte(answer: bytes) -> None:
    """No beginning of an answer is taken for the whole."""
    assert is_whole_answer(answer)
    assert not any(is_whole_answer(answer[:length]) for length in range(len(answer)))

"""Bytes become lines; bytes that are no text are named by line, place and value."""

import pytest

from elmore.corpus.lines import decode_lines
from elmore.errors import DataError


def test_ends_and_byte_order_mark_are_dropped() -> None:
    lines = [b"\xef\xbb\xbfone\r\n", b"\n", "\ufeff둘\u2028 \n".encode(), b"\r\n", b"last"]
    assert list(decode_lines(lines, "x")) == ["one", "", "\ufeff둘\u2028 ", "", "last"]


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ([b"ok\n", b"ok\n", b"caf\xe9 au lait\n"], r"line 3, byte 4 \(0xe9\)"),
        ([b"\xff\xfeh\x00i\x00\n"], r"line 1, byte 1 \(0xff\)"),
        ([b"\xed\x95"], r"line 1, byte 1 \(0xed\)"),
        ([b"\xed\xa0\x80\n"], r"line 1, byte 1 \(0xed\)"),  # a surrogate, which UTF-8 has not
        ([b"\xef\xbb\xbfcaf\xe9\n"], r"line 1, byte 7 \(0xe9\)"),  # the mark counts: it is there
    ],
)
def test_invalid_utf8_is_named(lines: list[bytes], place: str) -> None:
    with pytest.raises(DataError, match=rf"^notes\.txt is not UTF-8: {place}"):
        list(decode_lines(lines, "notes.txt"))


def test_what_stands_before_the_fault_is_read() -> None:
    lines = decode_lines([b"good\n", b"\xff\n"], "x")
    assert next(lines) == "good"

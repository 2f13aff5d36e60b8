"""Tables take the width of characters into account."""

from elmore.cli.terminal import end_in_columns


def test_wide_characters_take_two_columns() -> None:
    assert end_in_columns("나는 사과를 ", 8) == " 사과를 "
    assert end_in_columns("abc", 5) == "  abc"
    assert end_in_columns("abcdef", 3) == "def"

"""Tables take the width of characters into account."""

import io

import pytest
from rich.table import Table
from rich.text import Text

from elmore.cli.main import run
from elmore.cli.terminal import TextConsole, end_in_columns


def test_wide_characters_take_two_columns() -> None:
    assert end_in_columns("나는 사과를 ", 8) == " 사과를 "
    assert end_in_columns("abc", 5) == "  abc"
    assert end_in_columns("abcdef", 3) == "def"


HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\x08\rword"


def test_words_cannot_command_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.StringIO()
    console = TextConsole(file=file, force_terminal=True, color_system=None)
    console.print(Text(HOSTILE))
    table = Table()
    table.add_row(Text(HOSTILE))
    console.print(table)
    assert file.getvalue().count("word") == 2
    assert not any(
        (ord(one) < 32 and one != "\n") or 127 <= ord(one) < 160 for one in file.getvalue()
    )
    assert run(["embed", "--model", f"folder{HOSTILE}", "text"]) == 2
    said = capsys.readouterr().err
    assert said.endswith("\n")
    assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in said[:-1])

"""Writes src/elmore/text/moses_tables.py: what sacremoses' rules know of characters and words.

python tools/moses_tables.py
"""

import textwrap
import unicodedata
from itertools import groupby
from pathlib import Path

from sacremoses import MosesTokenizer

PAGE = Path(__file__).resolve().parents[1] / "src/elmore/text/moses_tables.py"

BEGINNING = '''"""What the rules of moses.py know: classes of characters, English abbreviations.

Written by tools/moses_tables.py from the tables of sacremoses (MIT license, alvations) and of
Unicode, which are frozen here: other versions of them change no token.
"""

'''
CLASSES_DOC = '''"""The class of every code point, in runs: a letter, and how often if not once.

A and a: letters, upper and lower case; s: the letter s; I and i: letters that are numbers; d: ASCII
digits; n: other numbers; . , ' - themselves (- is ` too); _: white space; c: dropped control
characters. Each of these is a token of its own: p: pictures; r: letters of flags; y: lower case
that is no letter to sacremoses; x: all else. These are parts of the character before: m: marks; z:
the zero-width joiner, which also joins pictures.
"""'''
_MOSES = MosesTokenizer("en")
_ALPHA, _ALNUM, _LOWER = map(frozenset, [_MOSES.IsAlpha, _MOSES.IsAlnum, _MOSES.IsLower])
_NUMERIC_LETTERS = _ALPHA & frozenset(_MOSES.IsN)
_KINDS = {  # the first one that has a character is its class
    "_": frozenset(filter(str.isspace, map(chr, range(0x110000)))),
    "c": frozenset(map(chr, range(32))),
    **{mark: frozenset(mark) for mark in "s.,'"},
    "-": frozenset("-`"),
    "d": frozenset("0123456789"),
    "i": _NUMERIC_LETTERS & _LOWER,
    "I": _NUMERIC_LETTERS,
    "a": _ALPHA & _LOWER,
    "A": _ALPHA,
    "n": _ALNUM,
    "z": frozenset("\u200d"),
    "r": frozenset(map(chr, range(0x1F1E6, 0x1F200))),
    "m": frozenset(
        character
        for code_point in range(0x110000)
        if unicodedata.category(character := chr(code_point)).startswith("M")
        or character == "\u200c"  # the zero-width non-joiner
        or 0x1F3FB <= code_point < 0x1F400  # skin tones
        or 0xE0020 <= code_point < 0xE0080  # tags
    ),
    "p": frozenset(map(chr, [*range(0x2190, 0x2C00), *range(0x1F000, 0x1FB00)])),
    "y": _LOWER,
}


def page() -> str:
    """Return the module as it should be."""
    runs = ((kind, len(list(run))) for kind, run in groupby(map(_class, range(0x110000))))
    classes = "".join(kind if n == 1 else f"{kind}{n}" for kind, n in runs)
    numeric = set(_MOSES.NUMERIC_ONLY_PREFIXES)
    prefixes = [word for word in _MOSES.NONBREAKING_PREFIXES if "#" not in word]
    return "\n".join(
        [
            BEGINNING + "CLASSES = (",
            *(f'    "{line}"' for line in textwrap.wrap(classes, 90, break_on_hyphens=False)),
            f")\n{CLASSES_DOC}",
            'PREFIXES = """',
            *textwrap.wrap(" ".join(word for word in prefixes if word not in numeric), 98),
            '"""\n"""Words that keep their period."""',
            f'NUMERIC_PREFIXES = "{" ".join(sorted(numeric))}"',
            '"""Words that keep it before a number."""\n',
        ]
    )


def _class(code_point: int) -> str:
    character = chr(code_point)
    return next((kind for kind, characters in _KINDS.items() if character in characters), "x")


def main() -> None:
    """Write the module."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()

"""A text in, its English Moses tokens and their spans out: sacremoses' rules, in linear time.

The rules read only what kind of character stands where. So each character becomes one letter, its
class (see moses_tables.py), and sacremoses' substitutions run on the string of classes, in its
order. They insert spaces and nothing else, so a token is where its class letters are.

Characters of several code points stay whole: a letter with its combining marks, a joined emoji, a
flag. The rules read the first one's class. sacremoses makes each code point a token.
"""

import re
from functools import cache

from elmore.text.moses_tables import CLASSES, NUMERIC_PREFIXES, PREFIXES
from elmore.text.token import Token

_ALPHA, _NUMBER = "AasIiD", "dnIi"
_LOWER = "asiy"
_DOT = "D"  # one of several dots: sacremoses spells them in capital letters for a while
_PREFIXES, _NUMERIC_PREFIXES = frozenset(PREFIXES.split()), frozenset(NUMERIC_PREFIXES.split())
_token = Token._make
_MANY_DOTS = re.compile(r"\.\.+")
_SPACES = re.compile("  +")

# Each rule of sacremoses consumes the neighbors it looks at, and its next match cannot see them: a
# mark right after such a neighbor is skipped (`,?`, `'?`). It is faster to look for marks first.
_COMMA_RULES = [
    (re.compile(rf",(?<=[^{_NUMBER}],)(,?)"), r" , \1"),
    (re.compile(rf",([^{_NUMBER}])"), r" , \1"),
]
_APOSTROPHE_RULES = [
    (re.compile(rf"'(?<=[^{_ALPHA}]')([^{_ALPHA}]'?)"), r" ' \1"),
    (re.compile(rf"'(?<=[^{_ALPHA}{_NUMBER}]')(?=[{_ALPHA}])"), " ' "),
    (re.compile(rf"'(?<=[{_ALPHA}]')(?=[^{_ALPHA}])"), " ' "),
    (re.compile(rf"'(?<=[{_ALPHA}]')([{_ALPHA}]'?)"), r" '\1"),
    (re.compile(rf"'(?<=[{_NUMBER}]')(?=s)"), " '"),
]
_HAS_ALPHA = re.compile(f"[{_ALPHA}]").search

_HAS_PARTS = re.compile("[cmzr]").search
_PART_OF_NOTHING = re.compile(r"((?:\A| )c*)m")
_CHARACTER = re.compile(r"[^cm](?:c*m)*")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b]")  # dropped; to Moses, the others are white space


def moses_tokens(text: str) -> list[Token]:
    """Return the tokens of sacremoses' `MosesTokenizer("en").tokenize(text, escape=False)`.

    Those of characters of several code points differ, see above. A token's text is that of its span
    without control characters.
    """
    classes = text.translate(_class_table())
    if not _HAS_PARTS(classes):
        return _tokens(text, classes)
    classes = classes.replace("rr", "xm").replace("zp", "mm").replace("z", "m")
    classes = _PART_OF_NOTHING.sub(r"\1x", classes)
    characters = [match.span() for match in _CHARACTER.finditer(classes)]
    # A mark stands for a letter with marks, which no abbreviation has.
    readable = "".join(text[end - 1] for _, end in characters)
    tokens = []
    for _, first, last in _tokens(readable, classes.replace("m", "")):
        start, end = characters[first][0], characters[last - 1][1]
        tokens.append(Token(_CONTROL.sub("", text[start:end]), start, end))
    return tokens


def _tokens(text: str, classes: str) -> list[Token]:
    """Return the tokens of `text`, without control characters, of which `classes` may have some."""
    words = _apply_rules(classes).split()
    places = classes.replace("c", "")
    tokens = []
    end = 0
    for number, word in enumerate(words, start=1):
        start = end
        while places[start] == " ":
            start += 1
        end = start + len(word)
        token = text[start:end]
        if (
            word[-1] == "."
            and word != "."
            and not _keeps_period(token, word, words[number : number + 1])
        ):
            tokens.append(Token(token[:-1], start, end - 1))
            start, token = end - 1, "."
        tokens.append(_token((token, start, end)))
    return tokens


def _apply_rules(classes: str) -> str:
    """Return the classes with spaces between tokens, except before single periods."""
    classes = _SPACES.sub(" ", classes).replace("c", "").strip()
    for kind in "xypr":
        classes = classes.replace(kind, f" {kind} ")
    if ".." in classes:
        classes = _MANY_DOTS.sub(lambda dots: f" {_DOT * len(dots[0])} ", classes)
    if "," in classes:
        for pattern, replacement in _COMMA_RULES:
            classes = pattern.sub(replacement, classes)
        if classes.endswith(","):
            classes = f"{classes[:-1]} ,"
    if "'" in classes:
        for pattern, replacement in _APOSTROPHE_RULES:
            classes = pattern.sub(replacement, classes)
    return f"{classes[:-2]} . '" if classes.endswith(".'") else classes


def _keeps_period(text: str, word: str, following: list[str]) -> bool:
    """Return whether a word's last period belongs to it: the word as text and as classes."""
    prefix = text[:-1]
    next_class = following[0][0] if following else " "
    return (
        prefix in _PREFIXES
        or next_class in _LOWER
        or ("." in word[:-1] and _HAS_ALPHA(word) is not None)
        or (prefix in _NUMERIC_PREFIXES and next_class == "d")
    )


@cache
def _class_table() -> str:
    """Return the class of each character, by its code point."""
    runs = re.findall(r"(\D)(\d*)", CLASSES)
    return "".join(kind * int(length or 1) for kind, length in runs).replace("_", " ")

"""Korean text in, its tokens and their places out: morphemes, eojeol or syllables.

Between two spaces of a Korean text stands an eojeol: a stem with its particles and endings. As
morphemes, 사과를 먹었다 is 사과 + 를, 먹 + 었 + 다; as eojeol it is two words. Morphemes are
MeCab's, with the spelling that the text has: 했다 is 했 + 다, never 하 + 았 + 다.
"""

import re
from functools import cached_property
from typing import TYPE_CHECKING

from elmore.errors import MissingExtraError
from elmore.text.token import Token

if TYPE_CHECKING:
    from mecab import MeCab

_SPACE = re.compile(r"[\s\0]")
_NUMBER = r"\d+(?:[.,]\d+)+"
_EOJEOL = re.compile(rf"{_NUMBER}|\w+|[^\w\s]")
_SYLLABLE = re.compile(rf"{_NUMBER}|[가-힣]|[^\W가-힣]+|[^\w\s]")


class KoreanTokenizer:
    """Morphemes, by MeCab and its Korean dictionary (extra `ko`)."""

    name = "korean"

    @cached_property
    def _mecab(self) -> "MeCab":
        try:
            from mecab import MeCab  # noqa: PLC0415  an extra
        except ImportError:
            raise MissingExtraError("the tokenizer korean", "ko") from None
        return MeCab()

    def __call__(self, text: str) -> list[Token]:
        """Return the morphemes."""
        # MeCab takes only what UTF-8 can hold, ends at NUL and knows few kinds of white space;
        # to put one character for one keeps the places.
        readable = _SPACE.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
        begun = readable.lstrip(" ")
        shift = len(readable) - len(begun)  # its spans do not count the space before the text
        spans = (
            (morpheme.span.start + shift, morpheme.span.end + shift)
            for morpheme in self._mecab.parse(begun)
        )
        return [Token(text[start:end], start, end) for start, end in spans]


class KoreanEojeolTokenizer:
    """What stands between spaces, punctuation apart."""

    name = "korean-eojeol"

    def __call__(self, text: str) -> list[Token]:
        """Return the eojeol and the punctuation marks."""
        return [Token(m.group(), m.start(), m.end()) for m in _EOJEOL.finditer(text)]


class KoreanSyllableTokenizer:
    """Each Hangul syllable; other letters and digits stay together."""

    name = "korean-syllables"

    def __call__(self, text: str) -> list[Token]:
        """Return the syllables, the words in other letters and the punctuation marks."""
        return [Token(m.group(), m.start(), m.end()) for m in _SYLLABLE.finditer(text)]

"""Korean text in, its tokens and their spans out: morphemes, eojeol or syllables.

An eojeol is what Korean writes between spaces: a stem with its particles and endings. As morphemes,
사과를 먹었다 is 사과 + 를, 먹 + 었 + 다; as eojeol it is two words. Morphemes are MeCab's, in their
surface form: 했다 is 했 + 다, never 하 + 았 + 다. Where MeCab is not installed, the vocabulary of a
model that was trained on its morphemes gives almost the same segmentation.
"""

import math
import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from elmore.errors import MissingExtraError
from elmore.text.token import Token

if TYPE_CHECKING:
    from mecab import MeCab

_SPACE = re.compile(r"[\s\0]")
_MAX_RUN = 2000  # characters without a space that MeCab gets: its time may grow as their square
_RUN_FOR_MECAB = re.compile(rf"[^ ]{{1,{_MAX_RUN}}}")
_NUMBER = r"\d+(?:[.,]\d+)+"
_EOJEOL = re.compile(rf"{_NUMBER}|\w+|[^\w\s]")
_HANGUL = re.compile(r"[가-힣ㄱ-ㆎ]+")
_RUN = re.compile(r"[가-힣ㄱ-ㆎ]+|[一-龥]+|\d+|[^\W\d가-힣ㄱ-ㆎ一-龥]+|[^\w\s]")
_ZIPF = 1.1  # the exponent of Zipf's law
_A_WORD = 2.4  # a cost per word, so that fewer words are preferred
_UNKNOWN = 14.0  # the cost of an unknown word of one syllable; half as much for each one more
_MAX_WORD = 30  # syllables; time grows with them
_MAX_CACHED = 60  # syllables of a run
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
        # MeCab takes only valid UTF-8, ends at NUL and knows few kinds of white space; replacing
        # character by character keeps the spans.
        readable = _SPACE.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
        ends = (run.end() for run in _RUN_FOR_MECAB.finditer(readable) if len(run[0]) == _MAX_RUN)
        tokens = []
        for first, last in pairwise([0, *ends, len(readable)]):
            part = readable[first:last].lstrip(" ")
            place = last - len(part)
            # The library's own list of morphemes looks for each one's place from the beginning.
            for node in self._best_path(part):
                start = place + node.rlength - node.length  # left out: spaces, a byte each
                place = start + len(node.surface)
                tokens.append(Token(text[start:place], start, place))
        return tokens

    def _best_path(self, text: str) -> Iterator[Any]:
        tagger = self._mecab._tagger
        from mecab import MeCabError  # noqa: PLC0415  an extra
        from mecab.utils import create_lattice  # noqa: PLC0415

        lattice = create_lattice(text)
        if not tagger.parse(lattice):
            raise MeCabError(tagger.what())
        node = lattice.bos_node().next
        while node.next is not None:  # the last is the end of the text
            yield node
            node = node.next


def has_mecab() -> bool:
    """Return whether MeCab is installed."""
    return find_spec("mecab") is not None


class KoreanVocabularyTokenizer:
    """Morphemes, by a vocabulary of them that is sorted by frequency.

    A run of Hangul gets its most probable segmentation under a unigram model, with frequencies by
    Zipf's law. Runs of other letters, digits and Chinese characters stay together.
    """

    name = "korean-vocabulary"

    def __init__(self, words: Iterable[str]) -> None:
        hangul = (
            (rank, word)
            for rank, word in enumerate(words)
            if len(word) <= _MAX_WORD and _HANGUL.fullmatch(word)
        )
        self._costs = {word: _ZIPF * math.log(rank + 3) + _A_WORD for rank, word in hangul}
        self._longest = max(map(len, self._costs), default=1)
        self._cut = lru_cache(maxsize=65_536)(self._cheapest)

    def __call__(self, text: str) -> list[Token]:
        """Return the morphemes, the words in other letters and the punctuation marks."""
        tokens = []
        for match in _RUN.finditer(text):
            start = match.start()
            run = match.group()
            for word in (self._cut if len(run) <= _MAX_CACHED else self._cheapest)(run):
                tokens.append(Token(word, start, start + len(word)))
                start += len(word)
        return tokens

    def _cheapest(self, run: str) -> tuple[str, ...]:
        """Segment a run at the least cost: costs are negative log-probabilities (Viterbi)."""
        if not _HANGUL.fullmatch(run):
            return (run,)
        best = [0.0, *[math.inf] * len(run)]
        begins = [0] * (len(run) + 1)
        for start in range(len(run)):
            for end in range(start + 1, min(len(run), start + self._longest) + 1):
                unknown = _UNKNOWN * (end - start + 1) / 2
                cost = best[start] + self._costs.get(run[start:end], unknown)
                if cost < best[end]:
                    best[end], begins[end] = cost, start
        words = []
        end = len(run)
        while end:
            words.append(run[begins[end] : end])
            end = begins[end]
        return tuple(reversed(words))


class KoreanEojeolTokenizer:
    """Words between spaces, punctuation separate."""

    name = "korean-eojeol"

    def __call__(self, text: str) -> list[Token]:
        """Return the eojeol and the punctuation marks."""
        return [Token(m.group(), m.start(), m.end()) for m in _EOJEOL.finditer(text)]


class KoreanSyllableTokenizer:
    """Hangul syllables; runs of other letters and digits stay together."""

    name = "korean-syllables"

    def __call__(self, text: str) -> list[Token]:
        """Return the syllables, the words in other letters and the punctuation marks."""
        return [Token(m.group(), m.start(), m.end()) for m in _SYLLABLE.finditer(text)]

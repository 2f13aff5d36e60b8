"""The tokens of a sentence in, the sentence as people write it out, and where its tokens are.

An index stores tokens without the text, so the spaces of Korean morphemes are rebuilt by rule:
particles, endings and suffixes are joined to the word before them, unless that word cannot have
any, and punctuation is set as usual. On Korean Wikipedia 91 % of all boundaries are then as they
were (44 % if each has a space). Of English tokens, punctuation and clitics ('s, n't) are joined.
Tokens of other tokenizers are joined by spaces.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from elmore.embed.fill import BLANK
from elmore.senses.index import Occurrence

_MORPHEMES = ("korean", "korean-vocabulary")
_EOJEOL = "korean-eojeol"
_ENGLISH = "english"

# Frequent morphemes that mostly have no space before them in Korean Wikipedia.
_PARTICLES = """
가 간 개 개월 거나 게 겠 고 고자 과 군 권 급 기 까지 께 께서 나 년 는 는다 는데 는지 다 다가
다고 다는 당 당하 대 던 도 도록 됐 되 된 된다 될 됨 들 라 라고 라는 란 려 려고 려는 로 로부터
로서 로써 론 류 를 마다 만 며 면 면서 명 므로 번 보다 부 부터 분 상 서 성 세 세기 시 시켜 시켰
시키 식 씨 아 았 야 어 어서 어야 억 었 에 에게 에서 엔 여 였 였으나 였으며 와 용 원 월 위 율
으나 으로 으로부터 으로서 으로써 으며 으면 은 을 음 의 이 이나 이라고 인 일 임 자 장 적 졌 족 지
지만 째 차 처럼 층 하 한 한다 한다고 한다는 할 함 해 해서 해야 했 했으나 했으며 형 호 화 회
"""
# Words that end an eojeol: after them even those begin a new one (이 is "this" in 그는 이 사건을).
_ENDS = """
가 각 게 고자 과 그러나 그리고 는 다고 다시 던 도 도록 된 따라 라고 라는 려 려고 를 모든 및 여러
위해 으로 은 을 의 이라고 인 첫 하지만 한 한다고 할 함께
"""
_JOINED, _LAST = frozenset(_PARTICLES.split()), frozenset(_ENDS.split())
_OPENING = frozenset("([{‘“《〈「『<")
_CLOSING = frozenset(".,)]}%’”》〉」』>:;!?·-/…") | {"...", "("}
_JOINING = frozenset("-/·")
_QUOTES = ('"', "'")
_ENGLISH_OPENING = frozenset("([{“‘$£€")
_ENGLISH_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_ENGLISH_CLOSING = re.compile(r"[.,;:!?%)\]}’”…]+|['’][^\W\d_]{1,2}|n't")


@dataclass(frozen=True)
class MarkedText:
    """A text with one of its words marked."""

    before: str
    word: str
    after: str


def detokenize(tokens: Sequence[str], tokenizer: str) -> list[str]:
    """Return each token with the space before it, if it has one: joined, they are the text."""
    if tokenizer not in (*_MORPHEMES, _EOJEOL, _ENGLISH):
        return [f" {token}" if place else token for place, token in enumerate(tokens)]
    found: list[str] = []
    is_open = dict.fromkeys(_QUOTES, False)
    before = "("  # nothing is before the first
    for token in tokens:
        joined = (
            (before in _QUOTES and is_open[before])
            or (token in _QUOTES and is_open[token])
            or (_joins_english if tokenizer == _ENGLISH else _joins_korean)(before, token)
            or (tokenizer in _MORPHEMES and token in _JOINED and before not in _LAST)
        )
        if token in _QUOTES:
            is_open[token] = not is_open[token]
        elif tokenizer == _ENGLISH and token.startswith("'") and not _joins_english("", token):
            is_open["'"] = True  # 'Look
        found.append(token if joined else f" {token}")
        before = token
    return found


def _joins_english(before: str, token: str) -> bool:
    return (
        before in _ENGLISH_OPENING
        or (before == "’" and token in _ENGLISH_CLITICS)
        or _ENGLISH_CLOSING.fullmatch(token) is not None
    )


def _joins_korean(before: str, token: str) -> bool:
    return token in _CLOSING or before in _OPENING or before in _JOINING


def marked_sentence(one: Occurrence, tokenizer: str) -> MarkedText:
    """Return the sentence of an occurrence, rebuilt from its tokens, with its word marked."""
    words = detokenize(one.tokens, tokenizer)
    word = words[one.place]
    before = "".join(words[: one.place]) + " " * word.startswith(" ")
    return MarkedText(before, word.removeprefix(" "), "".join(words[one.place + 1 :]))


def marked_token(text: str, tokens: Sequence[str], place: int) -> MarkedText:
    """Return a text with one of its tokens marked; the tokens with spaces if they are not in it."""
    spans = _spans(text, tokens)
    if spans is None:
        before, after = " ".join([*tokens[:place], ""]), " ".join(["", *tokens[place + 1 :]])
        return MarkedText(before, tokens[place], after)
    start, end = spans[place]
    return MarkedText(text[:start], text[start:end], text[end:])


def _spans(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return where each token is in a text; None if one is not. A blank may be longer."""
    found, end = [], 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0:
            return None
        end = start + len(token)
        if token == BLANK:
            end += len(text[end:]) - len(text[end:].lstrip("_"))
        found.append((start, end))
    return found

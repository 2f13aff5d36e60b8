"""Texts with blanks in, the words that the sentence expects there out.

The biLM predicts a word from the words before it and, separately, from the words after it, by one
softmax (W, b). Were both sides independent given the word w, Bayes' rule would be

    p(w | left, right) ~ p(w | left) p(w | right) / p(w)

The logarithm of that is the logit of the summed states, (h_before + h_after) W_w + 2 b_w, less
a log p(w): one matrix product, whatever each side's normalization. a = 1 also predicts words best
(docs/explain/expected-states.md). The model does not store p(w), but its vocabulary is sorted by
frequency, so Zipf's law gives it: 1 / rank.

Shapes: N places, V words, p projection_dim, D = 2p.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from elmore.checks import one_of
from elmore.embed.encode import encode_words
from elmore.embed.texts import Texts, TokenizedText, tokenize
from elmore.embed.word_scores import softmax_of
from elmore.errors import ConfigError, DataError
from elmore.kernels.library import Floats
from elmore.kernels.softmax import exponentials, log_softmax
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    UNKNOWN,
    Normalization,
    Tokenizer,
    normalize,
)

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo

Sides = Literal["both", "left", "right"]

BLANK = "___"
_BLANKS = re.compile(r"_{3,}")
_PRIOR_WEIGHT = 1.0  # a, measured by paper/fill.py
_MAX_LOGITS = 2**24  # at once: 64 MB


@dataclass(frozen=True)
class Substitutes:
    """The most probable words for one place of a text."""

    text: int
    """The number of the text."""
    tokens: tuple[str, ...]
    """Its tokens; a blank is `___`."""
    place: int
    """The position of the filled token."""
    words: tuple[str, ...]
    """(n,) the most probable first."""
    probabilities: npt.NDArray[np.float32]
    """(n,) their probabilities; those of the whole vocabulary sum to 1."""


class Filler:
    """Predicts words at positions of texts."""

    def __init__(self, elmo: "Elmo") -> None:
        softmax, vocab = softmax_of(elmo, "predict")
        self.elmo, self.softmax, self.vocab = elmo, softmax, vocab
        self.log_prior = np.log(vocab.zipf().astype(np.float64)).astype(np.float32)
        """(V,) log p(w)."""
        marks = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
        rows = [vocab.row(mark) for mark in marks]
        self._left_out = [row for row in rows if row is not None]

    def log_probabilities(
        self, states: Floats, sides: Sides = "both", *, prior_weight: float = _PRIOR_WEIGHT
    ) -> Floats:
        """Return the log-probability of each word, (N, V), from layers="context", (N, D).

        Sentence marks and `<UNK>` get -inf. `prior_weight` is the a of both sides.
        """
        one_of(Sides, sides=sides)
        p = states.shape[1] // 2
        if sides == "both":
            logits = self.softmax.logits(states[:, :p] + states[:, p:], n_biases=2)
            logits -= np.float32(prior_weight) * self.log_prior
        else:
            logits = self.softmax.logits(states[:, :p] if sides == "left" else states[:, p:])
        logits[:, self._left_out] = -np.inf
        log_softmax(logits)
        return logits

    def fill(self, texts: Texts, word: str | int | None, sides: Sides, n: int) -> list[Substitutes]:
        """Do what `Elmo.fill` says."""
        one_of(Sides, sides=sides)
        if n < 1:
            raise ConfigError(f"n is {n}; expected at least 1 word for each place")
        n = min(n, len(self.vocab) - len(self._left_out))
        elmo = self.elmo
        tokenized = tokenize_blanks(texts, elmo.tokenizer, elmo.model.normalization)
        places = [
            (number, place)
            for number, text in enumerate(tokenized)
            for place in self._places(text.tokens, word, number)
        ]
        contexts = encode_words(
            elmo,
            tokenized,
            layers="context",
            keep_sentence_marks=False,
            output="numpy",
            dtype="float32",
        )
        found = []
        for some in _chunks(places, max(1, _MAX_LOGITS // len(self.vocab))):
            states = np.stack([contexts[number].vectors[place] for number, place in some])
            for (number, place), logs in zip(
                some, self.log_probabilities(states, sides), strict=True
            ):
                rows = most_probable(logs, n)
                words = tuple(self.vocab.words[row] for row in rows)
                tokens = tokenized[number].tokens
                probabilities = exponentials(logs[rows])
                found.append(Substitutes(number, tokens, place, words, probabilities))
        return found

    def _places(self, tokens: Sequence[str], word: str | int | None, number: int) -> list[int]:
        if isinstance(word, int):
            if not 0 <= word < len(tokens):
                raise DataError(
                    f"text {number} has {len(tokens)} tokens; there is none at position {word}"
                )
            return [word]
        if word is None:
            blanks = [place for place, token in enumerate(tokens) if token == BLANK]
            if not blanks:
                raise DataError(f"text {number} has no blank; write {BLANK} in it, or name a word")
            return blanks
        word = normalize(word, self.elmo.model.normalization)
        if word not in tokens:
            raise DataError(
                f"{word!r} is not a token of text {number}; name one of {', '.join(tokens)}"
            )
        return [tokens.index(word)]


def tokenize_blanks(
    texts: Texts, tokenizer: Tokenizer, normalization: Normalization | None
) -> list[TokenizedText]:
    """Tokenize texts; strings are split at their blanks first."""
    given = ["" if isinstance(text, str) else text for text in texts]
    found = []
    for text, listed in zip(texts, tokenize(given, tokenizer, normalization), strict=True):
        tokens = list(listed.tokens)
        parts = _BLANKS.split(text) if isinstance(text, str) else []
        for number, part in enumerate(parts):
            tokens += [BLANK] * (number > 0)
            tokens += [token.text for token in tokenizer(part)]
        blanked = (BLANK if _BLANKS.fullmatch(token) else token for token in tokens)
        found.append(TokenizedText(tuple(blanked), None))
    return found


def most_probable(log_probs: Floats, n: int) -> npt.NDArray[np.int64]:
    """Return the rows of the n most probable words of (V,), the first of equals first."""
    least = np.partition(log_probs, len(log_probs) - n)[len(log_probs) - n]
    rows = np.flatnonzero(log_probs >= least)
    return rows[np.argsort(-log_probs[rows], kind="stable")][:n]


def _chunks(items: list[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]

"""Labelled words in sentences in, the senses of other words out: the nearest mean (section 5.3).

The vector of a sense is the mean over its labelled occurrences, on each layer, standardized where
the model is calibrated. A word gets the sense whose vector has the highest cosine with its own; one
that was never labelled gets what the caller falls back to, such as its first sense in a dictionary.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmore.corpus.lines import decode_lines
from elmore.embed import Elmo
from elmore.errors import DataError
from elmore.senses.describe import Sense, describe
from elmore.senses.index import Occurrence
from elmore.senses.induce import context_states
from elmore.senses.representations import Representation, read_layers, word_vectors
from elmore.senses.search import Floats, unit_norm
from elmore.text import normalize

_SENTENCES_AT_ONCE = 512


@dataclass(frozen=True)
class SenseWord:
    """A word of a sentence whose sense is known, or asked for."""

    start: int
    """Its first token."""
    end: int
    """After its last token; a word such as "took place" has several."""
    word: str
    """What it is, such as its lemma with its part of speech: senses of different words never
    compete."""
    senses: tuple[str, ...] = ()
    """What it means; several if its annotators left it open, none if it is asked for."""


@dataclass(frozen=True)
class SenseSentence:
    """A sentence and some of its words."""

    tokens: tuple[str, ...]
    words: tuple[SenseWord, ...]

    def __post_init__(self) -> None:
        for word in self.words:
            if not 0 <= word.start < word.end <= len(self.tokens):
                raise DataError(
                    f"{word.word!r} is at tokens {word.start} to {word.end} of a sentence of "
                    f"{len(self.tokens)}; expected places in it"
                )


class Nearest(NamedTuple):
    """A sense, and how near its vector is."""

    sense: str
    cosine: float


@dataclass(frozen=True)
class _Known:
    """The senses of one word that were met."""

    senses: list[str]
    sums: list[list[Floats]]
    """For each, and each layer, (D,): the sum of its vectors, in the direction of their mean."""


class SenseVectors:
    """The vectors of the senses of words, learned from labelled sentences.

    `layers` are what predictions are made by; None: each numbered one.
    """

    def __init__(self, elmo: Elmo, *, layers: Sequence[Representation] | None = None) -> None:
        self.elmo = elmo
        self.layers = tuple(range(elmo.n_layers) if layers is None else layers)
        self._known: dict[str, _Known] = {}

    def learn(self, sentences: Iterable[SenseSentence]) -> "SenseVectors":
        """Add labelled words."""
        for word, vectors in self._read(sentences):
            for sense in word.senses:
                known = self._known.setdefault(word.word, _Known([], []))
                if sense not in known.senses:
                    known.senses.append(sense)
                    known.sums.append([np.zeros_like(vector) for vector in vectors])
                row = known.senses.index(sense)
                known.sums[row] = [a + b for a, b in zip(known.sums[row], vectors, strict=True)]
        return self

    def predict(self, sentences: Iterable[SenseSentence]) -> Iterator[list[Nearest] | None]:
        """Give the nearest sense of each word, one by each layer; None if the word is new."""
        for word, vectors in self._read(sentences):
            known = self._known.get(word.word)
            if known is None:
                yield None
                continue
            found = []
            for vector, *sums in zip(vectors, *known.sums, strict=True):
                cosines = unit_norm(np.stack(sums)) @ unit_norm(vector[None])[0]
                best = int(cosines.argmax())
                found.append(Nearest(known.senses[best], float(cosines[best])))
            yield found

    def _read(self, sentences: Iterable[SenseSentence]) -> Iterator[tuple[SenseWord, list[Floats]]]:
        """Give each word with its vectors, (D,) for each layer."""
        left = (sentence for sentence in sentences if sentence.words)
        while some := list(islice(left, _SENTENCES_AT_ONCE)):
            tokens = [sentence.tokens for sentence in some]
            read = self.elmo.encode_tokens(tokens, layers=read_layers(self.elmo))
            for sentence, found in zip(some, read, strict=True):
                for word in sentence.words:
                    by_layer = word_vectors(self.elmo, found.vectors, word.start, word.end)
                    yield word, [by_layer[layer] for layer in self.layers]


def label_senses(
    elmo: Elmo,
    occurrences: Sequence[Occurrence],
    labelled: Sequence[tuple[str, Occurrence]],
    *,
    others: Sequence[Occurrence] = (),
) -> list[Sense]:
    """Give each occurrence of a word the sense whose mean expected state is nearest.

    The senses are in the order in which `labelled` names them. `others`, of other words, show
    what occurs around any word and so is no keyword.
    """
    if not occurrences or not labelled:
        raise DataError("there are no occurrences, or none is labelled; give some of either")
    known = SenseVectors(elmo, layers=["expected"])
    known.learn(_one_word(one, sense) for sense, one in labelled)
    names = list(dict.fromkeys(sense for sense, _ in labelled))
    labels, distances = [], []
    for found in known.predict(map(_one_word, occurrences)):
        assert found is not None  # all are the same word
        ((sense, cosine),) = found
        labels.append(names.index(sense))
        distances.append(1 - cosine)
    return describe(
        elmo, occurrences, np.array(labels), np.array(distances, np.float32), names,
        states=context_states(elmo, occurrences), others=others,
    )  # fmt: skip


def read_labelled_senses(path: Path, word: str, elmo: Elmo) -> list[tuple[str, Occurrence]]:
    """Read examples of a word's senses: a sense, a tab and a sentence a line."""
    word = normalize(word, elmo.model.normalization)
    found = []
    with path.open("rb") as file:
        for number, line in enumerate(decode_lines(file, str(path)), start=1):
            if not line.strip():
                continue
            sense, tab, text = line.partition("\t")
            tokens = tuple(token.text for token in elmo.tokenizer(text))
            if not tab or word not in tokens:
                raise DataError(
                    f"{path}, line {number}, has {line!r}; "
                    f"expected a sense, a tab and a sentence with the word {word!r}"
                )
            found.append((sense, Occurrence(word, tokens, tokens.index(word))))
    if not found:
        raise DataError(f"{path} has no examples; expected a sense, a tab and a sentence a line")
    return found


def _one_word(one: Occurrence, *senses: str) -> SenseSentence:
    return SenseSentence(one.tokens, (SenseWord(one.place, one.place + 1, "", senses),))

"""Words as places in raw text in, the vectors of what stands there out; and tables of such text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.embed import TokenVectors
from elmore.errors import DataError
from elmore.senses.probe import with_mean
from elmore.text import decode_lines

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sentence:
    """A raw text and where some words stand in it."""

    text: str
    spans: Sequence[tuple[int, int]]


def read_rows(path: Path, n_columns: int) -> Iterator[tuple[str, list[str]]]:
    """Read a table, a row a line with tabs between its columns; give each with where it stands."""
    with path.open("rb") as file:
        for number, line in enumerate(decode_lines(file, str(path)), start=1):
            where = f"{path}, line {number},"
            columns = line.split("\t")
            if len(columns) != n_columns:
                raise DataError(f"{where} has {len(columns)} columns; expected {n_columns}")
            yield where, columns


def token_place(text: str, number: str, where: str) -> tuple[int, int]:
    """Return where a token stands in a text that has a space between any two."""
    tokens = text.split(" ")
    if not number.isdecimal() or int(number) >= len(tokens):
        raise DataError(f"{where} names word {number!r}; expected one from 0 to {len(tokens) - 1}")
    start = sum(len(token) + 1 for token in tokens[: int(number)])
    return start, start + len(tokens[int(number)])


def word_vectors(elmo: Elmo, sentences: Sequence[Sentence]) -> Vectors:
    """Return the vectors of all words on each layer and their mean, (layers + 1, words, D).

    A text is tokenized as the model's own; a word's vector is the mean of the tokens that reach
    into its span.
    """
    read = elmo.encode_tokens([sentence.text for sentence in sentences], layers="all")
    words = [
        found.vectors[:, first:last].mean(axis=1)
        for sentence, found in zip(sentences, read, strict=True)
        for first, last in _tokens_at(sentence, found)
    ]
    return with_mean(np.stack(words, axis=1))


def around_vectors(elmo: Elmo, sentences: Sequence[Sentence]) -> Vectors:
    """Return what the top layer says of the place of each word without reading it, (words, D).

    That is the forward state before the word beside the backward state after it: what the biLM
    predicts the word from.
    """
    texts = [sentence.text for sentence in sentences]
    read = elmo.encode_tokens(texts, layers="top")
    marked = elmo.encode_tokens(texts, layers="top", keep_sentence_marks=True)
    half = elmo.dim // 2
    words = [
        np.concatenate([states.vectors[first, :half], states.vectors[last + 1, half:]])
        for sentence, found, states in zip(sentences, read, marked, strict=True)
        for first, last in _tokens_at(sentence, found)  # states are further on by the mark
    ]
    return np.stack(words)


def _tokens_at(sentence: Sentence, found: TokenVectors) -> Iterator[tuple[int, int]]:
    """Give which tokens reach into each span of a sentence: the first, and after the last."""
    starts, ends = np.array(found.spans).reshape(-1, 2).T
    for start, end in sentence.spans:
        (inside,) = np.nonzero((starts < end) & (start < ends))
        if not len(inside):
            raise DataError(f"no token is at {sentence.text[start:end]!r} in {sentence.text!r}")
        yield int(inside[0]), int(inside[-1]) + 1

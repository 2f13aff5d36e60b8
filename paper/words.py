"""Words as places in raw text in, the vectors of what stands there out; and tables of such text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.corpus.lines import decode_lines
from elmore.embed import TokenVectors
from elmore.errors import DataError
from elmore.senses.representations import Representation, read_layers, word_vectors

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


def span_vectors(elmo: Elmo, sentences: Sequence[Sentence]) -> dict[str, Vectors]:
    """Return each representation of all words, (words, D), by name, standardized if it can be.

    A text is tokenized as the model's own; a word is the tokens that reach into its span.
    """
    read = elmo.encode_tokens([sentence.text for sentence in sentences], layers=read_layers(elmo))
    return by_name(
        elmo,
        [
            word_vectors(elmo, found.vectors, first, last)
            for sentence, found in zip(sentences, read, strict=True)
            for first, last in _tokens_at(sentence, found)
        ],
    )


def by_name(elmo: Elmo, words: Sequence[Mapping[Representation, Vectors]]) -> dict[str, Vectors]:
    """Return the vectors of all words for each column of a table: the layers, their mean, …"""
    stacked = {name: np.stack([word[name] for word in words]) for name in words[0]}
    layers = [stacked.pop(n) for n in range(elmo.n_layers)]
    return {
        **{f"layer {n}": layer for n, layer in enumerate(layers)},
        "mean of layers": np.mean(layers, axis=0),
        **{str(name): vectors for name, vectors in stacked.items()},
    }


def cosine_note(elmo: Elmo) -> str:
    """Say what the cosines are of."""
    if elmo.model.calibration is None:
        return "Cosines of raw vectors: the model has no calibration."
    return "Cosines of vectors standardized with the model's calibration."


def _tokens_at(sentence: Sentence, found: TokenVectors) -> Iterator[tuple[int, int]]:
    """Give which tokens reach into each span of a sentence: the first, and after the last."""
    starts, ends = np.array(found.spans).reshape(-1, 2).T
    for start, end in sentence.spans:
        (inside,) = np.nonzero((starts < end) & (start < ends))
        if not len(inside):
            raise DataError(f"no token is at {sentence.text[start:end]!r} in {sentence.text!r}")
        yield int(inside[0]), int(inside[-1]) + 1

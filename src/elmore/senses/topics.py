"""Occurrences in, the topic of the words around each of them out.

A topic is the sum of static vectors of the words around, frequent words counting little (Arora et
al. 2017). The static vectors are the model's own: the rows of its word table where it has one;
else those of its softmax, without the first principal components, which are mostly frequency and
grammar; else its token vectors, which know no more than spelling.

Shapes: N occurrences, W words, p projection_dim.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from elmore.embed import Elmo
from elmore.senses.index import Occurrence
from elmore.senses.search import Floats, unit_norm
from elmore.text import Vocab

_WINDOW = 20  # words on either side that count
_FREQUENT = 1e-4  # a word of this probability counts half
_N_REMOVED = 10  # principal components of the softmax


def words_around(one: Occurrence) -> list[str]:
    """Return the words around an occurrence, without those of its own form."""
    first, own = max(0, one.place - _WINDOW), one.word.lower()
    return [word for word in one.tokens[first : one.place + _WINDOW + 1] if word.lower() != own]


def topic_vectors(elmo: Elmo, occurrences: Sequence[Occurrence]) -> Floats:
    """Return the topic of each occurrence, (N, p), of norm 1; 0 if no word around is known."""
    around = [words_around(one) for one in occurrences]
    counts = Counter(word for words in around for word in words)
    rows = {word: row for row, word in enumerate(counts)}
    weights = _FREQUENT / (_FREQUENT + _probabilities(elmo.model.vocab, counts))
    weighted = weights[:, None] * _static_vectors(elmo, list(counts))
    found = np.zeros((len(occurrences), elmo.dim // 2), np.float32)
    for topic, words in zip(found, around, strict=True):
        topic[:] = weighted[[rows[word] for word in words]].sum(axis=0)
    return unit_norm(found)


def vocab_row(vocab: Vocab, word: str) -> int | None:
    """Return the row of a word as it is written, else in lower case, else None."""
    row = vocab.row(word)
    return vocab.row(word.lower()) if row is None else row


def _probabilities(vocab: Vocab | None, counts: Counter[str]) -> Floats:
    """Return p(w) of each word, (W,): by its rank in the vocabulary, else as often as it is met."""
    if vocab is None:
        return np.array([n / counts.total() for n in counts.values()], np.float32)
    rows = [vocab_row(vocab, word) for word in counts]
    return vocab.zipf()[[-1 if row is None else row for row in rows]]


def _static_vectors(elmo: Elmo, words: list[str]) -> Floats:
    """Return the static vector of each word, (W, p); 0 if it has none."""
    found = np.zeros((len(words), elmo.dim // 2), np.float32)
    if not words:
        return found
    vocab, arrays, encoder = elmo.model.vocab, elmo.model.arrays, elmo.config.token_encoder
    has_table = encoder.words is not None and encoder.chars is not None and encoder.combine == "add"
    if has_table:
        table = arrays["token_encoder.words.weight"].astype(np.float32)
    elif "softmax.weight" in arrays:
        table = arrays["softmax.weight"].astype(np.float32)
    else:
        spelled = elmo.word_vectors(words)
        return unit_norm(spelled - spelled.mean(axis=0))
    assert vocab is not None  # whoever has such a table names its rows
    rows = [vocab_row(vocab, word) for word in words]
    known = [number for number, row in enumerate(rows) if row is not None]
    mean = table.mean(axis=0)
    vectors = table[[row for row in rows if row is not None]] - mean
    if not has_table:
        covariance = table.T @ table / len(table) - np.outer(mean, mean)
        _, axes = np.linalg.eigh(covariance)  # the largest last
        first = axes[:, -min(_N_REMOVED, len(axes) // 2) :]
        vectors = unit_norm(vectors - vectors @ first @ first.T)
    found[known] = vectors
    return found

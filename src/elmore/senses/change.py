"""Two indexes in, how much the use of each word changed from one to the other out.

Three measures. With unit vectors x of one corpus and y of the other: prototype, 1 - cos of the mean
x and the mean y; pairwise, the mean of 1 - cos(x, y) over all pairs, which grows also with how
varied the use is in either; senses, the Jensen-Shannon divergence (bits) of how often each sense
occurs, the senses being found in both corpora together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError
from elmore.formats.calibration import Layer
from elmore.senses.describe import Sense
from elmore.senses.index import Occurrence, OccurrenceIndex
from elmore.senses.induce import find_senses, other_occurrences, sampled_rows
from elmore.senses.search import unit_norm


@dataclass(frozen=True)
class WordChange:
    """How much the use of a word changed."""

    word: str
    n_old: int
    """Its occurrences in the old corpus, all of which the distances are of."""
    n_new: int
    pairwise: float
    prototype: float


@dataclass(frozen=True)
class SenseChange:
    """A sense, and how frequent it is in either corpus."""

    sense: Sense
    old: float
    """Its share of the occurrences in the old corpus."""
    new: float
    examples: list[Occurrence]
    """Typical ones."""


class SenseChanges(NamedTuple):
    """How the senses of a word changed."""

    divergence: float
    """The Jensen-Shannon divergence of their frequencies, in bits."""
    senses: list[SenseChange]
    n_sentences: tuple[int, int]
    """The distinct sentences of either corpus that the frequencies are of."""


def last_shared_layer(old: OccurrenceIndex, new: OccurrenceIndex) -> Layer:
    """Return the last layer that both indexes have."""
    shared = [layer for layer in old.layers if layer in new.layers]
    if not shared:
        raise DataError(
            f"{old.folder} and {new.folder} have no layer in common; build them with the same one"
        )
    return shared[-1]


def word_changes(
    old: OccurrenceIndex, new: OccurrenceIndex, layer: Layer, *, min_count: int = 20
) -> list[WordChange]:
    """Measure all words that are frequent enough in both, the most changed (prototype) first.

    Punctuation is left out: its use differs between corpora, and means nothing.
    """
    _check_same_model(old, new)
    if min_count < 1:
        raise ConfigError(f"min_count is {min_count}; expected at least 1")
    found = []
    for word in sorted(set(old.words) & set(new.words)):
        if not any(character.isalnum() for character in word):
            continue
        rows = old.rows(word), new.rows(word)
        if min(map(len, rows)) >= min_count:
            found.append(_word_change(word, old, new, layer))
    return sorted(found, key=lambda change: -change.prototype)


def word_change(old: OccurrenceIndex, new: OccurrenceIndex, layer: Layer, word: str) -> WordChange:
    """Measure one word."""
    _check_same_model(old, new)
    return _word_change(word, old, new, layer)


def _word_change(word: str, old: OccurrenceIndex, new: OccurrenceIndex, layer: Layer) -> WordChange:
    x, y = (unit_norm(index.vectors(layer)[index.rows(word)]) for index in (old, new))
    mean_x, mean_y = x.mean(axis=0, dtype=np.float64), y.mean(axis=0, dtype=np.float64)
    together = float(mean_x @ mean_y)  # which is the mean cosine of all pairs
    norms = float(np.linalg.norm(mean_x) * np.linalg.norm(mean_y))
    return WordChange(word, len(x), len(y), 1 - together, 1 - together / norms)


def sense_changes(
    elmo: Elmo,
    old: OccurrenceIndex,
    new: OccurrenceIndex,
    word: str,
    *,
    max_senses: int = 8,
    n_examples: int = 2,
    seed: int = 1,
) -> SenseChanges:
    """Find the senses of a word in both corpora together, and their frequency in either."""
    _check_same_model(old, new)
    old.check_model(elmo)
    first, second = (
        [index.occurrence(int(row)) for row in sampled_rows(index, word, seed=seed)]
        for index in (old, new)
    )
    together = [*first, *second]
    is_old = np.arange(len(together)) < len(first)
    found = []
    others = [one for index in (old, new) for one in other_occurrences(index, word, seed=seed)]
    for sense in find_senses(elmo, together, others=others, max_senses=max_senses, seed=seed):
        n_old = int(is_old[sense.rows].sum())
        examples = [together[k] for k in sense.rows[:n_examples]]
        found.append(
            SenseChange(
                sense,
                n_old / len(first),
                (len(sense.rows) - n_old) / len(second),
                examples,
            )
        )
    shares = np.array([[change.old for change in found], [change.new for change in found]])
    return SenseChanges(divergence(*shares), found, (len(first), len(second)))


def divergence(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    """Return the Jensen-Shannon divergence of two distributions, from 0 to 1 bit."""
    middle = (p + q) / 2
    return _entropy(middle) - (_entropy(p) + _entropy(q)) / 2


def _entropy(p: npt.NDArray[np.float64]) -> float:
    some = p[p > 0]
    return float(-(some * np.log2(some)).sum())


def _check_same_model(old: OccurrenceIndex, new: OccurrenceIndex) -> None:
    for what in ("hash", "calibration", "tokenizer", "normalization"):
        if getattr(old.model, what) != getattr(new.model, what):
            name = "model" if what == "hash" else what
            raise ConfigError(
                f"{old.folder} and {new.folder} were built with another {name} each; "
                "their vectors cannot be compared: build both with one"
            )

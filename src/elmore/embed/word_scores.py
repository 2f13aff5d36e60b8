"""Tokenized texts in, the log-probability of each word out, by the model's full softmax."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from elmore.embed.results import WordScores
from elmore.embed.texts import TokenizedText
from elmore.engine.softmax import Softmax
from elmore.engine.word_scorer import WordScorer
from elmore.errors import FormatError
from elmore.text.vocab import Vocab

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


def softmax_of(elmo: "Elmo", purpose: str) -> tuple[Softmax, Vocab]:
    """Return the softmax of a model and its words, which `purpose` needs."""
    softmax, vocab = elmo.softmax, elmo.model.vocab
    if softmax is None or vocab is None:
        raise FormatError(
            f"this model came without its softmax, so it cannot {purpose} words; "
            "put the published softmax HDF5 and vocabulary into its folder"
        )
    return softmax, vocab


def score_words(elmo: "Elmo", texts: Sequence[TokenizedText]) -> list[WordScores]:
    """Do what `Elmo.scores` says."""
    softmax, vocab = softmax_of(elmo, "score")
    scorer = WordScorer(elmo.reader, softmax, vocab)
    found: dict[int, WordScores] = {}
    for number, scored in scorer.score([text.tokens for text in texts]):
        tokens = texts[number].tokens
        known = np.array([word in vocab for word in tokens], dtype=bool)
        found[number] = WordScores(tokens, scored.forward[:-1], scored.backward[1:], known)
    return [found[number] for number in range(len(texts))]

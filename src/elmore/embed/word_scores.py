"""Tokenized texts in, the log-probability of each word out, by the model's full softmax."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from elmore.embed.results import WordScores
from elmore.embed.texts import TokenizedText
from elmore.engine.word_scorer import word_log_probs
from elmore.errors import FormatError
from elmore.model.softmax import Softmax
from elmore.text import Vocab

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo

_WORDS = slice(1, -1)  # all tokens but the sentence marks


def softmax_of(elmo: "Elmo", purpose: str) -> tuple[Softmax, Vocab]:
    """Return the softmax of a model and its words, which `purpose` needs."""
    softmax, vocab = elmo.bilm.softmax, elmo.model.vocab
    if softmax is None or vocab is None:
        raise FormatError(
            f"this model came without its softmax, so it cannot {purpose} words; "
            "put the published softmax HDF5 and vocabulary into its folder"
        )
    return softmax, vocab


def score_words(elmo: "Elmo", texts: Sequence[TokenizedText]) -> list[WordScores]:
    """Do what `Elmo.scores` says; each text is scored by itself, so no batch changes it."""
    softmax, vocab = softmax_of(elmo, "score")
    found: dict[int, WordScores] = {}
    for i, layers in elmo.reader.read([text.tokens for text in texts]):
        tokens = texts[i].tokens
        word_ids = torch.zeros(len(tokens) + 2, dtype=torch.int64)  # the marks are not scored
        word_ids[_WORDS] = torch.from_numpy(vocab.encode(tokens))
        scored = word_log_probs(
            softmax, layers[-1], word_ids.to(layers.device), forward=_WORDS, backward=_WORDS
        )
        found[i] = WordScores(
            tokens,
            scored.forward.numpy(force=True),
            scored.backward.numpy(force=True),
            np.array([word in vocab for word in tokens], dtype=bool),
        )
    return [found[i] for i in range(len(texts))]

"""Words in, layers out: the one loop that runs a biLM over texts.

Texts of similar length form a batch, up to a budget of tokens, and each distinct word is encoded
once. The result does not depend on the batch: every text starts from the zero state unless a
carried state is given.

Shapes: B texts, N tokens of a batch, T tokens of a text (sentence marks included), L+1 layers,
p projection_dim, D = 2p.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import Precision
from elmore.engine.batching import token_budget_batches
from elmore.engine.lstm import LstmState
from elmore.engine.network import BiLMState, Output, Sentences
from elmore.engine.word_cache import WordCache
from elmore.errors import ConfigError
from elmore.kernels.library import Floats
from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE
from elmore.text.id_encoder import IdEncoder

MAX_BATCH_TOKENS = 4096


class Runs(Protocol):
    """Runs a biLM: `Network`, or the textbook network on a GPU."""

    precision: Precision
    """Of the matrix products."""

    def token_vectors(self, ids: npt.NDArray[np.integer]) -> Floats:
        """Return the context-free vectors (W, p) of words (W, n_ids)."""
        ...

    def read(
        self, word_vectors: Floats, sentences: Sentences, state: BiLMState | None = None
    ) -> Output:
        """Read sentences, longest first, whose distinct words have these vectors (W, p)."""
        ...

    def zero_state(self, n_sentences: int) -> BiLMState:
        """Return the state before any token."""
        ...


class CarriedState:
    """The LSTM state of each row, kept from one batch to the next. Rows start at zero."""

    def __init__(self) -> None:
        self._rows: dict[int, BiLMState] = {}

    def of(self, rows: Sequence[int], zero: BiLMState) -> BiLMState:
        """Return the state of these rows as one batch; `zero` is the state of a new row."""
        states = [self._rows.get(row, zero) for row in rows]
        return BiLMState(
            *(
                LstmState(
                    np.concatenate([s.h for s in side], 1), np.concatenate([s.c for s in side], 1)
                )
                for side in ([s.forward for s in states], [s.backward for s in states])
            )
        )

    def update(self, rows: Sequence[int], state: BiLMState) -> None:
        """Store the state of these rows; other rows keep theirs."""
        for place, row in enumerate(rows):
            one = slice(place, place + 1)
            self._rows[row] = BiLMState(
                *(
                    LstmState(side.h[:, one].copy(), side.c[:, one].copy())
                    for side in (state.forward, state.backward)
                )
            )


@dataclass(frozen=True)
class ReadBatch:
    """Some texts that were read together."""

    texts: list[int]
    """(B,) their numbers, longest first."""
    lengths: list[int]
    """(B,) their tokens, sentence marks included."""
    layers: Floats
    """(L + 1, N, D), text after text."""


class Reader:
    """Runs a network over texts of words."""

    def __init__(
        self,
        network: Runs,
        encoder: IdEncoder,
        cache: WordCache,
        *,
        max_batch_tokens: int = MAX_BATCH_TOKENS,
    ) -> None:
        if max_batch_tokens < 1:
            raise ConfigError(f"max_batch_tokens is {max_batch_tokens}; expected at least 1")
        self.network, self.encoder, self.cache = network, encoder, cache
        self.max_batch_tokens = max_batch_tokens

    def token_vectors(self, words: Sequence[str]) -> Floats:
        """Return the context-free vectors of distinct words, (words, p)."""
        return self.cache.vectors(words, self._encode)

    def read(
        self, texts: Sequence[Sequence[str]], carried: CarriedState | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield (number, layers (L + 1, T, D)) for each text, sentence marks included.

        They come in the order of the batches, not of the texts. The layers are a view of their
        batch.
        """
        for batch in self.batches(texts, carried):
            start = 0
            for number, length in zip(batch.texts, batch.lengths, strict=True):
                yield number, batch.layers[:, start : start + length]
                start += length

    def batches(
        self, texts: Sequence[Sequence[str]], carried: CarriedState | None = None
    ) -> Iterator[ReadBatch]:
        """Yield the layers of texts, batch by batch."""
        lengths = [len(text) + 2 for text in texts]
        for rows in token_budget_batches(lengths, self.max_batch_tokens):
            layers = self._read([texts[row] for row in rows], rows, carried)
            yield ReadBatch(rows, [lengths[row] for row in rows], layers)

    def _encode(self, words: list[str]) -> Floats:
        return self.network.token_vectors(self.encoder.encode(words))

    def _read(
        self, texts: list[Sequence[str]], rows: list[int], carried: CarriedState | None
    ) -> Floats:
        tokens = [word for text in texts for word in (BEGIN_SENTENCE, *text, END_SENTENCE)]
        distinct = {word: n for n, word in enumerate(dict.fromkeys(tokens))}
        vectors = self.token_vectors(list(distinct))
        sentences = Sentences(
            words=np.array([distinct[word] for word in tokens], np.int32),
            lengths=np.array([len(text) + 2 for text in texts], np.int64),
        )
        if carried is None:
            return self.network.read(vectors, sentences).layers
        output = self.network.read(vectors, sentences, carried.of(rows, self.network.zero_state(1)))
        carried.update(rows, output.state)
        return output.layers

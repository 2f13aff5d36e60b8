"""Words in, layers out: the one loop that runs the biLM over texts.

Texts of similar length form a batch, up to a budget of tokens, and each distinct word is encoded
once. The result does not depend on the batch: every text starts from the zero state unless a
carried state is given.

Shapes: T tokens (sentence marks included), L+1 layers, p projection_dim, D = 2p.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from elmore.checks import one_of
from elmore.embed.cache import WordCache, WordVectors
from elmore.embed.precision import PrecisionName, resolve_precision
from elmore.engine import Engine, FastEngine, PackedSentences, TextbookEngine
from elmore.engine.batching import token_budget_batches
from elmore.errors import ConfigError
from elmore.model.bilm import BiLM, BiLMState
from elmore.model.lstm import LstmState
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, IdEncoder

EngineName = Literal["auto", "fast", "textbook"]


class CarriedState:
    """The LSTM state of each row, kept from one batch to the next. Rows start at zero."""

    def __init__(self) -> None:
        self._rows: dict[int, BiLMState] = {}

    def of(self, rows: Sequence[int], zero: BiLMState) -> BiLMState:
        """Return the state of these rows as one batch; `zero` is the state of a new row."""
        states = [self._rows.get(row, zero) for row in rows]
        return BiLMState(
            *(
                LstmState(torch.cat([s.h for s in side], 1), torch.cat([s.c for s in side], 1))
                for side in ([s.forward for s in states], [s.backward for s in states])
            )
        )

    def update(self, rows: Sequence[int], state: BiLMState) -> None:
        """Store the state of these rows; other rows keep theirs."""
        for place, row in enumerate(rows):
            self._rows[row] = BiLMState(
                *(
                    LstmState(
                        one.h[:, place : place + 1].clone(), one.c[:, place : place + 1].clone()
                    )
                    for one in (state.forward, state.backward)
                )
            )


class Reader:
    """Runs a network over texts of words."""

    def __init__(
        self,
        bilm: BiLM,
        encoder: IdEncoder,
        *,
        max_batch_tokens: int,
        cache_words: int,
        word_vectors: WordVectors | None,
        engine: EngineName,
        precision: PrecisionName,
    ) -> None:
        if max_batch_tokens < 1:
            raise ConfigError(f"max_batch_tokens is {max_batch_tokens}; expected at least 1")
        one_of(EngineName, engine=engine)
        self.bilm, self.encoder = bilm, encoder
        self.max_batch_tokens = max_batch_tokens
        self.device = next(self.bilm.parameters()).device
        if engine == "fast" and self.device.type != "cpu":
            raise ConfigError(f"the fast engine runs on a CPU, and the model is on {self.device}")
        self.is_fast = engine != "textbook" and self.device.type == "cpu"
        wanted = "float32" if precision == "auto" and not self.is_fast else precision
        self.precision = resolve_precision(wanted)
        if self.precision != "float32" and not self.is_fast:
            raise ConfigError(
                f"precision is {self.precision}; the textbook engine has float32 only"
            )
        self._engine: Engine | None = None
        self._modules = list(self.bilm.modules())  # walking them takes longer than their weights
        self._weights: list[tuple[int, int]] = []
        self.cache = WordCache(
            self.bilm.config.lstm.projection_dim, cache_words, word_vectors, self.device
        )

    @property
    def engine(self) -> Engine:
        """What runs the network; rebuilt when its weights have changed, as in training."""
        weights = [
            (id(weight), 0 if weight.is_inference() else weight._version)
            for module in self._modules
            for weight in module._parameters.values()
            if weight is not None
        ]
        if self._engine is None or weights != self._weights:
            with torch.inference_mode(False), torch.no_grad():
                self._engine = (
                    FastEngine(self.bilm, self.precision)
                    if self.is_fast
                    else TextbookEngine(self.bilm, self.max_batch_tokens)
                )
            self._weights = weights
            self.cache.clear()
        return self._engine

    def token_vectors(self, words: Sequence[str], engine: Engine | None = None) -> Tensor:
        """Return the context-free vectors of distinct words, (words, p)."""
        engine = engine or self.engine

        def encode(new: list[str]) -> Tensor:
            return engine.token_vectors(torch.from_numpy(self.encoder.encode(new)).to(self.device))

        return self.cache.vectors(words, encode)

    def read(
        self, texts: Sequence[Sequence[str]], carried: CarriedState | None = None
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield (place, layers (L + 1, T, D)) for each text, sentence marks included.

        They come in the order of the batches, not of the texts. The layers are a view of their
        batch.
        """
        lengths = [len(text) + 2 for text in texts]
        for batch in token_budget_batches(lengths, self.max_batch_tokens):
            layers = self._read_batch([texts[i] for i in batch], batch, carried)
            start = 0
            for i in batch:
                yield i, layers[:, start : start + lengths[i]]
                start += lengths[i]

    @torch.inference_mode()
    def _read_batch(
        self, texts: list[Sequence[str]], rows: list[int], carried: CarriedState | None
    ) -> Tensor:
        tokens = [word for text in texts for word in (BEGIN_SENTENCE, *text, END_SENTENCE)]
        distinct = {word: n for n, word in enumerate(dict.fromkeys(tokens))}
        engine = self.engine
        vectors = self.token_vectors(list(distinct), engine)
        sentences = PackedSentences(
            words=torch.tensor([distinct[word] for word in tokens], device=self.device),
            lengths=[len(text) + 2 for text in texts],
        )
        if carried is None:
            return engine.read(vectors, sentences, None).layers
        stacks = (self.bilm.forward_lstm, self.bilm.backward_lstm)
        zero = BiLMState(*(stack.zero_state(1, vectors) for stack in stacks))
        output = engine.read(vectors, sentences, carried.of(rows, zero))
        carried.update(rows, output.state)
        return output.layers

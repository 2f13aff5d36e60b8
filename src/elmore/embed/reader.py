"""Words in, layers out: the one loop that runs the biLM over texts.

Texts of similar length are read together, up to a budget of tokens; within a batch each distinct
word is spelled and convolved once. What comes out does not depend on the batch: every text starts
from the zero state unless a carried state is given.

Shapes: B texts, T tokens (sentence marks included), L+1 layers, p projection_dim, D = 2p.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.embed.batching import token_budget_batches
from elmore.errors import ConfigError
from elmore.formats import Pretrained
from elmore.model import BiLMState, LstmState
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, Vocab

# Words convolved at once: 2,048 filters over 50 characters are 0.4 MB a word until they are pooled.
_MAX_WORDS = 256


@dataclass(frozen=True)
class CachedWords:
    """Token vectors that are known already: word i of the vocabulary has row i, (V, p)."""

    vocab: Vocab
    vectors: Tensor


class CarriedState:
    """The LSTM state of each row, kept from one batch to the next. Rows start at zero."""

    def __init__(self) -> None:
        self._rows: dict[int, BiLMState] = {}

    def of(self, rows: Sequence[int], zero: BiLMState) -> BiLMState:
        """Return the state of these rows as one batch; `zero` is a batch of one unread row."""
        return _join([self._rows.get(row, zero) for row in rows])

    def update(self, rows: Sequence[int], state: BiLMState) -> None:
        """Remember what these rows hold now; other rows keep what they have."""
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
    """Runs a model over texts of words."""

    def __init__(
        self, model: Pretrained, max_batch_tokens: int, cached: CachedWords | None = None
    ) -> None:
        if max_batch_tokens < 1:
            raise ConfigError(f"max_batch_tokens is {max_batch_tokens}; expected at least 1")
        self.bilm = model.bilm
        self.encoder = model.encoder
        self.max_batch_tokens = max_batch_tokens
        self.cached = cached

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.bilm.parameters()).device

    @torch.no_grad()
    def token_vectors(self, words: Sequence[str]) -> Tensor:
        """Return the context-free vectors of words, (words, p), cached or by their letters."""
        rows = [self.cached.vocab.get(word) if self.cached else None for word in words]
        vectors = torch.empty(len(words), self.bilm.config.lstm.projection_dim, device=self.device)
        if self.cached:
            known = [i for i, row in enumerate(rows) if row is not None]
            vectors[known] = self.cached.vectors[[row for row in rows if row is not None]]
        spelled = [i for i, row in enumerate(rows) if row is None]
        for start in range(0, len(spelled), _MAX_WORDS):
            chunk = spelled[start : start + _MAX_WORDS]
            ids = torch.from_numpy(self.encoder.encode([words[i] for i in chunk]))
            vectors[chunk] = self.bilm.token_encoder(ids.to(self.device))
        return vectors

    def read(
        self, texts: Sequence[Sequence[str]], carried: CarriedState | None = None
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield (place, layers (L + 1, T, D)) for each text, sentence marks included.

        The order is that of the work, not of the texts. The layers are a view of their batch.
        """
        lengths = [len(text) + 2 for text in texts]
        for batch in token_budget_batches(lengths, self.max_batch_tokens):
            marked = [[BEGIN_SENTENCE, *texts[i], END_SENTENCE] for i in batch]
            layers = self._read_batch(marked, batch, carried)
            for place, i in enumerate(batch):
                yield i, layers[:, place, : lengths[i]]

    @torch.no_grad()
    def _read_batch(
        self, marked: list[list[str]], rows: list[int], carried: CarriedState | None
    ) -> Tensor:
        distinct = {
            word: n for n, word in enumerate(dict.fromkeys(w for text in marked for w in text))
        }
        width = max(map(len, marked))
        places = torch.zeros(len(marked), width, dtype=torch.long)
        mask = torch.zeros(len(marked), width, dtype=torch.bool)
        for row, text in enumerate(marked):
            places[row, : len(text)] = torch.tensor([distinct[word] for word in text])
            mask[row, : len(text)] = True
        vectors = self.token_vectors(list(distinct))[places.to(self.device)]
        state = None
        if carried is not None:
            stacks = (self.bilm.forward_lstm, self.bilm.backward_lstm)
            state = carried.of(rows, BiLMState(*(s.zero_state(1, vectors) for s in stacks)))
        output = self.bilm.contextualize(
            vectors, mask.to(self.device), state, max_steps=self.max_batch_tokens
        )
        if carried is not None:
            carried.update(rows, output.state)
        return output.layers


def _join(states: Sequence[BiLMState]) -> BiLMState:
    """Lay the states of single rows side by side."""
    return BiLMState(
        *(
            LstmState(torch.cat([s.h for s in side], dim=1), torch.cat([s.c for s in side], dim=1))
            for side in ([s.forward for s in states], [s.backward for s in states])
        )
    )

"""How `Elmo` runs a biLM: words in, all layers of whole sentences out, without gradients.

There are two: `TextbookEngine` is the plain PyTorch network, `FastEngine` (fast.py) the default on
a CPU. Tests hold them equal.

Shapes: W distinct words, B sentences, N tokens of all sentences together (marks included), C
characters, L layers, p projection_dim, D = 2p.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from elmore.model.bilm import BiLM, BiLMState


@dataclass(frozen=True)
class PackedSentences:
    """Sentences one after the other, longest first."""

    words: Tensor
    """(N,) the index of each token's distinct word."""
    lengths: list[int]
    """(B,) tokens of each sentence."""


@dataclass(frozen=True)
class EngineOutput:
    """All layers of some sentences."""

    layers: Tensor
    """(L + 1, N, D), the tokens in the order of the sentences."""
    state: BiLMState
    """The state after each sentence."""


# Words convolved at once: 2,048 filters over 50 characters take 0.4 MB a word before pooling.
_MAX_WORDS = 256


class Engine(Protocol):
    """Runs a biLM."""

    def token_vectors(self, token_ids: Tensor) -> Tensor:
        """Return the context-free vectors (W, p) of words with these ids (W, n_ids)."""
        ...

    def read(
        self, word_vectors: Tensor, sentences: PackedSentences, state: BiLMState | None
    ) -> EngineOutput:
        """Read sentences whose distinct words have these vectors (W, p), from zero or a state."""
        ...


class TextbookEngine:
    """The network itself: padded batches, one cell at a time, every character convolved."""

    def __init__(self, bilm: BiLM, max_steps: int) -> None:
        self.bilm = bilm
        self.max_steps = max_steps

    @torch.no_grad()
    def token_vectors(self, token_ids: Tensor) -> Tensor:
        """Encode words."""
        starts = range(0, max(1, len(token_ids)), _MAX_WORDS)
        return torch.cat([self.bilm.token_encoder(token_ids[i : i + _MAX_WORDS]) for i in starts])

    @torch.no_grad()
    def read(
        self, word_vectors: Tensor, sentences: PackedSentences, state: BiLMState | None
    ) -> EngineOutput:
        """Read sentences as one padded batch."""
        rows = word_vectors[sentences.words].split_with_sizes(sentences.lengths)
        padded = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
        lengths = torch.tensor(sentences.lengths, device=padded.device)
        mask = torch.arange(padded.shape[1], device=padded.device) < lengths[:, None]
        output = self.bilm.contextualize(padded, mask, state, max_steps=self.max_steps)
        return EngineOutput(output.layers[:, mask], output.state)

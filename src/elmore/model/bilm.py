"""Token ids in, every layer of the bidirectional language model out.

Two LSTM stacks read the same token vectors, one from the left and one from the right. They share
the token encoder and the softmax and never see each other's states.

Shapes: B sentences, T tokens (sentence marks included), C characters, L layers, p projection_dim,
D = 2p. `mask` (B, T) is true at real tokens; padding is at the end of a row.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from elmore.bilm_config import BiLMConfig
from elmore.errors import DataError
from elmore.initial_weights import drawn_arrays
from elmore.kernels.library import Arrays
from elmore.model.lstm import LstmStack, LstmState
from elmore.model.softmax import Softmax
from elmore.model.token_encoder import TokenEncoder


@dataclass(frozen=True)
class BiLMState:
    """The LSTM states of both directions, to be carried from one batch into the next."""

    forward: LstmState
    """Of the forward direction, after each sentence's last token."""
    backward: LstmState
    """Of the backward direction, after each sentence's first token."""


@dataclass(frozen=True)
class BiLMOutput:
    """The output of the network for a batch."""

    layers: Tensor
    """(L + 1, B, T, D). Layer 0 is the token vector twice, layer l is [forward; backward]."""
    mask: Tensor
    """(B, T), true at real tokens; the layers are zero elsewhere."""
    state: BiLMState
    """The state after the batch, to carry into the next one if wanted."""


class BiLM(nn.Module):
    """The bidirectional language model."""

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.config = config
        p = config.lstm.projection_dim
        self.token_encoder = TokenEncoder(config.token_encoder, p)
        self.forward_lstm = LstmStack(config.lstm)
        self.backward_lstm = LstmStack(config.lstm)
        self.softmax = (
            None if config.n_softmax_words is None else Softmax(config.n_softmax_words, p)
        )
        if not next(self.parameters()).is_meta:
            random = np.random.default_rng(int(torch.randint(2**62, ())))
            drawn = drawn_arrays(config, random)
            self.load_state_dict({name: torch.from_numpy(array) for name, array in drawn.items()})

    @classmethod
    def from_arrays(cls, config: BiLMConfig, arrays: Arrays) -> "BiLM":
        """Make a frozen network of a model's arrays, which are copied into float32.

        Nothing is drawn at random on the way.
        """
        with torch.device("meta"):
            bilm = cls(config)
        owned = {
            name: torch.empty(array.shape, dtype=torch.float32, device="cpu")
            for name, array in arrays.items()
        }
        for name, tensor in owned.items():
            tensor.numpy()[...] = arrays[name]
        bilm.load_state_dict(owned, assign=True)
        return bilm.requires_grad_(False).eval()

    @property
    def arrays(self) -> Arrays:
        """The weights as NumPy arrays; on a CPU they share the network's memory."""
        return {name: weight.numpy(force=True) for name, weight in self.state_dict().items()}

    def forward(
        self, token_ids: Tensor, mask: Tensor | None = None, state: BiLMState | None = None
    ) -> BiLMOutput:
        """Read a batch of sentences.

        `token_ids` is (B, T, n_ids), the characters and the word of each token, as
        `TokenEncoderConfig` says. Rows that are all 0 are padding.
        """
        if mask is None:
            mask = (token_ids > 0).any(dim=2)
        return self.contextualize(self.token_encoder(token_ids), mask, state)

    def contextualize(
        self,
        token_vectors: Tensor,
        mask: Tensor,
        state: BiLMState | None = None,
        *,
        max_steps: int | None = None,
    ) -> BiLMOutput:
        """Read a batch whose tokens are vectors (B, T, p) already.

        With `max_steps`, a long batch is read in pieces of so many tokens, each direction carrying
        its state from piece to piece: the same layers, with the working memory of one piece.
        """
        lengths = checked_lengths(mask, token_vectors)
        start = (state.forward, state.backward) if state else (None, None)
        forward, forward_state = self.forward_lstm.read(token_vectors, mask, start[0], max_steps)
        reverse = reversal(lengths, mask.shape[1])
        backward, backward_state = self.backward_lstm.read(
            _take_tokens(token_vectors, reverse), mask, start[1], max_steps
        )
        backward = _take_tokens(backward, reverse)
        layers = torch.cat(
            [
                torch.cat([token_vectors[None], forward]),
                torch.cat([token_vectors[None], backward]),
            ],
            dim=3,
        )
        layers.masked_fill_(~mask[None, :, :, None], 0.0)
        return BiLMOutput(layers, mask, BiLMState(forward_state, backward_state))


def checked_lengths(mask: Tensor, tokens: Tensor) -> Tensor:
    """Return the lengths (B,) that the mask of tokens (B, T, n) says; refuse one that is wrong."""
    if mask.dtype != torch.bool or mask.shape != tokens.shape[:2]:
        raise DataError(
            f"the mask is {mask.dtype} of shape {tuple(mask.shape)}; "
            f"expected torch.bool of shape {tuple(tokens.shape[:2])}"
        )
    lengths: Tensor = mask.sum(dim=1)
    if not torch.equal(mask, prefix_mask(lengths, mask.shape[1])):
        raise DataError("the mask has padding before a token; padding must end each row")
    return lengths


def reversal(lengths: Tensor, width: int) -> Tensor:
    """Return the positions (B, T) that reverse each sentence by its true length."""
    places = torch.arange(width, device=lengths.device).expand(len(lengths), width)
    return torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)


def _take_tokens(vectors: Tensor, places: Tensor) -> Tensor:
    """Return the vectors (..., B, T, p) with the tokens in the order of `places` (B, T)."""
    return vectors.gather(-2, places[:, :, None].expand_as(vectors))


def prefix_mask(lengths: Tensor, width: int) -> Tensor:
    """Return the mask (B, T) of sentences of these lengths."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]

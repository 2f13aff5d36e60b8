"""Token vectors in, one direction's LSTM layers out, always left to right.

The cell is TensorFlow's, clips included, in the letters of the paper. Padding does not change the
state, so that the state after a batch is the state after each sentence's own last token.

Shapes: B sentences, T tokens, L layers, p projection_dim, c cell_dim.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.bilm_config import LstmConfig


@dataclass(frozen=True)
class LstmState:
    """The state of one direction after a token."""

    h: Tensor
    """The output, (L, B, p)."""
    c: Tensor
    """The cell state, (L, B, c)."""


class LstmLayer(nn.Module):
    """One layer of projected, clipped LSTM cells."""

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        p, c = config.projection_dim, config.cell_dim
        self.cell_clip = config.cell_clip
        self.projection_clip = config.projection_clip
        self.forget_bias = config.forget_bias
        self.input_weight = nn.Parameter(torch.empty(4 * c, p))  # gates in the order i, f, g, o
        self.recurrent_weight = nn.Parameter(torch.empty(4 * c, p))
        self.bias = nn.Parameter(torch.empty(4 * c))
        self.projection = nn.Parameter(torch.empty(p, c)) if config.has_projection else None

    def forward(
        self, x: Tensor, mask: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read x (B, T, p) from the state h (B, p), c (B, c); return the outputs and the state."""
        outputs = []
        for x_t, real in zip(x.unbind(1), mask.unsqueeze(2).unbind(1), strict=True):
            h_t, c_t = self.step(x_t, h, c)
            h, c = torch.where(real, h_t, h), torch.where(real, c_t, c)
            outputs.append(h_t)
        return torch.stack(outputs, dim=1), h, c

    def step(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Read one token of each sentence, x (B, p)."""
        gates = F.linear(x, self.input_weight, self.bias) + F.linear(h, self.recurrent_weight)
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f + self.forget_bias) * c + torch.sigmoid(i) * torch.tanh(g)
        if self.cell_clip is not None:
            c = c.clamp(-self.cell_clip, self.cell_clip)
        h = torch.sigmoid(o) * torch.tanh(c)
        if self.projection is not None:
            h = F.linear(h, self.projection)
            if self.projection_clip is not None:  # TensorFlow clips only what it projects
                h = h.clamp(-self.projection_clip, self.projection_clip)
        return h, c


class LstmStack(nn.Module):
    """All layers of one direction."""

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(LstmLayer(config) for _ in range(config.n_layers))

    def zero_state(self, n_sentences: int, like: Tensor) -> LstmState:
        """Return the initial state of `n_sentences`."""
        n = (self.config.n_layers, n_sentences)
        return LstmState(
            like.new_zeros(*n, self.config.projection_dim), like.new_zeros(*n, self.config.cell_dim)
        )

    def forward(self, x: Tensor, mask: Tensor, state: LstmState) -> tuple[Tensor, LstmState]:
        """Read x (B, T, p) where mask (B, T) is true; return layers (L, B, T, p) and the state."""
        outputs, hs, cs = [], [], []
        for depth, layer in enumerate(self.layers):
            y, h, c = layer(x, mask, state.h[depth], state.c[depth])
            # The skip connection is outside the recurrence: h stays unsummed.
            x = x + y if self.config.skip_connections and depth > 0 else y
            outputs.append(x)
            hs.append(h)
            cs.append(c)
        return torch.stack(outputs), LstmState(torch.stack(hs), torch.stack(cs))

    def read(
        self, x: Tensor, mask: Tensor, state: LstmState | None, max_steps: int | None
    ) -> tuple[Tensor, LstmState]:
        """Do as `forward` does, at most `max_steps` tokens at a time."""
        width = x.shape[1]
        step = max_steps or max(width, 1)
        state = state or self.zero_state(x.shape[0], x)
        pieces = []
        for start in range(0, width, step):
            piece = slice(start, start + step)
            layers, state = self(x[:, piece], mask[:, piece], state)
            pieces.append(layers)
        return torch.cat(pieces, dim=2), state

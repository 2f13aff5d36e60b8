"""Character ids in, one vector per word out.

Shapes: N words, C characters, d char_dim, F all filters.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.bilm_config import CharCnnConfig


def empty_embedding(n_rows: int, dim: int, padding_idx: int | None = None) -> nn.Embedding:
    """Return a table with uninitialized weights: drawing them on the meta device takes 2 s."""
    return nn.Embedding(n_rows, dim, padding_idx=padding_idx, _weight=torch.empty(n_rows, dim))


class Highway(nn.Module):
    """One highway layer, (N, F) -> (N, F)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(
            dim, dim
        )  # "carry" in published files, though it is the transform gate
        self.transform = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Gate between each value and its transformation."""
        g = torch.sigmoid(self.gate(x))
        # relu, even where the convolutions have tanh
        return g * F.relu(self.transform(x)) + (1 - g) * x


class CharCnn(nn.Module):
    """Words as characters, (N, C) ids -> (N, F) vectors."""

    def __init__(self, config: CharCnnConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.embedding = empty_embedding(config.n_characters, config.char_dim, padding_idx=0)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.char_dim, number, width) for width, number in config.filters
        )
        self.highways = nn.ModuleList(Highway(config.n_filters) for _ in range(config.n_highway))

    def forward(self, char_ids: Tensor) -> Tensor:
        """Encode words; any leading dimensions will do, (..., C) -> (..., F)."""
        words = char_ids.reshape(-1, char_ids.shape[-1])
        characters = self.embedding(words).transpose(1, 2)  # (N, d, C)
        # Padding characters are convolved like any other; the maximum comes before the activation.
        features = [convolution(characters).amax(dim=2) for convolution in self.convolutions]
        x = torch.cat(features, dim=1)  # (N, F)
        x = F.relu(x) if self.activation == "relu" else torch.tanh(x)
        for highway in self.highways:
            x = highway(x)
        return x.reshape(*char_ids.shape[:-1], x.shape[-1])

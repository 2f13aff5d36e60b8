"""A frozen network on a CPU, run by the kernels: tensors in and out, without gradients.

Shapes: B sentences, T tokens (sentence marks included), N real tokens, L layers, D dim.
"""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elmore.engine.network import Network, Sentences
from elmore.errors import DataError
from elmore.model.bilm import BiLM, prefix_mask


class FrozenBiLM:
    """Runs a `BiLM` that takes no gradient; its weights are packed anew when they have changed."""

    def __init__(self, bilm: BiLM) -> None:
        self.bilm = bilm
        self._network: Network | None = None
        self._weights: list[tuple[int, int]] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "FrozenBiLM":
        return type(self)(deepcopy(self.bilm, memo))

    def __getstate__(self) -> dict[str, Any]:
        return {"bilm": self.bilm, "_network": None, "_weights": []}

    @property
    def is_possible(self) -> bool:
        """Whether the kernels can do it: on a CPU, in float32, where nothing learns."""
        return all(
            not weight.requires_grad
            and weight.device.type == "cpu"
            and weight.dtype == torch.float32
            for weight in self.bilm.parameters()
        )

    def layers(self, token_ids: Tensor, mask: Tensor) -> Tensor:
        """Return all layers, (L + 1, B, T, D), 0 at padding."""
        lengths = mask.sum(dim=1)
        if not torch.equal(mask, prefix_mask(lengths, mask.shape[1])):
            raise DataError("the mask has padding before a token; padding must end each row")
        network = self._current()
        longest_first = np.argsort(-lengths.numpy(), kind="stable")
        rows, columns = np.nonzero(mask.numpy()[longest_first])
        rows = longest_first[rows]
        words, places = np.unique(token_ids.numpy()[rows, columns], axis=0, return_inverse=True)
        n_tokens = lengths.numpy()[longest_first]
        sentences = Sentences(places.reshape(-1).astype(np.int32), n_tokens[n_tokens > 0])
        p, L = network.config.lstm.projection_dim, network.config.lstm.n_layers
        layers = np.zeros((L + 1, *mask.shape, 2 * p), np.float32)
        if len(words):
            output = network.read(network.token_vectors(words), sentences)
            layers[:, rows, columns] = output.layers
        return torch.from_numpy(layers)

    def _current(self) -> Network:
        weights = [(id(weight), weight._version) for weight in self.bilm.parameters()]
        if self._network is None or weights != self._weights:
            self._network = Network(self.bilm.config, self.bilm.arrays)
            self._weights = weights
        return self._network

"""A frozen network on a CPU, run by the kernels: tensors in and out, without gradients.

Shapes: B sentences, T tokens (sentence marks included), L layers, D dim.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elmore.engine.network import Network, Sentences
from elmore.errors import DataError
from elmore.model.bilm import BiLM, checked_lengths


class FrozenRunner:
    """Runs a `BiLM` that takes no gradient; its weights are packed again when they have changed.

    A change through `weight.data` in its place is not noticed, as autograd does not notice it.
    """

    def __init__(self) -> None:
        self._network: Network | None = None
        self._weights: list[Tensor] = []  # held, as a new one may get the id of one that went
        self._versions: list[tuple[int, int, int]] = []

    def __reduce__(self) -> Any:
        return type(self), ()  # a copy packs the weights of a network of its own

    def layers(self, bilm: BiLM, token_ids: Tensor, mask: Tensor) -> Tensor:
        """Return all layers, (L + 1, B, T, D), 0 at padding."""
        lengths = checked_lengths(mask, token_ids).numpy()
        network = self._current(bilm)
        longest_first = np.argsort(-lengths, kind="stable")
        rows, columns = np.nonzero(mask.numpy()[longest_first])
        rows = longest_first[rows]
        words, places = np.unique(token_ids.numpy()[rows, columns], axis=0, return_inverse=True)
        n_tokens = lengths[longest_first]
        sentences = Sentences(places.reshape(-1).astype(np.int32), n_tokens[n_tokens > 0])
        p, L = network.config.lstm.projection_dim, network.config.lstm.n_layers
        layers = np.zeros((L + 1, *mask.shape, 2 * p), np.float32)
        if len(words):
            output = network.read(network.token_vectors(words), sentences)
            layers[:, rows, columns] = output.layers
        return torch.from_numpy(layers)

    def _current(self, bilm: BiLM) -> Network:
        versions = [(id(one), one.data_ptr(), one._version) for one in bilm.parameters()]
        if self._network is None or versions != self._versions:
            for name, one in bilm.named_parameters():
                if not one.isfinite().all():  # of which the kernels' bounds would make numbers
                    raise DataError(f"the weight {name} of the network is not finite")
            self._network = Network(bilm.config, bilm.arrays)
            self._weights, self._versions = list(bilm.parameters()), versions
        return self._network


def kernels_can_run(bilm: BiLM) -> bool:
    """Return whether nothing learns, on a CPU, in float32."""
    return all(
        not weight.requires_grad
        and weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and not weight.is_inference()  # such have no version, so that changes could not be noticed
        for weight in bilm.parameters()
    )

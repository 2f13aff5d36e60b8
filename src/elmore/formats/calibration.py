"""Layers of some text in, the mean and the deviation of each dimension out, and their file.

Cosines of raw LSTM states crowd together, because a few dimensions are large in every word's
vector. With their mean taken off and divided by their deviation, all dimensions count alike. A
model folder may hold these in calibration.safetensors; the vectors themselves are never changed
unless a caller asks.

Shapes: L+1 layers, T tokens, D dim (half of it for "expected").
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import save_file
from torch import Tensor

from elmore.bilm_config import BiLMConfig
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import shared_mode
from elmore.formats.arrays import check_arrays
from elmore.formats.safetensors_files import read_safetensors, sort_header
from elmore.metadata import convert_metadata, parse_json
from elmore.model.context import context_states, expected_states

CALIBRATION = "calibration.safetensors"
FORMAT: Literal["elmore-calibration-1"] = "elmore-calibration-1"
_AGAIN = "calibrate the model again, or copy the file again"

Layer = int | Literal["context", "expected"]
Floats = npt.NDArray[np.float32]


class _Header(msgspec.Struct, frozen=True):
    """What the header of the file says."""

    format: Literal["elmore-calibration-1"]
    facts: str


class _Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON in the header: what was measured."""

    n_tokens: Annotated[int, msgspec.Meta(ge=2)]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Calibration:
    """The mean and standard deviation of each dimension of each layer over some text."""

    means: Mapping[Layer, Floats]
    """(D,) for the layers 0 to L, "context" and "expected"."""
    deviations: Mapping[Layer, Floats]
    """(D,), 1 where a dimension never changes."""
    n_tokens: int
    """Of the text they were measured on."""
    texts: tuple[str, ...] = ()
    """What that text was: the names of its files."""

    def fingerprint(self) -> str:
        """Return a hash of the means and deviations."""
        digest = hashlib.sha256()
        for layer, mean in self.means.items():
            digest.update(f"{layer}".encode() + mean.tobytes() + self.deviations[layer].tobytes())
        return digest.hexdigest()

    @property
    def _top(self) -> int:
        return len(self.means) - 3  # "context" and "expected" follow the numbered ones

    def check_layer(self, layer: object) -> None:
        """Refuse what has no mean and deviation: the mix, and layers that there are not."""
        if layer not in ("top", "all") and layer not in self.means:
            raise ConfigError(
                f"layers is {layer!r}, which has no calibration; expected top, all, context, "
                f"expected, or a number from 0 to {self._top}"
            )

    def standardize(self, vectors: Any, layer: Layer | Literal["top", "all"]) -> Any:
        """Return vectors (..., D) of a layer with mean 0 and deviation 1 in each dimension.

        They may be an array or a tensor; for "all" they are (L + 1, ..., D).
        """
        if layer == "all":
            found = [self.standardize(one, number) for number, one in enumerate(vectors)]
            return torch.stack(found) if isinstance(vectors, Tensor) else np.stack(found)
        self.check_layer(layer)
        key: Any = self._top if layer == "top" else layer
        mean, deviation = self.means[key], self.deviations[key]
        if isinstance(vectors, Tensor):
            on = vectors.device
            return (vectors - torch.from_numpy(mean).to(on)) / torch.from_numpy(deviation).to(on)
        return (np.asarray(vectors, np.float32) - mean) / deviation


def measure_calibration(readings: Iterable[Tensor], texts: Iterable[str] = ()) -> Calibration:
    """Measure the layers of texts, each (L + 1, T + 2, D) with its sentence marks.

    `texts` says what they are of.
    """
    n_tokens = 0
    sums: dict[Layer, Tensor] = {}
    for layers in readings:
        by_layer: dict[Layer, Tensor] = dict(enumerate(layers[:, 1:-1]))
        by_layer["context"] = context_states(layers[-1])[1:-1]
        by_layer["expected"] = expected_states(layers[-1])[1:-1]
        for layer, vectors in by_layer.items():
            exact = vectors.double()
            found = torch.stack([exact.sum(dim=0), exact.square().sum(dim=0)])
            sums[layer] = sums[layer] + found if layer in sums else found
        n_tokens += layers.shape[1] - 2
    if n_tokens < 2:
        raise DataError(f"the text has {n_tokens} words; give some thousands to calibrate on")
    means, deviations = {}, {}
    for layer, (first, second) in sums.items():
        mean = first / n_tokens
        deviation = (second / n_tokens - mean.square()).clamp(min=0).sqrt()
        deviation[deviation < 1e-6] = 1.0
        means[layer] = mean.float().numpy(force=True)
        deviations[layer] = deviation.float().numpy(force=True)
    return Calibration(means, deviations, n_tokens, tuple(texts))


def write_calibration(calibration: Calibration, folder: Path) -> None:
    """Write the file of a model folder."""
    tensors = {f"{layer}.mean": mean for layer, mean in calibration.means.items()}
    tensors |= {f"{layer}.deviation": one for layer, one in calibration.deviations.items()}
    facts = msgspec.json.encode(_Facts(calibration.n_tokens, calibration.texts)).decode()
    header = msgspec.structs.asdict(_Header(FORMAT, facts))
    try:
        save_file(tensors, folder / CALIBRATION, header)
        sort_header(folder / CALIBRATION)
        shared_mode(folder / CALIBRATION)  # safetensors makes it private
    except SafetensorError as error:  # such as a full disk
        raise OSError(f"{folder / CALIBRATION} cannot be written: {error}") from None


def read_calibration(folder: Path, config: BiLMConfig) -> Calibration | None:
    """Read the file of a model folder, strictly; None if there is none."""
    path = folder / CALIBRATION
    if not path.exists():
        return None
    header, tensors = read_safetensors(path, "np")
    said = convert_metadata(header, _Header, path, fix=_AGAIN)
    facts = convert_metadata(parse_json(said.facts.encode(), path), _Facts, path, fix=_AGAIN)
    dims: dict[Layer, int] = dict.fromkeys(range(config.lstm.n_layers + 1), config.dim)
    dims |= {"context": config.dim, "expected": config.lstm.projection_dim}
    check_arrays(
        {name: tensor.shape for name, tensor in tensors.items()},
        {
            f"{layer}.{what}": (dim,)
            for layer, dim in dims.items()
            for what in ("mean", "deviation")
        },
        path,
    )
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all() or (name.endswith(".deviation") and (tensor <= 0).any()):
            raise FormatError(f"{path}: {name} has numbers that it cannot have; {_AGAIN}")
    return Calibration(
        {layer: tensors[f"{layer}.mean"] for layer in dims},
        {layer: tensors[f"{layer}.deviation"] for layer in dims},
        facts.n_tokens,
        facts.texts,
    )

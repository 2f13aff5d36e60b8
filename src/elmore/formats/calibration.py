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
from safetensors import SafetensorError
from safetensors.numpy import save_file

from elmore.bilm_config import BiLMConfig
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import shared_mode
from elmore.formats.arrays import check_arrays, shapes_of
from elmore.formats.safetensors_files import parse_safetensors, sort_header
from elmore.metadata import convert_metadata, parse_json

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

    def standardize(self, vectors: Floats, layer: Layer | Literal["top", "all"]) -> Floats:
        """Return vectors (..., D) of a layer with mean 0 and deviation 1 in each dimension.

        For "all" they are (L + 1, ..., D).
        """
        if layer == "all":
            return np.stack([self.standardize(one, number) for number, one in enumerate(vectors)])
        self.check_layer(layer)
        key: Any = self._top if layer == "top" else layer
        return (np.asarray(vectors, np.float32) - self.means[key]) / self.deviations[key]


def measure_calibration(readings: Iterable[Floats], texts: Iterable[str] = ()) -> Calibration:
    """Measure the layers of texts, each (L + 1, T + 2, D) with its sentence marks.

    `texts` says what they are of.
    """
    n_tokens = 0
    sums: dict[Layer, npt.NDArray[np.float64]] = {}
    for layers in readings:
        by_layer: dict[Layer, Floats] = dict(enumerate(layers[:, 1:-1]))
        p = layers.shape[2] // 2
        before, after = layers[-1, :-2, :p], layers[-1, 2:, p:]  # the states that predict a word
        by_layer["context"] = np.concatenate([before, after], axis=1)
        by_layer["expected"] = before + after
        for layer, vectors in by_layer.items():
            exact = vectors.astype(np.float64)
            found = np.stack([exact.sum(axis=0), np.square(exact).sum(axis=0)])
            sums[layer] = sums[layer] + found if layer in sums else found
        n_tokens += layers.shape[1] - 2
    if n_tokens < 2:
        raise DataError(f"the text has {n_tokens} words; give some thousands to calibrate on")
    means, deviations = {}, {}
    for layer, (first, second) in sums.items():
        mean = first / n_tokens
        deviation = np.sqrt(np.maximum(second / n_tokens - np.square(mean), 0))
        deviation[deviation < 1e-6] = 1.0
        means[layer] = mean.astype(np.float32)
        deviations[layer] = deviation.astype(np.float32)
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


def parse_calibration(content: bytes, path: Path, config: BiLMConfig) -> Calibration:
    """Return what the bytes of the file of a model folder hold, strictly."""
    header, tensors = parse_safetensors(content, path)
    said = convert_metadata(header, _Header, path, fix=_AGAIN)
    facts = convert_metadata(parse_json(said.facts.encode(), path), _Facts, path, fix=_AGAIN)
    dims: dict[Layer, int] = dict.fromkeys(range(config.lstm.n_layers + 1), config.dim)
    dims |= {"context": config.dim, "expected": config.lstm.projection_dim}
    check_arrays(
        shapes_of(tensors),
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

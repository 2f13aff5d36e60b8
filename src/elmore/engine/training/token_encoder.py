"""The token encoder in training: characters and rows of the word table in, a vector per word out.

Only the rows of the word table that an update touches have a gradient. Word dropout leaves the rows
of some words out of a window, so that the char CNN learns to do without them, as it must for words
outside the table.

Shapes: W distinct words of a window, V rows of the table, U rows that an update touches, w their
dimensions, F filters, p projection_dim.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import TokenEncoderConfig
from elmore.engine.parallel import Job, run_all
from elmore.engine.training.char_cnn import CharCnnTraining
from elmore.engine.training.linear import LinearTraining, slices
from elmore.kernels.gradients import Rows, add_rows
from elmore.kernels.library import Array, Floats

_NAME = "token_encoder"


@dataclass(frozen=True)
class RowGradient:
    """The gradient of some rows of a weight."""

    rows: Rows | None
    """(U,) the rows, all distinct; None for all rows in order."""
    values: Floats
    """(U, …) the gradient of each."""


def touched_rows(numbers: Sequence[Array], kept: Sequence[npt.NDArray[np.bool_]]) -> Rows:
    """Return the rows of the word table that an update touches; see `begin_update`."""
    is_touched = np.zeros_like(kept[0])
    for some, kept_rows in zip(numbers, kept, strict=True):
        is_touched[some[some > 0] - 1] |= kept_rows[some[some > 0] - 1]
    return np.flatnonzero(is_touched).astype(np.int32)


class TokenEncoderTraining:
    """A token encoder that reads characters, with its gradients."""

    def __init__(
        self,
        config: TokenEncoderConfig,
        arrays: Mapping[str, Floats],
        *,
        bfloat16: bool = False,
    ) -> None:
        assert config.chars is not None
        self.adds = config.combine == "add"
        self.has_words = config.words is not None
        self.char_cnn = CharCnnTraining(
            arrays, f"{_NAME}.char_cnn", activation=config.chars.activation, bfloat16=bfloat16
        )
        self.table = arrays[f"{_NAME}.words.weight"] if self.has_words else np.empty((0, 0), "f4")
        has_projection = f"{_NAME}.projection.weight" in arrays
        self.projection = (
            LinearTraining(arrays, f"{_NAME}.projection", bfloat16=bfloat16)
            if has_projection
            else None
        )
        self.gradient = RowGradient(np.empty(0, np.int32), np.empty((0, 0), np.float32))

    def pack_jobs(self) -> list[Job]:
        """Return jobs that pack all weights."""
        projection = [] if self.projection is None else [self.projection.pack]
        return [*self.char_cnn.pack_jobs(), *projection]

    def begin_update(self, numbers: Sequence[Array], kept: Sequence[npt.NDArray[np.bool_]]) -> None:
        """Take, for each window, the rows plus 1 of its words and which of all rows are kept.

        They are the words of all processes; a number of 0 is a word outside the table.
        """
        self._kept, rows = kept, touched_rows(numbers, kept)
        self.gradient = RowGradient(rows, np.zeros((len(rows), self.table.shape[1]), np.float32))

    def forward(self, token_ids: Array, place: int) -> Floats:
        """Encode the distinct words of window `place`, (W, n_ids) -> (W, p)."""
        chars = token_ids[:, :-1] if self.has_words else token_ids
        x = self.char_cnn.forward(np.ascontiguousarray(chars, np.int32))
        rows = np.zeros((len(token_ids), self.table.shape[1]), np.float32)
        if self.has_words:
            numbers = token_ids[:, -1].astype(np.int64)
            self._here = np.flatnonzero(numbers)
            self._here = self._here[self._kept[place][numbers[self._here] - 1]]
            self._rows = numbers[self._here] - 1
            rows[self._here] = self.table[self._rows]
        if not self.adds:
            x = np.concatenate([rows, x], axis=1)
        self.x = x
        vectors = x
        if self.projection is not None:
            vectors = np.empty((len(x), len(self.projection.weight)), np.float32)
            run_all([
                partial(self.projection.forward, x[some], vectors[some]) for some in slices(len(x))
            ])  # fmt: skip
        if self.has_words and self.adds:
            vectors = vectors + rows
        return np.ascontiguousarray(vectors)

    def backward(self, dvectors: Floats, gradients: Mapping[str, Floats]) -> None:
        """Add the gradients of all weights that learn, given that of the vectors (W, p)."""
        if self.has_words and self.adds:
            self._add_to_rows(dvectors)
        learns = any(name.startswith(f"{_NAME}.") for name in gradients)
        if not learns and (self.adds or not self.has_words):
            return
        dx = dvectors
        if self.projection is not None:
            dx = np.empty(self.x.shape, np.float32)
            run_all([
                partial(self.projection.backward, dvectors[some], dx[some])
                for some in slices(len(dx))
            ])  # fmt: skip
            run_all(self.projection.weight_jobs(self.x, dvectors, gradients))
        if self.has_words and not self.adds:
            n = self.table.shape[1]
            self._add_to_rows(dx[:, :n])
            dx = dx[:, n:]
        if any(name.startswith(f"{_NAME}.char_cnn.") for name in gradients):
            self.char_cnn.backward(dx, gradients)

    def _add_to_rows(self, drows: Floats) -> None:
        """Add the gradient of the words' rows, (W, w)."""
        assert self.gradient.rows is not None
        places = np.searchsorted(self.gradient.rows, self._rows).astype(np.int32)
        add_rows(self.gradient.values, places, drows[self._here])

"""Ids of words in, their context-free vectors out, by kernels: characters, a table, or both.

Shapes: W words, C characters, p projection_dim.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig
from elmore.engine.char_cnn import CharCnn, Linear
from elmore.engine.parallel import n_threads, run_all
from elmore.errors import DataError
from elmore.kernels.library import Array, Floats

# Words encoded at once: 2,048 filters and their gates take 24 kB a word.
_MAX_WORDS = 256


class TokenEncoder:
    """Encodes words, (W, C + 1) ids -> (W, p)."""

    def __init__(self, config: BiLMConfig, arrays: Mapping[str, Array], *, bfloat16: bool) -> None:
        self.config = encoder = config.token_encoder
        self.projection_dim = config.lstm.projection_dim
        self.char_cnn = None
        if encoder.chars is not None:
            self.char_cnn = CharCnn(
                encoder.chars, arrays, "token_encoder.char_cnn", bfloat16=bfloat16
            )
        self.words = arrays["token_encoder.words.weight"] if encoder.words else None
        self.concatenates = encoder.combine == "concat"
        self.projection = (
            Linear(arrays, "token_encoder.projection", bfloat16=bfloat16)
            if encoder.projected_dim(self.projection_dim)
            else None
        )

    def __call__(self, ids: npt.NDArray[np.integer]) -> Floats:
        """Encode words, on all threads where they are many; refuse ids that a model has not."""
        self._check(ids)
        vectors = np.empty((len(ids), self.projection_dim), np.float32)
        size = min(_MAX_WORDS, max(1, -(-len(ids) // n_threads())))

        def encode(start: int) -> None:
            some = slice(start, start + size)
            vectors[some] = self._encode(ids[some])

        run_all([partial(encode, start) for start in range(0, len(ids), size)])
        return vectors

    def _check(self, ids: npt.NDArray[np.integer]) -> None:
        """Hold ids to their tables: C reads whatever an id says."""
        if ids.ndim != 2 or ids.shape[1] != self.config.n_ids:
            raise DataError(
                f"the ids are of shape {ids.shape}; expected {self.config.n_ids} for each word"
            )
        chars = self.config.chars
        limits = np.full(self.config.n_ids, 0 if chars is None else chars.n_characters)
        if self.config.words is not None:
            limits[-1] = self.config.words.n_words + 1
        wrong = (ids < 0) | (ids >= limits)
        if wrong.any():
            word, column = np.argwhere(wrong)[0]
            raise DataError(
                f"id {ids[word, column]} of a word, at position {column}, is not one of the "
                f"model's; expected 0 to {limits[column] - 1}"
            )

    def _encode(self, ids: npt.NDArray[np.integer]) -> Floats:
        rows = None if self.words is None else self._rows(ids[:, -1])
        if self.char_cnn is None:
            assert rows is not None
            return rows if self.projection is None else self.projection(rows)
        features = self.char_cnn(ids if rows is None else ids[:, :-1])
        if self.concatenates:
            assert self.projection is not None
            parts = [features] if rows is None else [rows, features]
            return self.projection(np.concatenate(parts, axis=1))
        vectors = features if self.projection is None else self.projection(features)
        return vectors if rows is None else vectors + rows

    def _rows(self, numbers: npt.NDArray[np.integer]) -> Floats:
        assert self.words is not None
        rows: Floats = self.words[np.maximum(numbers, 1) - 1].astype(np.float32)
        rows[numbers == 0] = 0.0
        return rows

"""Vectors of texts in, their cosines out."""

from typing import Any

import numpy as np
import numpy.typing as npt


def cosines(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine of each row of `a` with each of `b`, (A, B); of zeros it is 0."""
    found: npt.NDArray[np.float32] = _unit_rows(a) @ _unit_rows(b).T
    return found


def _unit_rows(vectors: npt.NDArray[np.float32]) -> Any:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms == 0, 1, norms)

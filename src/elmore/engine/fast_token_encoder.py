"""The token encoder, with table lookups for its convolutions.

Words are projected a fixed number at a time, for the reason that fast_char_cnn.py gives.

Shapes: N words, F all filters, w dimensions of the word table, p projection_dim.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.fast_char_cnn import PRODUCT_WORDS, FastLinear, TableCnn
from elmore.engine.matmul import Matmul
from elmore.model.token_encoder import TokenEncoder


class FastTokenEncoder:
    """The same vectors as a `TokenEncoder`."""

    def __init__(self, encoder: TokenEncoder, products: Matmul) -> None:
        self.encoder = encoder
        cnn, projection = encoder.char_cnn, encoder.projection
        self.char_cnn = None if cnn is None else TableCnn(cnn, products)
        self.projection = None if projection is None else FastLinear(projection, products)

    @torch.no_grad()
    def __call__(self, token_ids: Tensor) -> Tensor:
        """Encode tokens, (N, n_ids) -> (N, p)."""
        encoder = self.encoder
        rows = None if encoder.words is None else encoder.rows(token_ids)
        features = None
        if self.char_cnn is not None:
            features = self.char_cnn(encoder.char_ids(token_ids))
        if not encoder.adds:
            return self._project(torch.cat([x for x in (rows, features) if x is not None], dim=1))
        if features is None:
            assert rows is not None  # there is one of them
            return rows
        vectors = self._project(features)
        return vectors if rows is None else vectors.add_(rows)

    def _project(self, x: Tensor) -> Tensor:
        if self.projection is None:
            return x
        n_missing = -len(x) % PRODUCT_WORDS
        padded = F.pad(x, (0, 0, 0, n_missing)) if n_missing else x
        starts = range(0, max(1, len(x)), PRODUCT_WORDS)
        vectors = [self.projection(padded[start : start + PRODUCT_WORDS]) for start in starts]
        return torch.cat(vectors)[: len(x)]

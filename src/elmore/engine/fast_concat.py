"""A word embedding and a char CNN, concatenated and projected, with table lookups for the CNN.

Words are projected a fixed number at a time, for the reason that fast_char_cnn.py gives.

Shapes: N words, C characters, p projection_dim.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.fast_char_cnn import PRODUCT_WORDS, FastLinear, TableCnn
from elmore.engine.matmul import Matmul
from elmore.model.concat_encoder import ConcatEncoder


class FastConcat:
    """The same vectors as a `ConcatEncoder`."""

    def __init__(self, encoder: ConcatEncoder, products: Matmul) -> None:
        self.encoder = encoder
        cnn = encoder.char_cnn
        self.char_cnn = None if cnn is None else TableCnn(cnn, products)
        self.projection = FastLinear(encoder.projection, products)

    @torch.no_grad()
    def __call__(self, token_ids: Tensor) -> Tensor:
        """Encode words, (N, C + 1) -> (N, p)."""
        encoder = self.encoder
        parts = [] if encoder.words is None else [encoder.rows(token_ids)]
        if self.char_cnn is not None:
            parts.append(self.char_cnn(encoder.char_ids(token_ids)))
        x = torch.cat(parts, dim=1)
        padded = F.pad(x, (0, 0, 0, -len(x) % PRODUCT_WORDS))
        starts = range(0, max(1, len(x)), PRODUCT_WORDS)
        vectors = [self.projection(padded[start : start + PRODUCT_WORDS]) for start in starts]
        return torch.cat(vectors)[: len(x)]

"""Forward and backward pass of the token encoder in training.

Shapes: W words, C characters, F all filters, w dimensions of the word table, p projection_dim.
"""

import torch
from torch import Tensor

from elmore.engine.char_cnn_grad import CharCnnGrad, add_weight_gradient
from elmore.engine.matmul import Matmul
from elmore.engine.parameters import WeightGradients
from elmore.engine.threads import TwoThreads
from elmore.engine.word_table_grad import WordTableGrad
from elmore.model.token_encoder import TokenEncoder


class TokenEncoderGrad:
    """A token encoder that reads characters, with its gradients.

    Word dropout is for rows that are added to the characters; concatenated ones have none.
    """

    def __init__(
        self, encoder: TokenEncoder, word_dropout: float, products: Matmul, threads: TwoThreads
    ) -> None:
        assert encoder.char_cnn is not None
        self.encoder, self.products = encoder, products
        self.char_cnn = CharCnnGrad(encoder.char_cnn, products, threads)
        dropout = word_dropout if encoder.adds else 0.0
        self.words = None if encoder.words is None else WordTableGrad(encoder.words, dropout)

    def forward(self, token_ids: Tensor, place: int) -> Tensor:
        """Encode the distinct words of window `place`, (W, n_ids) -> (W, p)."""
        x = self.char_cnn.forward(self.encoder.char_ids(token_ids))
        numbers = token_ids[:, -1]
        if self.words is not None and not self.encoder.adds:
            x = torch.cat([self.words.take_rows(numbers), x], dim=1)
        projection = self.encoder.projection
        if projection is None:
            vectors = x
        else:
            self.x = x
            weight = self.products.operand(projection.weight.detach().T)
            vectors = self.products.affine(projection.bias.detach(), x, weight)
        if self.words is not None and self.encoder.adds:
            self.words.add_rows(vectors, numbers, place)
        return vectors

    def backward(
        self, dvectors: Tensor, gradients: WeightGradients, *, frozen_characters: bool
    ) -> None:
        """Add the gradients of all weights, given that of the vectors (W, p)."""
        projection = self.encoder.projection
        if self.words is not None and self.encoder.adds:
            self.words.backward(dvectors)
        if frozen_characters and (self.words is None or self.encoder.adds):
            return
        dx = dvectors
        if projection is not None:
            weight = self.products.operand(projection.weight.detach())
            dx = self.products.write_to(torch.empty_like(self.x), dvectors, weight)
            add_weight_gradient(projection, self.x, dvectors, gradients, self.products)
        if self.words is not None and not self.encoder.adds:
            n = self.words.weight.shape[1]
            self.words.backward(dx[:, :n])
            dx = dx[:, n:]
        if not frozen_characters:
            self.char_cnn.backward(dx, gradients)

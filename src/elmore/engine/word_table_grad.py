"""Forward and backward pass of the word table, whose rows are added to the char CNN's vectors or
concatenated with them.

Only the rows that an update touches have a gradient. Word dropout leaves the rows of some words out
of a window, so that the char CNN learns to do without them, as it must for words outside the table.
Which rows is a function of the seed, the window's number and the word, so all processes agree.

Shapes: W distinct words of a window, V rows of the table, U rows that an update touches, p
the width of a row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class RowGradient:
    """The gradient of some rows of a weight."""

    rows: Tensor | None
    """(U,) the rows, all distinct; None for all rows in order."""
    values: Tensor
    """(U, …) the gradient of each."""


class WordTableGrad:
    """A word table with its gradients."""

    def __init__(self, table: nn.Embedding, word_dropout: float) -> None:
        self.weight = table.weight.detach()
        self.word_dropout = word_dropout

    def begin_update(
        self, words: Sequence[Tensor], generator: Callable[[int], torch.Generator]
    ) -> None:
        """Take the word ids and the generator of each window, over all processes."""
        self._kept = []
        is_touched = torch.zeros(len(self.weight), dtype=torch.bool, device=self.weight.device)
        for place, some in enumerate(words):
            kept = torch.ones_like(is_touched)
            if self.word_dropout:
                drawn = torch.rand(len(kept), generator=generator(place))
                kept = (drawn >= self.word_dropout).to(kept.device)
            known = some[some < len(kept)]
            is_touched[known[kept[known]]] = True
            self._kept.append(kept)
        (rows,) = is_touched.nonzero(as_tuple=True)
        self.gradient = RowGradient(rows, self.weight.new_zeros(len(rows), self.weight.shape[1]))

    def add_rows(self, vectors: Tensor, numbers: Tensor, place: int) -> None:
        """Add the rows of the words of window `place` to their vectors (W, p).

        `numbers` (W,) are the row of each word plus 1, 0 for words outside the table.
        """
        is_kept = (numbers > 0) & self._kept[place][(numbers - 1).clamp(min=0)]
        (self._places,) = is_kept.nonzero(as_tuple=True)
        self._rows = numbers[self._places] - 1
        vectors.index_add_(0, self._places, self.weight[self._rows])

    def take_rows(self, numbers: Tensor) -> Tensor:
        """Return the rows of words that all have one, given the row of each plus 1, (W,)."""
        self._places = torch.arange(len(numbers), device=numbers.device)
        self._rows = numbers - 1
        return self.weight[self._rows]

    def backward(self, dvectors: Tensor) -> None:
        """Add the gradient of the vectors (W, …) to that of the rows in them."""
        assert self.gradient.rows is not None
        places = torch.searchsorted(self.gradient.rows, self._rows)
        self.gradient.values.index_add_(0, places, dvectors[self._places])

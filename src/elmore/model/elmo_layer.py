"""Token ids in, ELMo tensors out: the network for training tasks, differentiable throughout.

Shapes: B sentences, T tokens (T + 2 with the sentence marks), D dim.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from elmore.bilm_config import Norm
from elmore.errors import ConfigError, DataError
from elmore.model.bilm import BiLM
from elmore.model.context import with_context_layer
from elmore.model.frozen import FrozenRunner, kernels_can_run
from elmore.model.mix import ScalarMix


@dataclass(frozen=True)
class ElmoLayerOutput:
    """ELMo vectors of a batch."""

    mixes: tuple[Tensor, ...]
    """One tensor (B, T, D) for each mix, 0 at padding."""
    mask: Tensor
    """(B, T), true at real tokens."""


class ElmoLayer(nn.Module):
    """A biLM and one or more mixes of its layers; a frozen biLM on a CPU is run by the kernels.

    Give it ids with sentence marks, as `Elmo.ids` makes them; the biLM reads the marks and, by
    default, they are dropped from the output. The biLM is frozen: its weights take no gradient
    unless `freeze=False`. It is not copied: layers that share one are frozen or not together, as
    the last of them says. Each mix has its own s and gamma, for the places where a task uses ELMo.
    With `context_layer` the states that predict each token are one more layer of every mix.
    """

    def __init__(
        self,
        bilm: BiLM,
        *,
        n_mixes: int = 1,
        weights: Sequence[float] | None = None,
        trainable_mix: bool = True,
        norm: Norm = "none",
        dropout: float = 0.0,
        keep_sentence_marks: bool = False,
        freeze: bool = True,
        context_layer: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(bilm, BiLM):
            raise ConfigError(
                f"the network is of type {type(bilm).__name__}; expected a BiLM, such as "
                'Elmo.from_pretrained("en").bilm'
            )
        self.bilm = bilm.requires_grad_(not freeze)
        self._frozen = FrozenRunner()
        self.keep_sentence_marks = keep_sentence_marks
        self.norm = norm
        self.context_layer = context_layer
        self.mixes = nn.ModuleList(
            ScalarMix(
                bilm.config.lstm.n_layers + 1,
                weights=weights,
                trainable=trainable_mix,
                norm=norm,
                dropout=dropout,
                context_layer=context_layer,
            )
            for _ in range(n_mixes)
        )

    @property
    def dim(self) -> int:
        """Dimensions of a token's vector."""
        return self.bilm.config.dim

    def forward(self, token_ids: Tensor, mask: Tensor | None = None) -> ElmoLayerOutput:
        """Read the ids of sentences with their marks, (B, T + 2, n_ids)."""
        if not isinstance(token_ids, Tensor):
            raise DataError(
                f"the ids are of type {type(token_ids).__name__}; expected a tensor, such as "
                "elmo.ids(texts).ids"
            )
        mask = (token_ids > 0).any(dim=2) if mask is None else mask
        if token_ids.device.type == "cpu" and kernels_can_run(self.bilm):
            layers = self._frozen.layers(self.bilm, token_ids, mask)
        else:
            layers = self.bilm(token_ids, mask).layers
        if self.context_layer:
            layers = with_context_layer(layers)
        if self.keep_sentence_marks:
            return ElmoLayerOutput(self._mix(layers, mask), mask)
        inner = _without_marks(mask)
        if self.norm != "allennlp":
            return ElmoLayerOutput(self._mix(layers[:, :, 1:-1], inner), inner)
        # AllenNLP normalises with the marks and drops them afterwards.
        mixes = (
            mix[:, 1:-1].masked_fill(~inner[:, :, None], 0.0) for mix in self._mix(layers, mask)
        )
        return ElmoLayerOutput(tuple(mixes), inner)

    def _mix(self, layers: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        return tuple(mix(layers, mask) for mix in self.mixes)


def _without_marks(mask: Tensor) -> Tensor:
    """Return which of the places 1 to T hold a token: all but each row's own first and last."""
    if mask.shape[1] < 2:
        raise DataError(
            f"the batch is {mask.shape[1]} tokens wide; with the sentence marks it is at least 2"
        )
    return mask[:, 2:]

"""Tokenized texts in, the vectors that were asked for out: one per word, or one per text.

Shapes: L+1 layers, T tokens, D dim.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmore.bilm_config import DType
from elmore.checks import one_of
from elmore.embed.layers import Layers, check_layers, layers_dim, select_layers
from elmore.embed.pooling import Pooling, pool
from elmore.embed.results import Output, TokenVectors, converter
from elmore.embed.texts import TokenizedText, with_marks
from elmore.engine.reader import CarriedState
from elmore.errors import ConfigError
from elmore.formats import Calibration, Pretrained

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo

OnText = Callable[[int], None]
"""Is called with the number of tokens of each text, once it is encoded."""


def encode_words(
    elmo: "Elmo",
    texts: Sequence[TokenizedText],
    *,
    layers: Layers | Sequence[Layers],
    keep_sentence_marks: bool,
    output: Output,
    dtype: DType,
    standardize: bool = False,
    carried: CarriedState | None = None,
    on_progress: OnText = lambda n_tokens: None,
) -> list[TokenVectors]:
    """Do what `Elmo.encode_tokens` says, from zero or from a carried state."""
    several = isinstance(layers, Sequence) and not isinstance(layers, str)
    wanted: list[Any] = list(layers) if several else [layers]  # type: ignore[arg-type]
    if not wanted:
        raise ConfigError(f"layers is {layers!r}; expected at least one")
    calibration = _calibration(elmo.model) if standardize else None
    for which in wanted:
        check_layers(which, elmo.n_layers)
        if calibration is not None:
            calibration.check_layer(which)
    convert = converter(output, dtype)
    found: dict[int, TokenVectors] = {}
    for i, everything in elmo.reader.read([text.tokens for text in texts], carried):
        text = with_marks(texts[i]) if keep_sentence_marks else texts[i]
        vectors = {}
        for which in wanted:
            chosen = select_layers(
                everything, which, elmo.mix, keep_sentence_marks=keep_sentence_marks
            )
            if calibration is not None:
                chosen = calibration.standardize(chosen, which)
            vectors[which] = convert(chosen)
        found[i] = TokenVectors(text.tokens, vectors if several else vectors[layers], text.spans)
        on_progress(len(text.tokens))
    return [found[i] for i in range(len(texts))]


def encode_pooled(
    elmo: "Elmo",
    texts: Sequence[TokenizedText],
    *,
    pooling: Pooling,
    layers: Layers,
    output: Output,
    dtype: DType,
    on_progress: OnText = lambda n_tokens: None,
) -> Any:
    """Do what `Elmo.encode` says."""
    one_of(Pooling, pooling=pooling)
    check_layers(layers, elmo.n_layers)
    convert = converter(output, dtype)
    dim = layers_dim(layers, elmo.dim)
    shape = (elmo.n_layers, dim) if layers == "all" else (dim,)
    pooled = np.zeros((len(texts), *shape), np.float32)
    for i, everything in elmo.reader.read([text.tokens for text in texts]):
        pooled[i] = pool(select_layers(everything, layers, elmo.mix), pooling)
        on_progress(len(texts[i].tokens))
    return convert(pooled)


def _calibration(model: Pretrained) -> Calibration:
    if model.calibration is None:
        raise ConfigError(
            "this model has no calibration to standardize its vectors by; "
            "make one: elmore calibrate MODEL TEXT --out FOLDER"
        )
    return model.calibration

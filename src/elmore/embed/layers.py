"""All layers of a text in, those that were asked for out: one of them, their mix, or all.

Shapes: L+1 layers, T tokens, p projection_dim, D = 2p.
"""

from typing import Literal

from elmore.engine.mix import Mix
from elmore.engine.states import context_states, expected_states, with_context_layer
from elmore.errors import ConfigError
from elmore.kernels.library import Floats

Layers = Literal["mix", "all", "top", "context", "expected"] | int


def check_layers(which: Layers, n_layers: int) -> None:
    """Refuse layers that a model of `n_layers` (the token layer included) does not have."""
    words = ("mix", "all", "top", "context", "expected")
    known = which in words if isinstance(which, str) else type(which) is int and which >= 0
    if not known or (isinstance(which, int) and which >= n_layers):
        numbers = ", ".join(map(str, range(n_layers)))
        raise ConfigError(f"layers is {which!r}; expected {', '.join(words)}, or one of {numbers}")


def layers_dim(which: Layers, dim: int) -> int:
    """Return the dimensions of a token's vector where `dim` is those of a layer."""
    return dim // 2 if which == "expected" else dim


def select_layers(
    layers: Floats, which: Layers, mix: Mix, *, keep_sentence_marks: bool = False
) -> Floats:
    """Return one layer of (L + 1, T + 2, D), which has the sentence marks; their mix; or all.

    "context" and "expected" are what predicts each token: the top layer's forward state before it
    and backward state after it, side by side, (T, D), or summed, (T, p).
    """
    places = slice(None) if keep_sentence_marks else slice(1, -1)
    if which == "context":
        return context_states(layers[-1])[places]
    if which == "expected":
        return expected_states(layers[-1])[places]
    if which == "mix":
        if mix.context_layer:
            layers = with_context_layer(layers)
        return mix(layers[:, places])
    if which == "all":
        return layers[:, places]
    return layers[-1 if which == "top" else which, places]

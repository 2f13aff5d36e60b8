"""The weights of an untrained network, drawn as bilm-tf draws them."""

import math

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig, Shape, array_shapes

Floats = npt.NDArray[np.float32]


def drawn_arrays(config: BiLMConfig, random: np.random.Generator) -> dict[str, Floats]:
    """Draw all weights of a network, by name."""
    shapes = array_shapes(config)
    return {name: _drawn(name, shape, config, random) for name, shape in shapes.items()}


def _drawn(name: str, shape: Shape, config: BiLMConfig, random: np.random.Generator) -> Floats:
    encoder, lstm = config.token_encoder, config.lstm
    deviation = bound = value = 0.0  # one of them
    match name.split("."):
        case [*_, layer, "bias"]:
            value = -2.0 if layer == "gate" else 0.0
        case [*_, "embedding", "weight"]:
            bound = 1.0
        case [*_, "convolutions", _, "weight"]:
            if encoder.chars is not None and encoder.chars.activation == "relu":
                bound = 0.05
            else:
                deviation = math.prod(shape[1:]) ** -0.5
        case [_, "words", "weight"]:
            # Rows that are added to the characters' vectors may be filled with static vectors.
            deviation = 0.0 if encoder.combine == "add" and encoder.chars is not None else 1.0
        case [*_, "input_weight" | "recurrent_weight"]:  # Glorot's, of one matrix, as TensorFlow
            bound = math.sqrt(6 / (4 * lstm.cell_dim + 2 * lstm.projection_dim))
        case [*_, "projection"]:
            bound = math.sqrt(6 / sum(shape))
        case _:
            deviation = shape[1] ** -0.5
    drawn = np.full(shape, value, np.float32)
    if bound:
        drawn[...] = (2 * random.random(shape, np.float32) - 1) * np.float32(bound)
    elif deviation:
        drawn[...] = random.standard_normal(shape, np.float32) * np.float32(deviation)
    if name.endswith("embedding.weight"):
        drawn[0] = 0.0  # padding
    return drawn

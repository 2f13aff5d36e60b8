"""The trainable weights in one flat vector, and their gradients in another.

One vector has one norm, one update and one sum over processes. The softmax and the word table
(whose gradients are sparse) and all frozen weights are left out.
"""

import math
from collections.abc import Collection, Mapping
from typing import TypeVar

import numpy as np

from elmore.bilm_config import Part
from elmore.kernels.library import Floats

Weight = TypeVar("Weight")
Shape = tuple[int, ...]
Places = dict[str, tuple[int, Shape]]

_ALIGNMENT = 16  # values: 64 bytes, a line of the cache


def part_of(name: str) -> Part:
    """Return the part of a biLM that a weight belongs to."""
    if name.startswith("token_encoder.words."):
        return "word_table"
    first = name.partition(".")[0]
    return (
        "lstm" if first.endswith("_lstm") else "softmax" if first == "softmax" else "token_encoder"
    )


def row_weights(weights: Mapping[str, Weight], frozen: Collection[Part] = ()) -> dict[str, Weight]:
    """Return the weights with sparse gradients by name: the softmax and the word table."""
    return {
        name: weight
        for name, weight in weights.items()
        if part_of(name) in {"softmax", "word_table"} - {*frozen}
    }


class Parameters:
    """The trainable weights of a biLM, except its softmax and its word table."""

    def __init__(self, arrays: Mapping[str, Floats], frozen: Collection[Part] = ()) -> None:
        shapes = {name: array.shape for name, array in arrays.items()}
        self.places, size = places_of(shapes, frozen)
        self.values = np.zeros(size, np.float32)
        trained = _views(self.values, self.places)
        for name, view in trained.items():
            view[...] = arrays[name]
        self.arrays: dict[str, Floats] = {**arrays, **trained}
        """All weights of the biLM by name; those that are trained are views of the vector."""


class Gradients:
    """A gradient for each trainable weight, all in one vector."""

    def __init__(self, parameters: Parameters) -> None:
        self.values = np.zeros_like(parameters.values)
        self.arrays = _views(self.values, parameters.places)
        """The gradients by the weights' names, to add to; frozen weights have none."""


def places_of(shapes: Mapping[str, Shape], frozen: Collection[Part]) -> tuple[Places, int]:
    """Return where each trainable weight begins in the vector, with its shape, and their end."""
    places, end = {}, 0
    for name, shape in shapes.items():
        if part_of(name) not in {*frozen, "softmax", "word_table"}:
            places[name] = (end, shape)
            end += -(-math.prod(shape) // _ALIGNMENT) * _ALIGNMENT
    return places, end


def _views(values: Floats, places: Places) -> dict[str, Floats]:
    """Return the arrays that stand in a vector at these places."""
    return {
        name: values[start : start + math.prod(shape)].reshape(shape)
        for name, (start, shape) in places.items()
    }

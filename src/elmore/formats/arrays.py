"""The strictness that every format shares: arrays are all there, no others, of the right shape."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elmore.bilm_config import Shape
from elmore.errors import FormatError
from elmore.kernels.library import Arrays


def check_arrays(found: Mapping[str, Shape], expected: Mapping[str, Shape], where: Path) -> None:
    """Refuse arrays that are missing, unexpected or of another shape, naming them."""
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(found.keys() - expected.keys())
    if missing or unexpected:
        problems = [f"lacks {_some(missing)}"] * bool(missing)
        problems += [f"has unexpected {_some(unexpected)}"] * bool(unexpected)
        raise FormatError(
            f"{where} {' and '.join(problems)}; check that it belongs to this configuration"
        )
    for name, shape in expected.items():
        if found[name] != shape:
            raise FormatError(
                f"{where}: {name} has shape {found[name]}, expected {shape}; "
                "check that it belongs to this configuration"
            )


def shapes_of(arrays: Arrays) -> dict[str, Shape]:
    """Return the shape of each array by its name."""
    return {name: array.shape for name, array in arrays.items()}


def not_finite(arrays: Arrays) -> list[str]:
    """Return the names of arrays with values that are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum alone is fast; it may overflow where no value did.
        return [
            name
            for name, array in arrays.items()
            if not math.isfinite(array.sum(dtype=np.float32)) and not np.isfinite(array).all()
        ]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"

"""The shape of a network in, whether this machine can hold it in training."""

import os
from math import prod

from elmore.bilm_config import BiLMConfig, array_shapes
from elmore.errors import ConfigError

_BYTES_PER_WEIGHT = 12  # the weight, its gradient and an average of Adagrad; AdamW has two


def machine_memory() -> int | None:
    """Return the memory of this machine in bytes; None where it is unknown."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(config: BiLMConfig) -> None:
    """Refuse a network that is too large for this machine before any of it is made."""
    n_weights = sum(prod(shape) for shape in array_shapes(config).values())
    memory, least = machine_memory(), n_weights * _BYTES_PER_WEIGHT
    if memory is not None and least > memory:
        raise ConfigError(
            f"the network has {n_weights:,} weights, and training it takes at least "
            f"{least / 2**30:,.0f} GB, but this machine has {memory / 2**30:,.0f} GB; make "
            "char_dim, filters, cell_dim, projection_dim or max_words smaller"
        )

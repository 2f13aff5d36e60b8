"""An `Elmo` in, out all that decides its vectors: what outputs and caches are compared by."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from elmore.engine.precision import has_bfloat16
from elmore.kernels.library import ARITHMETIC

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


def fingerprint(elmo: "Elmo") -> dict[str, str]:
    """Return all that decides the vectors to the last bit, apart from the text."""
    products: str = elmo.precision
    if products == "bfloat16":  # processors that multiply it round differently
        products += f", in hardware: {has_bfloat16()}"
    return {
        "model": elmo.model.fingerprint(),
        "known words": elmo.cache.fingerprint(),
        "tokenizer": elmo.tokenizer.name,
        "normalization": str(elmo.model.normalization),
        "mix": str(asdict(elmo.mix)),
        "engine": elmo.engine,
        "precision": products,
        "arithmetic": ARITHMETIC,
    }

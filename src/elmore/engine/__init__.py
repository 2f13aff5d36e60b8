"""How the network is computed fast, forwards and backwards. It knows `model` and nothing else."""

from elmore.engine.engine import Engine, PackedSentences, TextbookEngine
from elmore.engine.fast import FastEngine
from elmore.engine.matmul import has_bfloat16

__all__ = ["Engine", "FastEngine", "PackedSentences", "TextbookEngine", "has_bfloat16"]

"""The network computed fast, forward and backward. Imports nothing of elmore but `model`."""

from elmore.engine.engine import Engine, PackedSentences, TextbookEngine
from elmore.engine.fast import FastEngine
from elmore.engine.matmul import has_bfloat16

__all__ = ["Engine", "FastEngine", "PackedSentences", "TextbookEngine", "has_bfloat16"]

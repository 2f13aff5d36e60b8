"""Corpora embedded and indexed by many processes or machines, block by block."""

from elmore.scale.run import embed_parts, index_parts

__all__ = ["embed_parts", "index_parts"]

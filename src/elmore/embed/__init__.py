"""Sentences to arrays."""

from elmore.embed.elmo import Elmo, Session
from elmore.embed.results import Scores, TokenIds, TokenVectors
from elmore.embed.writers import JsonLinesWriter, VectorWriter, check_suffix, open_writer

__all__ = [
    "Elmo",
    "JsonLinesWriter",
    "Scores",
    "Session",
    "TokenIds",
    "TokenVectors",
    "VectorWriter",
    "check_suffix",
    "open_writer",
]

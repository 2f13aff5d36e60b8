"""Sentences to arrays."""

from elmore.embed.calibrate import calibrate
from elmore.embed.corpus import CorpusOptions, embed_corpus, embed_lines, is_unfinished
from elmore.embed.elmo import Elmo
from elmore.embed.fill import BLANK, Filler, Substitutes
from elmore.embed.results import TokenIds, TokenVectors, WordScores
from elmore.embed.session import Session
from elmore.embed.writers import JsonLinesWriter, check_out
from elmore.engine.word_cache import WordCache

__all__ = [
    "BLANK",
    "CorpusOptions",
    "Elmo",
    "Filler",
    "JsonLinesWriter",
    "Session",
    "Substitutes",
    "TokenIds",
    "TokenVectors",
    "WordCache",
    "WordScores",
    "calibrate",
    "check_out",
    "embed_corpus",
    "embed_lines",
    "is_unfinished",
]

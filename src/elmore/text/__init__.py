"""Text to tokens to ids. Imports no torch and opens no text file.

What makes ids, with NumPy, is imported when first used: settings can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elmore.text.normalize import Normalization, normalize, normalizing
from elmore.text.sentences import SentenceSpan, split_sentences
from elmore.text.token import Token, Tokenizer
from elmore.text.tokenizers import EnglishTokenizer, WhitespaceTokenizer, tokenizer_by_name

if TYPE_CHECKING:
    from elmore.text.alphabet import ALPHABET_MARKS, OUTSIDE
    from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN
    from elmore.text.id_encoder import IdEncoder
    from elmore.text.vocab import Vocab

__all__ = [
    "ALPHABET_MARKS",
    "BEGIN_SENTENCE",
    "END_SENTENCE",
    "OUTSIDE",
    "UNKNOWN",
    "EnglishTokenizer",
    "IdEncoder",
    "Normalization",
    "SentenceSpan",
    "Token",
    "Tokenizer",
    "Vocab",
    "WhitespaceTokenizer",
    "normalize",
    "normalizing",
    "split_sentences",
    "tokenizer_by_name",
]

_HOMES = {
    "alphabet": ("ALPHABET_MARKS", "OUTSIDE"),
    "chars": ("BEGIN_SENTENCE", "END_SENTENCE", "UNKNOWN"),
    "id_encoder": ("IdEncoder",),
    "vocab": ("Vocab",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"elmore.text.{module}"), name)
    raise AttributeError(f"module 'elmore.text' has no attribute {name!r}")

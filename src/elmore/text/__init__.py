"""Text to tokens to ids. Imports no torch and opens no text file."""

from elmore.text.alphabet import ALPHABET_MARKS, OUTSIDE, AlphabetEncoder, has_marks
from elmore.text.char_words import CharWordEncoder
from elmore.text.chars import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    N_CHARACTERS,
    UNKNOWN,
    CharEncoder,
    Spelling,
)
from elmore.text.normalize import Normalization, normalize, normalizing
from elmore.text.sentences import SentenceSpan, split_sentences
from elmore.text.token import Token, Tokenizer
from elmore.text.tokenizers import EnglishTokenizer, WhitespaceTokenizer, tokenizer_by_name
from elmore.text.vocab import Vocab

__all__ = [
    "ALPHABET_MARKS",
    "BEGIN_SENTENCE",
    "END_SENTENCE",
    "N_CHARACTERS",
    "OUTSIDE",
    "UNKNOWN",
    "AlphabetEncoder",
    "CharEncoder",
    "CharWordEncoder",
    "EnglishTokenizer",
    "Normalization",
    "SentenceSpan",
    "Spelling",
    "Token",
    "Tokenizer",
    "Vocab",
    "WhitespaceTokenizer",
    "has_marks",
    "normalize",
    "normalizing",
    "split_sentences",
    "tokenizer_by_name",
]

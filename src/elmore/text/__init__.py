"""Text to tokens to ids. Knows nothing of torch or of the rest of elmore."""

from elmore.text.chars import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    N_CHARACTERS,
    UNKNOWN,
    CharEncoder,
)
from elmore.text.lines import decode_lines
from elmore.text.sentences import SentenceSpan, split_sentences
from elmore.text.tokenizers import (
    EnglishTokenizer,
    Token,
    Tokenizer,
    WhitespaceTokenizer,
    tokenizer_by_name,
)
from elmore.text.vocab import Vocab

__all__ = [
    "BEGIN_SENTENCE",
    "END_SENTENCE",
    "N_CHARACTERS",
    "UNKNOWN",
    "CharEncoder",
    "EnglishTokenizer",
    "SentenceSpan",
    "Token",
    "Tokenizer",
    "Vocab",
    "WhitespaceTokenizer",
    "decode_lines",
    "split_sentences",
    "tokenizer_by_name",
]

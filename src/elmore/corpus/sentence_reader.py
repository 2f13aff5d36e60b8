"""Lines of text in, sentences of words out: normalized, split, tokenized."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from elmore.text.normalize import Normalization, normalize
from elmore.text.sentences import check_language, split_sentences
from elmore.text.token import Tokenizer
from elmore.text.tokenizers import tokenizer_by_name


@dataclass(frozen=True)
class Reading:
    """How lines become sentences of words."""

    tokenizer: str | Tokenizer
    """It, or its name."""
    normalization: Normalization | None
    """What is done to a line first."""
    language: str | None
    """That of the rules that split lines into sentences; None: a line is a sentence."""

    def __post_init__(self) -> None:
        if self.language is not None:
            check_language(self.language)

    def sentences(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the words of each sentence that has any."""
        given = self.tokenizer
        tokenizer = _tokenizer(given) if isinstance(given, str) else given
        for raw in lines:
            line = normalize(raw, self.normalization)
            spans = split_sentences(line, self.language) if self.language else [(0, len(line))]
            for start, end in spans:
                if words := [token.text for token in tokenizer(line[start:end])]:
                    yield words


@cache
def _tokenizer(name: str) -> Tokenizer:
    return tokenizer_by_name(name)  # once in each process: its tables take a while

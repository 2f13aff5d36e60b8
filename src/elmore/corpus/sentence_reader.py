"""Lines of text in, sentences of words out: each line normalized, split and tokenized once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from elmore.text.normalize import Normalization, normalize, without_normalizing
from elmore.text.sentences import check_language, split_sentences
from elmore.text.token import Tokenizer
from elmore.text.tokenizers import tokenizer_by_name


@dataclass(frozen=True)
class SentenceReader:
    """Turns lines into sentences of words."""

    tokenizer: str | Tokenizer
    """A tokenizer, or its name."""
    normalization: Normalization | None
    """Unicode normalization of each line, before anything else."""
    language: str | None
    """The language by whose rules lines are split into sentences; None: a line is a sentence."""

    def __post_init__(self) -> None:
        if self.language is not None:
            check_language(self.language)

    def sentences(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each sentence that has any."""
        for line in lines:
            yield from filter(None, self.read_line(line))

    def read_line(self, line: str) -> list[list[str]]:
        """Return the words of each sentence of a line, also of one that has none."""
        given = self.tokenizer
        tokenizer = _tokenizer(given) if isinstance(given, str) else without_normalizing(given)
        line = normalize(line, self.normalization)
        spans = split_sentences(line, self.language) if self.language else [(0, len(line))]
        return [[token.text for token in tokenizer(line[start:end])] for start, end in spans]


@cache
def _tokenizer(name: str) -> Tokenizer:
    return tokenizer_by_name(name)  # once in each process: its tables take a while to load

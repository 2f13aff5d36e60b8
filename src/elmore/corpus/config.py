"""The settings by which raw text becomes sentences of word ids, checked when they are made."""

from dataclasses import dataclass

from elmore.checks import at_least, numbers, one_of, strings
from elmore.corpus.sentence_reader import SentenceReader
from elmore.errors import ConfigError
from elmore.text import Normalization
from elmore.text.sentences import check_language

N_MARKS = 3  # <S>, </S> and <UNK>: the first rows of every vocabulary


@dataclass(frozen=True)
class CorpusConfig:
    """How raw text becomes sentences of word ids."""

    tokenizer: str = "english"
    """The name of the tokenizer; it is stored in the model."""
    normalization: Normalization | None = "NFC"
    """NFC: characters that are written in several parts, as Hangul on macOS, become one; uncased:
    NFC in lower case; none: no normalization. It is stored in the model, and is that of all it
    reads."""
    split_sentences: str | None = None
    """A language, such as en or ko, whose rules split each line into sentences; none: a line is
    a sentence."""
    min_count: int = 1
    """A word that occurs less often than this in the training text is not in the vocabulary."""
    max_words: int = 50_000
    """The most words that the vocabulary may have, its three marks included."""
    held_out: float = 0.01
    """The share of the lines that is held out, to measure perplexity on."""
    lowercase: float = 0.0
    """The share of the training lines that is lowercased, so that a model of cased text handles
    lowercase text too. For a model without capitals set normalization to uncased."""
    text_field: str = "text"
    """The field of the text in .jsonl, .csv, .tsv and .parquet files."""

    def __post_init__(self) -> None:
        strings(tokenizer=self.tokenizer, text_field=self.text_field)
        if self.normalization is not None:
            one_of(Normalization, normalization=self.normalization)
        if self.split_sentences is not None:
            strings(split_sentences=self.split_sentences)
            check_language(self.split_sentences)
        at_least(1, min_count=self.min_count)
        at_least(N_MARKS + 1, max_words=self.max_words)
        numbers(held_out=self.held_out, lowercase=self.lowercase)
        if not 0 <= self.lowercase < 1:
            raise ConfigError(
                f"lowercase is {self.lowercase}; expected a share of the lines, from 0 to below 1; "
                "for an uncased model set normalization to uncased"
            )
        if self.lowercase and self.normalization == "uncased":
            raise ConfigError(
                f"lowercase is {self.lowercase}, but normalization is uncased, which lowercases "
                "all text; leave one of them out"
            )
        if not 0 <= self.held_out <= 0.5:
            raise ConfigError(f"held_out is {self.held_out}; expected a share from 0 to 0.5")

    @property
    def sentence_reader(self) -> SentenceReader:
        """What turns lines into sentences of words."""
        return SentenceReader(self.tokenizer, self.normalization, self.split_sentences)

"""Text files in, their statistics out: counted in one pass, in bounded memory.

Beside the words, which `prepare` counts in the same way, these are the lengths of sentences, the
share of duplicate lines, and a sample of sentences from all over the text for the dry run.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from elmore.bilm_config import CharCnnConfig
from elmore.corpus import word_ids
from elmore.corpus.config import N_MARKS, CorpusConfig
from elmore.corpus.files import STANDARD_INPUT, read_texts
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.prepare import OnStage, check_inputs, common_words, vocabulary_of
from elmore.corpus.tokenizing import cut_pieces, draw_held_out, lower_some, tokenize_pieces
from elmore.corpus.word_counts import CommonWords, WordCounter
from elmore.text import Vocab

_MAX_LINES = 2**19  # distinct lines that are counted exactly: some 50 MB
_SAMPLE_TOKENS = 2**18
LONG_SENTENCE = 60  # words
_PUNCTUATION = ".,;:!?)"
_FIRST_EASTERN = "\u1100"  # Hangul, and what follows: Chinese, Japanese


@dataclass(frozen=True)
class TruncatedWords:
    """Words that have more bytes than the network reads, and are truncated."""

    max_bytes: int
    """The bytes that it reads."""
    n_distinct: int
    """Distinct words that are truncated."""
    n_words: int
    """Their occurrences."""
    n_distinct_split: int
    """Distinct words truncated inside a character, such as a Korean syllable of three bytes."""


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of a text."""

    file_bytes: Mapping[str, int | None]
    """The size of each file; None for what is not a file."""
    n_lines: int
    """Without the blank ones."""
    n_repeated_lines: int
    """Duplicate lines."""
    is_repeated_exact: bool
    """Whether they were counted; otherwise they are estimated from a share of the lines."""
    n_training_words: int
    n_training_sentences: int
    n_held_out_words: int
    n_held_out_sentences: int
    n_in_long_sentences: int
    """Words in sentences of more than `LONG_SENTENCE` words."""
    n_commas: int
    n_spaced_commas: int
    """Commas with a space before them, as in tokenized text."""
    n_glued: int
    """Words of the training text that are letters with a punctuation mark at the end."""
    n_hangul: int
    """Words of it that begin with a Hangul syllable."""
    n_single: int
    """Words of it that are one Korean, Chinese or Japanese character."""
    words: CommonWords
    """Those of the training text."""
    vocab: Vocab
    """The rows that the softmax will have."""
    truncated: TruncatedWords
    n_tokenized_bytes: int
    """The size of the tokenized sentences, a temporary file of the preparation."""
    n_shard_bytes: int
    """The approximate size of the shards."""
    training_sample: Sequence[bytes]
    """Sentences from all over the text, words separated by spaces."""
    held_out_sample: Sequence[bytes]
    seconds: float
    """The time that reading and tokenizing the text took."""

    @property
    def n_words(self) -> int:
        """Words in all."""
        return self.n_training_words + self.n_held_out_words

    @property
    def n_sentences(self) -> int:
        """Sentences in all."""
        return self.n_training_sentences + self.n_held_out_sentences

    @property
    def n_training_tokens(self) -> int:
        """Tokens of each direction in an epoch: words, and a mark for each sentence."""
        return self.n_training_words + self.n_training_sentences

    @property
    def unknown_rate(self) -> float:
        """The share of the training words outside the vocabulary."""
        n_known = self.words.coverage(len(self.vocab) - N_MARKS) * self.words.n_tokens
        return 1 - n_known / self.n_training_words

    def words_to_cover(self, share: float) -> int:
        """Return how many of the most frequent words cover this share of the text."""
        left, n_words = share * self.words.n_tokens, 0
        for count, n_alike in self.words.n_words_by_count.items():
            if left <= count * n_alike:
                return n_words + max(0, -int(-left // count))
            left -= count * n_alike
            n_words += n_alike
        return n_words


class DuplicateLines:
    """Counts duplicate lines by their hashes: exactly, or in a share of the lines if too many.

    The share is the hashes that end in so many zero bits, one bit more whenever they are too many.
    """

    def __init__(self, max_lines: int = _MAX_LINES) -> None:
        self.max_lines = max_lines
        self.n_zeros = 0
        self._hashes: set[int] = set()
        self._n_lines_by_zeros = [0] * 65

    def add(self, line: str) -> None:
        """Count a line."""
        digest = blake2b(line.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        n_zeros = (number & -number).bit_length() - 1 if number else 64
        self._n_lines_by_zeros[n_zeros] += 1
        if n_zeros < self.n_zeros:
            return
        self._hashes.add(number)
        while len(self._hashes) > self.max_lines:
            self.n_zeros += 1
            self._hashes = {kept for kept in self._hashes if kept % 2**self.n_zeros == 0}

    @property
    def share(self) -> float:
        """The share of duplicate lines."""
        n_lines = sum(self._n_lines_by_zeros[self.n_zeros :])
        return 1 - len(self._hashes) / n_lines if n_lines else 0.0


class Sample:
    """Every sentence, or every second, fourth, ... one, to stay within so many tokens."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.sentences: list[bytes] = []
        self._step = 1
        self._n_seen = self._n_tokens = 0

    def add(self, sentence: bytes) -> None:
        """Add a sentence, or skip it."""
        if self._n_seen % self._step == 0:
            self.sentences.append(sentence)
            self._n_tokens += n_tokens(sentence)
            while self._n_tokens > self.max_tokens and len(self.sentences) > 1:
                self._step *= 2
                self.sentences = self.sentences[::2]
                self._n_tokens = sum(map(n_tokens, self.sentences))
        self._n_seen += 1


def n_tokens(sentence: bytes) -> int:
    """Return the number of words of a tokenized sentence, plus 1 for its mark."""
    return sentence.count(b" ") + 2


@dataclass
class _LineStats:
    """Counts of the lines."""

    duplicates: DuplicateLines = field(default_factory=DuplicateLines)
    n_lines: int = 0
    n_commas: int = 0
    n_spaced_commas: int = 0

    def count(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.n_lines += 1
            self.duplicates.add(line)
            self.n_commas += line.count(",")
            self.n_spaced_commas += line.count(" ,")
            yield line


@dataclass
class _SplitStats:
    """Counts of the sentences of one split."""

    sample: Sample
    n_words: int = 0
    n_sentences: int = 0
    n_in_long: int = 0
    n_bytes: int = 0

    def add(self, tokenized: bytes) -> None:
        """Count the sentences of a piece, one per line."""
        self.n_bytes += len(tokenized)
        for sentence in tokenized.split(b"\n")[:-1]:
            n_words = n_tokens(sentence) - 1
            self.n_words += n_words
            self.n_sentences += 1
            self.n_in_long += n_words if n_words > LONG_SENTENCE else 0
            self.sample.add(sentence)


def read_corpus_stats(
    paths: Sequence[Path],
    config: CorpusConfig,
    work: Path,
    *,
    encoder: CharCnnConfig,
    sample_tokens: int = _SAMPLE_TOKENS,
    n_processes: int = 1,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_progress: OnStage = lambda stage, n_words: None,
) -> CorpusStats:
    """Read the text in `paths` once; counts that do not fit in memory go to the folder `work`."""
    check_inputs(paths, config, n_processes)
    started = time.perf_counter()
    lines, counter = _LineStats(), WordCounter(work)
    training, held_out = _SplitStats(Sample(sample_tokens)), _SplitStats(Sample(sample_tokens))
    texts = read_texts(paths, config.text_field, max_line_bytes=max_line_bytes)
    drawn = draw_held_out(lines.count(texts), config.held_out)
    pieces = cut_pieces(lower_some(drawn, config.lowercase))
    for piece in tokenize_pieces(pieces, config.sentence_reader, n_processes):
        training.add(piece.training)
        held_out.add(piece.held_out)
        counter.add(piece.counts)
        on_progress("tokenize", piece.n_words)
    words = common_words(counter, config, paths)
    seconds = time.perf_counter() - started
    vocab = vocabulary_of(words, config)
    n_shards = -(-training.n_words // word_ids.SHARD_WORDS)
    word_stats = _count_words(counter.totals(), vocab, encoder, n_shards)
    n_words, n_sentences = (
        getattr(training, name) + getattr(held_out, name) for name in ("n_words", "n_sentences")
    )
    return CorpusStats(
        file_bytes={str(path): _size(path) for path in paths},
        n_lines=lines.n_lines,
        n_repeated_lines=round(lines.duplicates.share * lines.n_lines),
        is_repeated_exact=lines.duplicates.n_zeros == 0,
        n_training_words=training.n_words,
        n_training_sentences=training.n_sentences,
        n_held_out_words=held_out.n_words,
        n_held_out_sentences=held_out.n_sentences,
        n_in_long_sentences=training.n_in_long + held_out.n_in_long,
        n_commas=lines.n_commas,
        n_spaced_commas=lines.n_spaced_commas,
        n_glued=word_stats.n_glued,
        n_hangul=word_stats.n_hangul,
        n_single=word_stats.n_single,
        words=words,
        vocab=vocab,
        truncated=word_stats.truncated,
        n_tokenized_bytes=training.n_bytes + held_out.n_bytes,
        n_shard_bytes=8 * n_sentences + 4 * n_words + word_stats.n_outside_bytes,
        training_sample=training.sample.sentences,
        held_out_sample=held_out.sample.sentences,
        seconds=seconds,
    )


@dataclass(frozen=True)
class _WordStats:
    """Counts of the words."""

    truncated: TruncatedWords
    n_glued: int
    n_hangul: int
    n_single: int
    n_outside_bytes: int


def _count_words(
    totals: Iterable[tuple[str, int]], vocab: Vocab, encoder: CharCnnConfig, n_shards: int
) -> _WordStats:
    """Count words by their characters."""
    max_bytes, cuts_anywhere = encoder.max_characters - 2, encoder.char_encoding == "bilm-tf"
    n_distinct = n_words = n_split = n_glued = n_hangul = n_single = n_outside_bytes = 0
    for word, count in totals:
        utf8 = word.encode("utf-8", "ignore")
        if len(utf8) > max_bytes:
            n_distinct += 1
            n_words += count
            is_inside = utf8[max_bytes] & 0xC0 == 0x80  # a character
            n_split += cuts_anywhere and is_inside
        is_latin = word[0] < _FIRST_EASTERN
        if word[0].isalpha():
            n_glued += count if is_latin and word[-1] in _PUNCTUATION else 0
            n_hangul += count if "가" <= word[0] <= "힣" else 0
            n_single += count if not is_latin and len(word) == 1 else 0
        if word not in vocab:  # each shard stores its own
            n_outside_bytes += min(count, n_shards) * (8 + len(utf8))
    truncated = TruncatedWords(max_bytes, n_distinct, n_words, n_split)
    return _WordStats(truncated, n_glued, n_hangul, n_single, n_outside_bytes)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path != STANDARD_INPUT and path.is_file() else None

"""Text files in, what they hold out: counted in one pass, in bounded memory.

Beside the words, which `prepare` counts in the same way, a survey sees how long lines are, how many
of them come again, and keeps some sentences from all over the text to try training on.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from elmore.corpus import numbering
from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import STANDARD_INPUT, read_texts
from elmore.corpus.prepare import OnStage, check_inputs, common_words, vocabulary_of
from elmore.corpus.tokenizing import cut_pieces, draw_held_out, lower_some, tokenize_pieces
from elmore.corpus.word_counts import CommonWords, WordCounter
from elmore.model import CharCnnConfig
from elmore.text import Vocab

_MAX_LINES = 2**19  # different ones that are remembered exactly: some 50 MB
_SAMPLE_TOKENS = 2**18
_LONG_SENTENCE = 60  # words
_PUNCTUATION = ".,;:!?)"
_FIRST_EASTERN = "\u1100"  # Hangul, and what follows: Chinese, Japanese


@dataclass(frozen=True)
class TruncatedWords:
    """Words that have more bytes than the network reads."""

    max_bytes: int
    """How many it reads."""
    n_distinct: int
    """Different words that are cut."""
    n_words: int
    """Each as often as it occurs."""
    n_distinct_split: int
    """Different words that are cut inside a character, such as a Korean syllable of three bytes."""


@dataclass(frozen=True)
class CorpusStats:
    """What a text holds."""

    file_bytes: Mapping[str, int | None]
    """The size of each file; None for what is not a file."""
    n_lines: int
    """Without the blank ones."""
    n_repeated_lines: int
    """How many lines stood there before."""
    is_repeated_exact: bool
    """Whether they were counted; otherwise that is an estimate from a share of the lines."""
    n_training_words: int
    n_training_sentences: int
    n_held_out_words: int
    n_held_out_sentences: int
    n_in_long_sentences: int
    """How many of the words stand in sentences of more than 60."""
    n_commas: int
    n_spaced_commas: int
    """How many of the commas have a space before them, as text has that is tokenized already."""
    n_glued: int
    """How many words of the training text are Latin letters and a punctuation mark."""
    n_hangul: int
    """How many words of it begin with a Hangul syllable."""
    n_single: int
    """How many words of it are one Korean, Chinese or Japanese character."""
    words: CommonWords
    """Those of the training text."""
    vocab: Vocab
    """The rows that the softmax will have."""
    spelling: TruncatedWords
    n_tokenized_bytes: int
    """What the sentences take while they are prepared."""
    n_shard_bytes: int
    """About what they take then."""
    training_sample: Sequence[bytes]
    """Sentences from all over the text, their words with a space between."""
    held_out_sample: Sequence[bytes]
    seconds: float
    """How long it took to read and tokenize the text."""

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
        """What each direction reads in an epoch: words, and a mark for each sentence."""
        return self.n_training_words + self.n_training_sentences

    @property
    def unknown_rate(self) -> float:
        """The share of the training words that the vocabulary does not have."""
        n_known = self.words.coverage(len(self.vocab) - 3) * self.words.n_tokens
        return 1 - n_known / self.n_training_words

    def words_to_cover(self, share: float) -> int:
        """Return how many words, the most frequent first, make up so much of the text."""
        left, n_words = share * self.words.n_tokens, 0
        for count, n_alike in self.words.n_words_by_count.items():
            if left <= count * n_alike:
                return n_words + max(0, -int(-left // count))
            left -= count * n_alike
            n_words += n_alike
        return n_words


class RepeatedLines:
    """Counts lines that come again, by their hashes: exactly, or by a share of them if too many.

    The share is that of the hashes with so many zeros at the end, one more each time that there
    are too many.
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
        """The share of the lines that stood there before."""
        n_lines = sum(self._n_lines_by_zeros[self.n_zeros :])
        return 1 - len(self._hashes) / n_lines if n_lines else 0.0


class Sample:
    """Each sentence, or each second, fourth, ... so that they stay within so many tokens."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.sentences: list[bytes] = []
        self._step = 1
        self._n_seen = self._n_tokens = 0

    def add(self, sentence: bytes) -> None:
        """See a sentence."""
        if self._n_seen % self._step == 0:
            self.sentences.append(sentence)
            self._n_tokens += n_tokens(sentence)
            while self._n_tokens > self.max_tokens and len(self.sentences) > 1:
                self._step *= 2
                self.sentences = self.sentences[::2]
                self._n_tokens = sum(map(n_tokens, self.sentences))
        self._n_seen += 1


def n_tokens(sentence: bytes) -> int:
    """Return how many words a tokenized sentence has, and its mark."""
    return sentence.count(b" ") + 2


@dataclass
class _Lines:
    """What is seen of the lines as they are read."""

    repeated: RepeatedLines = field(default_factory=RepeatedLines)
    n_lines: int = 0
    n_commas: int = 0
    n_spaced_commas: int = 0

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.n_lines += 1
            self.repeated.add(line)
            self.n_commas += line.count(",")
            self.n_spaced_commas += line.count(" ,")
            yield line


@dataclass
class _Sentences:
    """What is seen of the sentences of one split."""

    sample: Sample
    n_words: int = 0
    n_sentences: int = 0
    n_in_long: int = 0
    n_bytes: int = 0

    def add(self, tokenized: bytes) -> None:
        """See the sentences of a piece, one a line."""
        self.n_bytes += len(tokenized)
        for sentence in tokenized.split(b"\n")[:-1]:
            n_words = n_tokens(sentence) - 1
            self.n_words += n_words
            self.n_sentences += 1
            self.n_in_long += n_words if n_words > _LONG_SENTENCE else 0
            self.sample.add(sentence)


def read_corpus_stats(
    paths: Sequence[Path],
    config: CorpusConfig,
    work: Path,
    *,
    encoder: CharCnnConfig,
    sample_tokens: int = _SAMPLE_TOKENS,
    n_processes: int = 1,
    on_progress: OnStage = lambda stage, n_words: None,
) -> CorpusStats:
    """Read the text in `paths` once; what does not fit in memory goes to the folder `work`."""
    check_inputs(paths, config, n_processes)
    started = time.perf_counter()
    lines, counter = _Lines(), WordCounter(work)
    training, held_out = _Sentences(Sample(sample_tokens)), _Sentences(Sample(sample_tokens))
    drawn = draw_held_out(lines.watch(read_texts(paths, config.text_field)), config.held_out)
    pieces = cut_pieces(lower_some(drawn, config.lowercase))
    for piece in tokenize_pieces(pieces, config.sentence_reader, n_processes):
        training.add(piece.training)
        held_out.add(piece.held_out)
        counter.add(piece.counts)
        on_progress("tokenize", piece.n_words)
    words = common_words(counter, config, paths)
    seconds = time.perf_counter() - started
    vocab = vocabulary_of(words, config)
    n_shards = -(-training.n_words // numbering.SHARD_WORDS)
    words_seen = _look_at_words(counter.totals(), vocab, encoder, n_shards)
    n_words, n_sentences = (
        getattr(training, name) + getattr(held_out, name) for name in ("n_words", "n_sentences")
    )
    return CorpusStats(
        file_bytes={str(path): _size(path) for path in paths},
        n_lines=lines.n_lines,
        n_repeated_lines=round(lines.repeated.share * lines.n_lines),
        is_repeated_exact=lines.repeated.n_zeros == 0,
        n_training_words=training.n_words,
        n_training_sentences=training.n_sentences,
        n_held_out_words=held_out.n_words,
        n_held_out_sentences=held_out.n_sentences,
        n_in_long_sentences=training.n_in_long + held_out.n_in_long,
        n_commas=lines.n_commas,
        n_spaced_commas=lines.n_spaced_commas,
        n_glued=words_seen.n_glued,
        n_hangul=words_seen.n_hangul,
        n_single=words_seen.n_single,
        words=words,
        vocab=vocab,
        spelling=words_seen.spelling,
        n_tokenized_bytes=training.n_bytes + held_out.n_bytes,
        n_shard_bytes=8 * n_sentences + 4 * n_words + words_seen.n_outside_bytes,
        training_sample=training.sample.sentences,
        held_out_sample=held_out.sample.sentences,
        seconds=seconds,
    )


@dataclass(frozen=True)
class _Words:
    """What is seen of the words."""

    spelling: TruncatedWords
    n_glued: int
    n_hangul: int
    n_single: int
    n_outside_bytes: int


def _look_at_words(
    totals: Iterable[tuple[str, int]], vocab: Vocab, encoder: CharCnnConfig, n_shards: int
) -> _Words:
    """Look at how each word is spelled."""
    max_bytes, cuts_anywhere = encoder.max_characters - 2, encoder.spelling == "bilm-tf"
    n_distinct = n_words = n_split = n_glued = n_hangul = n_single = n_outside_bytes = 0
    for word, count in totals:
        spelled = word.encode("utf-8", "ignore")
        if len(spelled) > max_bytes:
            n_distinct += 1
            n_words += count
            goes_on = spelled[max_bytes] & 0xC0 == 0x80  # with the character before
            n_split += cuts_anywhere and goes_on
        is_latin = word[0] < _FIRST_EASTERN
        if word[0].isalpha():
            n_glued += count if is_latin and word[-1] in _PUNCTUATION else 0
            n_hangul += count if "가" <= word[0] <= "힣" else 0
            n_single += count if not is_latin and len(word) == 1 else 0
        if word not in vocab:  # each shard spells its own
            n_outside_bytes += min(count, n_shards) * (8 + len(spelled))
    spelling = TruncatedWords(max_bytes, n_distinct, n_words, n_split)
    return _Words(spelling, n_glued, n_hangul, n_single, n_outside_bytes)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path != STANDARD_INPUT and path.is_file() else None

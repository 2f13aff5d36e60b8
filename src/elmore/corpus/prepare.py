"""Text files in, a folder of word ids out: what a language model is trained on.

The first pass tokenizes the text into temporary files and counts its words, the second replaces the
words by ids of the vocabulary. Neither holds more of the text than a piece or a shard in memory.
The folder is complete or absent, and its manifest says what it was made from: with the same text
and the same settings it is reused.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elmore.corpus.config import N_MARKS, CorpusConfig
from elmore.corpus.files import check_texts, describe_text, read_texts
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.manifest import (
    FORMAT,
    MANIFEST,
    VOCAB,
    Manifest,
    TextRecord,
    describe_files,
    read_manifest,
)
from elmore.corpus.shards import Corpus
from elmore.corpus.tokenizing import MARKS, cut_pieces, draw_held_out, lower_some, tokenize_pieces
from elmore.corpus.word_counts import CommonWords, WordCounter
from elmore.corpus.word_ids import Numbering
from elmore.errors import ConfigError, DataError
from elmore.folders import new_folder, write_json
from elmore.stores import AnyPath
from elmore.text import Vocab, tokenizer_by_name
from elmore.versions import unchanged, versions_of

OnStage = Callable[[str, int], None]
"""Is called with a stage, "tokenize" or "number", and the number of further words done."""

_COVERAGE_SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)


def prepare(
    paths: Sequence[AnyPath],
    folder: Path,
    config: CorpusConfig,
    *,
    vocab: Vocab | None = None,
    n_processes: int = 1,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_progress: OnStage = lambda stage, n_words: None,
) -> Corpus:
    """Make `folder` from the text in `paths`, unless it is there already, and load it.

    `vocab` replaces the vocabulary of the text's own words: for fine-tuning a trained model. A line
    of more than `max_line_bytes` is refused.
    """
    check_inputs(paths, config, n_processes)
    if vocab is not None and (missing := [mark for mark in MARKS if mark not in vocab]):
        raise DataError(f"the vocabulary lacks {', '.join(missing)}; add a line for each")
    versions = versions_of(paths)
    origin = _Origin(
        asdict(config),
        tuple(TextRecord(**describe_text(path)) for path in paths),
        hashlib.sha256("\n".join(vocab).encode("utf-8")).hexdigest() if vocab else None,
    )
    if (folder / MANIFEST).exists():
        _check_made(folder, origin)
        corpus = Corpus.load(folder)
        corpus.check_shards()
        return corpus
    with new_folder(folder) as beside:
        with TemporaryDirectory(dir=beside) as temporary:
            work = Path(temporary)
            with unchanged(versions):
                tokenized = _tokenize(
                    paths, work, config, n_processes, max_line_bytes=max_line_bytes,
                    on_progress=on_progress,
                )  # fmt: skip
            vocab = vocab or vocabulary_of(tokenized.words, config)
            vocab.save(beside / VOCAB)
            numbering = Numbering(vocab, beside, partial(on_progress, "number"))
            training = numbering.write(work / "training", "train")
            held_out = numbering.write(work / "held_out", "held-out")
        words = tokenized.words
        sizes = [size for size in _COVERAGE_SIZES if size < words.n_distinct]
        write_json(
            beside / MANIFEST,
            Manifest(
                format=FORMAT,
                config=origin.config,
                texts=origin.texts,
                given_vocab=origin.given_vocab,
                n_lines=tokenized.n_lines,
                n_distinct_words=words.n_distinct,
                n_vocab_words=len(vocab),
                coverage={str(size): round(words.coverage(size), 6) for size in sizes},
                training=training,
                held_out=held_out,
                files=describe_files(beside),
            ),
        )
    return Corpus.load(folder)


@dataclass(frozen=True)
class _Origin:
    """What decides all of a corpus, as its manifest says it."""

    config: dict[str, Any]
    texts: tuple[TextRecord, ...]
    given_vocab: str | None


@dataclass(frozen=True)
class _Tokenized:
    n_lines: int
    words: CommonWords


def _tokenize(
    paths: Sequence[AnyPath],
    work: Path,
    config: CorpusConfig,
    n_processes: int,
    *,
    max_line_bytes: int,
    on_progress: OnStage,
) -> _Tokenized:
    """Write the sentences of either split to a file in `work`, and count the training words."""
    texts = read_texts(paths, config.text_field, max_line_bytes=max_line_bytes)
    lines = lower_some(draw_held_out(texts, config.held_out), config.lowercase)
    pieces = tokenize_pieces(cut_pieces(lines), config.sentence_reader, n_processes)
    n_lines, counter = 0, WordCounter(work)
    with (work / "training").open("wb") as training, (work / "held_out").open("wb") as held_out:
        for piece in pieces:
            training.write(piece.training)
            held_out.write(piece.held_out)
            counter.add(piece.counts)
            n_lines += piece.n_lines
            on_progress("tokenize", piece.n_words)
    return _Tokenized(n_lines, common_words(counter, config, paths))


def check_inputs(paths: Sequence[AnyPath], config: CorpusConfig, n_processes: int) -> None:
    """Refuse bad arguments before anything is read."""
    if n_processes < 1:
        raise ConfigError(f"n_processes is {n_processes}; expected at least 1")
    tokenizer_by_name(config.tokenizer)("")  # fails if its extra is missing
    check_texts(paths)


def common_words(
    counter: WordCounter, config: CorpusConfig, paths: Sequence[AnyPath]
) -> CommonWords:
    """Return the most frequent words of `paths`; refuse a text without any."""
    words = counter.most_common(config.max_words - N_MARKS, config.min_count)
    if not words.n_distinct:
        names = ", ".join(map(str, paths)) or "nothing"
        raise DataError(f"the text has no word to learn from ({names}); expected some sentences")
    return words


def vocabulary_of(words: CommonWords, config: CorpusConfig) -> Vocab:
    """Return the rows of the softmax: the marks, then the words that are frequent enough."""
    if not words.words:
        most = max(words.n_words_by_count)
        raise ConfigError(
            f"min_count is {config.min_count}, but no word occurs more than {most} times; lower it"
        )
    return Vocab((*MARKS, *words.words))


def _check_made(folder: Path, wanted: _Origin) -> None:
    """Refuse a corpus that was made from another text or with other settings."""
    made = read_manifest(folder)
    # An earlier version had fewer settings.
    config = asdict(CorpusConfig()) | made.config
    others = [
        name for name in ("texts", "given_vocab") if getattr(made, name) != getattr(wanted, name)
    ]
    others += [name for name, value in wanted.config.items() if config[name] != value]
    if others:
        raise ConfigError(
            f"{folder} was prepared with other settings or from another text "
            f"({', '.join(others)} differ); remove it or choose another folder"
        )

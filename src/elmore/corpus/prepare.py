"""Text files in, a folder of word ids out: what a language model is trained on.

The first pass tokenizes the text into temporary files and counts its words, the second replaces the
words by ids of the vocabulary. Neither holds more of the text than a piece or a shard in memory.
The folder is complete or absent, and its manifest says what it was made from: with the same text
and the same settings it is reused.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elmore.corpus.config import N_MARKS, CorpusConfig
from elmore.corpus.files import check_texts, describe_text, fingerprint, read_texts
from elmore.corpus.shards import FORMAT, MANIFEST, VOCAB, Corpus
from elmore.corpus.tokenizing import MARKS, cut_pieces, draw_held_out, lower_some, tokenize_pieces
from elmore.corpus.word_counts import CommonWords, WordCounter
from elmore.corpus.word_ids import Numbering
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import new_folder, write_json
from elmore.text import Vocab, tokenizer_by_name

OnStage = Callable[[str, int], None]
"""Is called with a stage, "tokenize" or "number", and the number of further words done."""

_COVERAGE_SIZES = (1_000, 10_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)


def prepare(
    paths: Sequence[Path],
    folder: Path,
    config: CorpusConfig,
    *,
    vocab: Vocab | None = None,
    n_processes: int = 1,
    on_progress: OnStage = lambda stage, n_words: None,
) -> Corpus:
    """Make `folder` from the text in `paths`, unless it is there already, and load it.

    `vocab` replaces the vocabulary of the text's own words: for fine-tuning a trained model.
    """
    check_inputs(paths, config, n_processes)
    if vocab is not None and (missing := [mark for mark in MARKS if mark not in vocab]):
        raise DataError(f"the vocabulary lacks {', '.join(missing)}; add a line for each")
    origin = {
        "config": asdict(config),
        "texts": [describe_text(path) for path in paths],
        "given_vocab": vocab and hashlib.sha256("\n".join(vocab).encode("utf-8")).hexdigest(),
    }
    if (folder / MANIFEST).exists():
        corpus = Corpus.load(folder)
        _check_made(corpus, origin)
        return corpus
    with new_folder(folder) as beside:
        with TemporaryDirectory(dir=beside) as temporary:
            work = Path(temporary)
            tokenized = _tokenize(paths, work, config, n_processes, on_progress)
            vocab = vocab or vocabulary_of(tokenized.words, config)
            vocab.save(beside / VOCAB)
            numbering = Numbering(vocab, beside, partial(on_progress, "number"))
            splits = {
                "training": numbering.write(work / "training", "train"),
                "held_out": numbering.write(work / "held_out", "held-out"),
            }
        files = {path.name: fingerprint(path) for path in sorted(beside.iterdir())}
        counts = _describe_words(tokenized, vocab)
        write_json(
            beside / MANIFEST, {"format": FORMAT, **origin, **counts, **splits, "files": files}
        )
    return Corpus.load(folder)


@dataclass(frozen=True)
class _Tokenized:
    n_lines: int
    words: CommonWords


def _tokenize(
    paths: Sequence[Path], work: Path, config: CorpusConfig, n_processes: int, on_progress: OnStage
) -> _Tokenized:
    """Write the sentences of either split to a file in `work`, and count the training words."""
    lines = lower_some(
        draw_held_out(read_texts(paths, config.text_field), config.held_out), config.lowercase
    )
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


def check_inputs(paths: Sequence[Path], config: CorpusConfig, n_processes: int) -> None:
    """Refuse bad arguments before anything is read."""
    if n_processes < 1:
        raise ConfigError(f"n_processes is {n_processes}; expected at least 1")
    tokenizer_by_name(config.tokenizer)("")  # fails if its extra is missing
    check_texts(paths)


def common_words(counter: WordCounter, config: CorpusConfig, paths: Sequence[Path]) -> CommonWords:
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


def _describe_words(tokenized: _Tokenized, vocab: Vocab) -> dict[str, Any]:
    words = tokenized.words
    sizes = [size for size in _COVERAGE_SIZES if size < words.n_distinct]
    return {
        "n_lines": tokenized.n_lines,
        "n_distinct_words": words.n_distinct,
        "n_vocab_words": len(vocab),
        "coverage": {str(size): round(words.coverage(size), 6) for size in sizes},
    }


def _check_made(corpus: Corpus, origin: Mapping[str, Any]) -> None:
    """Refuse a corpus that was made from another text or with other settings, or changed since."""
    found = {**corpus.manifest, **corpus.manifest["config"]}
    wanted = {**origin, **origin["config"]}
    others = [name for name in wanted if name != "config" and found.get(name) != wanted[name]]
    if others:
        raise ConfigError(
            f"{corpus.folder} was prepared with other settings or from another text "
            f"({', '.join(others)} differ); remove it or choose another folder"
        )
    for name, expected in corpus.manifest["files"].items():
        if fingerprint(corpus.folder / name) != expected:
            raise FormatError(
                f"{corpus.folder / name} is not as it was written; "
                f"remove {corpus.folder} and prepare the text again"
            )

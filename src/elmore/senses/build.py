"""A corpus in, an index of the occurrences of its words out, block by block.

A block is some lines. index.json is replaced after each, so a build that was killed resumes from
the last whole block: anything after it is truncated. Only one block and the list of words are held
in memory. Vectors of a calibrated model are stored standardized, ready for cosines.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError
from elmore.folders import write_json
from elmore.formats.calibration import Layer
from elmore.locks import LOCK, locked_folder
from elmore.senses.index import (
    ENDS,
    FACTS,
    FORMAT,
    OCCURRENCES,
    SENTENCES,
    WORDS,
    Facts,
    IndexConfig,
    OccurrenceIndex,
    file_sizes,
    read_facts,
    vectors_file,
)
from elmore.senses.representations import standardized
from elmore.text import normalize

_LINES_AT_ONCE = 256  # a block, the most that a kill costs
_TOKENS_AT_ONCE = 32_768  # whose vectors are in memory


def build_index(
    elmo: Elmo,
    lines: Iterable[str],
    folder: Path,
    config: IndexConfig,
    *,
    source: Sequence[Mapping[str, Any]],
    on_progress: Callable[[int, int], None] = lambda n_lines, n_occurrences: None,
) -> OccurrenceIndex:
    """Build an index of `lines`, or resume one; `source` identifies the texts.

    `on_progress` is told how many more lines were read and occurrences kept.
    """
    for layer in config.layers:
        if layer not in (*range(elmo.n_layers), "context", "expected"):
            raise ConfigError(
                f"there is no layer {layer}; the model has 0 to {elmo.n_layers - 1}, "
                "context and expected"
            )
    calibration = elmo.model.calibration
    content: dict[str, Any] = {
        "format": FORMAT,
        "model": {
            "source": elmo.source,
            "hash": elmo.model.fingerprint(),
            "tokenizer": elmo.tokenizer.name,
            "normalization": elmo.model.normalization,
            "calibration": calibration and calibration.fingerprint(),
        },
        "config": json.loads(json.dumps(asdict(config))),  # as it will be read again
        "corpus": [dict(text) for text in source],
        "dim": elmo.dim,
        "facts": asdict(Facts()),
    }
    with locked_folder(folder):
        begun = read_facts(folder)
        if begun is not None:
            _check_same(begun, content, folder)
            content = begun
        elif {path.name for path in folder.iterdir()} - {LOCK, f"{FACTS}.part"}:
            raise ConfigError(f"{folder} is not empty and holds no index; choose another name")
        else:
            write_json(folder / FACTS, content)
        facts = Facts(**content["facts"])
        if not facts.is_whole:
            builder = _Builder(elmo, folder, config, facts)
            for n_lines, n_kept in builder.read(islice(iter(lines), facts.n_lines, None)):
                write_json(folder / FACTS, {**content, "facts": asdict(facts)})
                on_progress(n_lines, n_kept)
    return OccurrenceIndex.load(folder)


class _Builder:
    """Appends blocks of sentences to the files of an index."""

    def __init__(self, elmo: Elmo, folder: Path, config: IndexConfig, facts: Facts) -> None:
        self.elmo, self.folder, self.config, self.facts = elmo, folder, config, facts
        self.reading = elmo.sentence_reader(config.split_sentences)
        self.wanted = config.words and frozenset(
            normalize(word, elmo.model.normalization) for word in config.words
        )
        for name, size in file_sizes(facts, config.layers, elmo.dim).items():
            with (folder / name).open("ab") as file:
                file.truncate(size)  # what a killed build left behind the last whole block
        words = (folder / WORDS).read_text("utf-8").split("\n")[:-1]
        self.numbers = {word: number for number, word in enumerate(words)}
        known = np.fromfile(folder / OCCURRENCES, np.int32).reshape(-1, 3)[:, 0]
        self.counts: list[int] = np.bincount(known, minlength=len(words)).tolist()

    def read(self, lines: Iterator[str]) -> Iterator[tuple[int, int]]:
        """Append all lines that are needed; give the lines and kept occurrences of each block."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context((self.folder / name).open("ab"))
                for name in file_sizes(self.facts, self.config.layers, self.elmo.dim)
            }
            while True:
                block = [] if self._is_full() else list(islice(lines, _LINES_AT_ONCE))
                n_kept = self._append(block, files)
                self.facts.n_lines += len(block)
                self.facts.is_whole = not block
                for file in files.values():
                    file.flush()
                    os.fsync(file.fileno())
                yield len(block), n_kept
                if not block:
                    return

    def _is_full(self) -> bool:
        """Whether each word that is wanted has all the occurrences that it may have."""
        most = self.config.max_per_word
        if self.wanted is None or most is None or len(self.counts) < len(self.wanted):
            return False
        return min(self.counts) >= most

    def _append(self, lines: list[str], files: Mapping[str, IO[bytes]]) -> int:
        """Write the wanted occurrences of some lines; return how many there are."""
        kept: list[tuple[list[str], list[int]]] = []
        for tokens in self.reading.sentences(lines):
            places = [place for place, word in enumerate(tokens) if self._take(word, files)]
            if places:
                kept.append((tokens, places))
        if not kept:
            return 0
        self.elmo.cache.clear()  # so that a block is the same to the last bit wherever it begins
        rows: list[tuple[int, int, int]] = []
        for tokens, places, vectors in self._read(kept):
            for layer in self.config.layers:
                chosen = standardized(self.elmo, vectors[layer][places], layer)
                with np.errstate(over="ignore"):  # said below
                    stored = chosen.astype(np.float16)
                if not np.isfinite(stored).all():
                    raise DataError(
                        f"layer {layer} has values above 65,504, the largest of float16; "
                        "leave the layer out"
                    )
                files[vectors_file(layer)].write(stored.tobytes())
            sentence = " ".join(tokens).encode("utf-8", "replace") + b"\n"
            files[SENTENCES].write(sentence)
            self.facts.sentence_bytes += len(sentence)
            files[ENDS].write(np.int64(self.facts.sentence_bytes).tobytes())
            number = self.facts.n_sentences
            rows += [(self.numbers[tokens[place]], number, place) for place in places]
            self.facts.n_sentences += 1
        files[OCCURRENCES].write(np.array(rows, np.int32).tobytes())
        self.facts.n_occurrences += len(rows)
        return len(rows)

    def _read(
        self, kept: list[tuple[list[str], list[int]]]
    ) -> Iterator[tuple[list[str], list[int], Mapping[Layer, npt.NDArray[np.float32]]]]:
        """Give each sentence and the places in it with all its vectors, (T, D) for each layer."""
        first = n_tokens = 0
        for last, (tokens, _) in enumerate(kept, start=1):
            n_tokens += len(tokens)
            if n_tokens < _TOKENS_AT_ONCE and last < len(kept):
                continue
            some = kept[first:last]
            read = self.elmo.encode_tokens([words for words, _ in some], layers=self.config.layers)
            for (words, places), found in zip(some, read, strict=True):
                yield words, places, found.vectors
            first, n_tokens = last, 0

    def _take(self, word: str, files: Mapping[str, IO[bytes]]) -> bool:
        """Whether an occurrence of a word is kept; a new word is added to the list."""
        if self.wanted is not None and word not in self.wanted:
            return False
        number = self.numbers.setdefault(word, len(self.numbers))
        if number == len(self.counts):
            self.counts.append(0)
            line = f"{word}\n".encode("utf-8", "replace")
            files[WORDS].write(line)
            self.facts.word_bytes += len(line)
            self.facts.n_words += 1
        most = self.config.max_per_word
        if most is not None and self.counts[number] >= most:
            return False
        self.counts[number] += 1
        return True


def _check_same(begun: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    if begun["corpus"] != asked["corpus"]:
        names = ", ".join(text["name"] for text in asked["corpus"])
        raise ConfigError(
            f"{folder} was built from other text than {names} is now; choose another --out, or "
            "remove it to build it again"
        )
    for name, other in (
        ("model", begun["model"]["hash"] != asked["model"]["hash"]),
        (
            "calibration",
            begun["model"].get("calibration") != asked["model"]["calibration"],
        ),
        ("tokenizer", begun["model"]["tokenizer"] != asked["model"]["tokenizer"]),
        ("config", begun["config"] != asked["config"]),
    ):
        if other:
            raise ConfigError(
                f"{folder} was begun with another {name}; choose another --out, or remove it"
            )

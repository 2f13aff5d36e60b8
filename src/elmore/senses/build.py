"""A corpus in, an index of the occurrences of its words out, block by block.

A block is some lines. index.json is replaced after each, so a build that was killed resumes from
the last whole block: anything after it is truncated, and all before it must have the checksums that
index.json says. Only one block and the list of words are held in memory. Vectors of a calibrated
model are stored standardized, ready for cosines.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from elmore.checksums import FileRecord, describe_file
from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError, ElmoreError, FormatError
from elmore.folders import as_json, new_file, write_json
from elmore.formats.calibration import Layer
from elmore.locks import LOCK, locked_folder
from elmore.senses.blocks import FIX, GrowingFile
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import (
    CHECKSUMS,
    ENDS,
    FACTS,
    FORMAT,
    OCCURRENCES,
    SENTENCES,
    WORDS,
    Facts,
    IndexConfig,
    IndexedModel,
    IndexFile,
    file_sizes,
    read_facts,
    vectors_file,
)
from elmore.senses.representations import standardized
from elmore.stores import AnyPath
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
    content = new_index_file(elmo, config, source)
    with locked_folder(folder):
        begun = read_facts(folder)
        if begun is not None:
            check_same(begun, content, folder)
            content = begun
        elif {path.name for path in folder.iterdir()} - {LOCK, f"{FACTS}.part"}:
            raise ConfigError(f"{folder} is not empty and holds no index; choose another name")
        else:
            write_json(folder / FACTS, content)
        facts = content.facts
        try:
            if not facts.is_whole:
                with ExitStack() as stack:
                    builder = IndexBuilder(elmo, folder, content, stack)
                    for n_lines, n_kept in builder.read(islice(iter(lines), facts.n_lines, None)):
                        write_json(folder / FACTS, replace(content, files=builder.records()))
                        on_progress(n_lines, n_kept)
            return OccurrenceIndex.load(folder)
        except ElmoreError:
            if not facts.n_occurrences:  # nothing to resume from
                for name in (*file_sizes(facts, config.layers, elmo.dim), CHECKSUMS, FACTS):
                    (folder / name).unlink(missing_ok=True)
            raise


def new_index_file(
    elmo: Elmo, config: IndexConfig, source: Sequence[Mapping[str, Any]]
) -> IndexFile:
    """Return what index.json says when nothing is indexed yet; refuse layers that there are not."""
    for layer in config.layers:
        if layer not in (*range(elmo.n_layers), "context", "expected"):
            raise ConfigError(
                f"there is no layer {layer}; the model has 0 to {elmo.n_layers - 1}, "
                "context and expected"
            )
    calibration = elmo.model.calibration
    return IndexFile(
        format=FORMAT,
        model=IndexedModel(
            source=elmo.source,
            hash=elmo.model.fingerprint(),
            tokenizer=elmo.tokenizer.name,
            normalization=elmo.model.normalization,
            calibration=None if calibration is None else calibration.fingerprint(),
        ),
        config=config,
        corpus=as_json([dict(text) for text in source]),
        dim=elmo.dim,
        facts=Facts(),
        files={},
    )


class IndexBuilder:
    """Appends blocks of sentences to the files of an index."""

    def __init__(self, elmo: Elmo, folder: Path, content: IndexFile, stack: ExitStack) -> None:
        self.elmo, self.folder = elmo, folder
        self.config, self.facts = content.config, content.facts
        self.reading = elmo.sentence_reader(self.config.split_sentences)
        self.wanted = self.config.words and frozenset(
            normalize(word, elmo.model.normalization) for word in self.config.words
        )
        self.files: dict[str, GrowingFile] = {}
        for name, size in file_sizes(self.facts, self.config.layers, elmo.dim).items():
            expected = (content.files or {}).get(name)
            self.files[name] = GrowingFile(folder / name, size, expected)
            stack.enter_context(self.files[name].file)
        words = self._read_words()
        self.numbers = {word: number for number, word in enumerate(words)}
        known = np.fromfile(folder / OCCURRENCES, "<i4").reshape(-1, 3)[:, 0]
        if len(known) and not 0 <= known.min() <= known.max() < len(words):
            raise FormatError(f"{folder / OCCURRENCES} is damaged: it names no word; {FIX}")
        self.counts: list[int] = np.bincount(known, minlength=len(words)).tolist()

    def _read_words(self) -> list[str]:
        path = self.folder / WORDS
        try:
            found = path.read_bytes().decode().split("\n")[:-1]
        except UnicodeDecodeError:
            raise FormatError(f"{path} is damaged: it is not UTF-8; {FIX}") from None
        if len(found) != self.facts.n_words:
            raise FormatError(
                f"{path} is damaged: it has {len(found)} words, not {self.facts.n_words}; {FIX}"
            )
        return found

    def records(self) -> dict[str, FileRecord]:
        """Return the size and checksum of each file as it is now."""
        found = {name: file.record() for name, file in self.files.items()}
        if self.facts.is_whole:
            found[CHECKSUMS] = describe_file(self.folder / CHECKSUMS)
        return found

    def read(self, lines: Iterator[str]) -> Iterator[tuple[int, int]]:
        """Append all lines that are needed; give the lines and kept occurrences of each block."""
        while True:
            block = [] if self._is_full() else list(islice(lines, _LINES_AT_ONCE))
            n_kept = self._append(block)
            self.facts.n_lines += len(block)
            self.facts.is_whole = not block
            for growing in self.files.values():
                growing.file.flush()
                os.fsync(growing.file.fileno())
            if not block:
                with new_file(self.folder / CHECKSUMS) as beside:
                    blocks = [growing.checksums() for growing in self.files.values()]
                    np.concatenate(blocks).astype("<u8").tofile(beside)
            yield len(block), n_kept
            if not block:
                return

    def _is_full(self) -> bool:
        """Whether each word that is wanted has all the occurrences that it may have."""
        most = self.config.max_per_word
        if self.wanted is None or most is None or len(self.counts) < len(self.wanted):
            return False
        return min(self.counts) >= most

    def _append(self, lines: list[str]) -> int:
        """Write the wanted occurrences of some lines; return how many there are."""
        files = self.files
        kept: list[tuple[list[str], list[int]]] = []
        for tokens in map(_as_stored, self.reading.sentences(lines)):
            places = [place for place, word in enumerate(tokens) if self._take(word)]
            if places:
                kept.append((tokens, places))
        if not kept:
            return 0
        rows: list[tuple[int, int, int]] = []
        for tokens, places, vectors in self._read(kept):
            for layer in self.config.layers:
                chosen = standardized(self.elmo, vectors[layer][places], layer)
                with np.errstate(over="ignore"):  # said below
                    stored = chosen.astype("<f2")
                if not np.isfinite(stored).all():
                    raise DataError(
                        f"layer {layer} has values above 65,504, the largest of float16; "
                        "leave the layer out"
                    )
                files[vectors_file(layer)].write(stored.tobytes())
            sentence = f"{' '.join(tokens)}\n".encode()
            files[SENTENCES].write(sentence)
            self.facts.sentence_bytes += len(sentence)
            files[ENDS].write(self.facts.sentence_bytes.to_bytes(8, "little"))
            number = self.facts.n_sentences
            rows += [(self.numbers[tokens[place]], number, place) for place in places]
            self.facts.n_sentences += 1
        files[OCCURRENCES].write(np.array(rows, "<i4").tobytes())
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

    def _take(self, word: str) -> bool:
        """Whether an occurrence of a word is kept; a new word is added to the list."""
        if self.wanted is not None and word not in self.wanted:
            return False
        number = self.numbers.setdefault(word, len(self.numbers))
        if number == len(self.counts):
            self.counts.append(0)
            line = f"{word}\n".encode()
            self.files[WORDS].write(line)
            self.facts.word_bytes += len(line)
            self.facts.n_words += 1
        most = self.config.max_per_word
        if most is not None and self.counts[number] >= most:
            return False
        self.counts[number] += 1
        return True


def _as_stored(tokens: list[str]) -> list[str]:
    """Return tokens as an index stores them, a question mark for each lone surrogate."""
    line = " ".join(tokens).encode("utf-8", "replace").decode()
    if line.count(" ") >= len(tokens) or "\n" in line:
        token = next(token for token in tokens if " " in token or "\n" in token)
        raise DataError(
            f"the tokenizer made the token {token!r}; an index needs tokens without spaces and "
            "line breaks: use another tokenizer"
        )
    return line.split(" ")


def check_same(begun: IndexFile, asked: IndexFile, folder: AnyPath) -> None:
    """Refuse an index that was begun from other text, or with another model or configuration."""
    if begun.corpus != asked.corpus:
        names = ", ".join(text["name"] for text in asked.corpus)
        raise ConfigError(
            f"{folder} was built from other text than {names} is now; choose another --out, or "
            "remove it to build it again"
        )
    for name, other in (
        ("model", begun.model.hash != asked.model.hash),
        ("calibration", begun.model.calibration != asked.model.calibration),
        ("tokenizer", begun.model.tokenizer != asked.model.tokenizer),
        ("config", begun.config != asked.config),
        ("model", begun.dim != asked.dim),
    ):
        if other:
            raise ConfigError(
                f"{folder} was begun with another {name}; choose another --out, or remove it"
            )

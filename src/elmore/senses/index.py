"""A corpus in, each occurrence of its words as a vector with its sentence and place out, on disk.

An index is a folder of files to which blocks of sentences are appended, and index.json, which says
how long each of them is. It is replaced after each block, so a build that was killed goes on from
the last whole block: whatever stands behind it is cut off. Nothing is held in memory but one block
and the list of words.

| file | holds |
|---|---|
| vectors-N.f16 | for each occurrence its vector on layer N, float16 |
| occurrences.i32 | for each its word, its sentence and its place there |
| sentences.txt, sentences.i64 | the tokens of each sentence, and where it ends |
| words.txt | the words, in the order of their first occurrence |
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import read_format, write_json
from elmore.text import normalize
from elmore.text.reading import Reading

FACTS, OCCURRENCES = "index.json", "occurrences.i32"
SENTENCES, ENDS, WORDS = "sentences.txt", "sentences.i64", "words.txt"
FORMAT = "elmore-index-1"

_LINES_AT_ONCE = 1024  # a block
_TOKENS_AT_ONCE = 32_768  # whose vectors are in memory

Ints = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float16]


@dataclass(frozen=True)
class IndexConfig:
    """What is kept of a corpus."""

    layers: tuple[int, ...]
    """The layers whose vectors are kept."""
    words: tuple[str, ...] | None = None
    """The words that are kept; None: all."""
    max_per_word: int | None = None
    """The most occurrences of a word that are kept, the first ones; None: all."""
    split_sentences: str | None = None
    """A language whose rules split each line into sentences."""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ConfigError("there is no layer to keep; name at least one")
        if self.words is not None and not self.words:
            raise ConfigError("the list of words is empty; name at least one, or none for all")
        if self.max_per_word is not None and self.max_per_word < 1:
            raise ConfigError(f"max_per_word is {self.max_per_word}; expected at least 1")


@dataclass
class Facts:
    """How far an index has come: the lengths of its files."""

    n_lines: int = 0
    """Lines of the corpus that were read."""
    n_sentences: int = 0
    n_occurrences: int = 0
    n_words: int = 0
    sentence_bytes: int = 0
    word_bytes: int = 0
    is_whole: bool = False
    """Whether the whole corpus was read."""


@dataclass(frozen=True)
class Occurrence:
    """A word where it stands."""

    word: str
    tokens: tuple[str, ...]
    """Its sentence."""
    place: int
    """Which of the tokens it is."""


class OccurrenceIndex:
    """An index that was built, its files mapped into memory."""

    def __init__(self, folder: Path, content: dict[str, Any]) -> None:
        self.folder = folder
        self.layers: tuple[int, ...] = tuple(content["config"]["layers"])
        self.dim: int = content["dim"]
        self.model: dict[str, Any] = content["model"]
        """Where the biLM was, its hash, and how it was given text."""
        self.facts = Facts(**content["facts"])
        self.content = content
        """All that index.json says."""

    @classmethod
    def open(cls, folder: str | Path) -> "OccurrenceIndex":
        """Open an index."""
        folder = Path(folder)
        content = _read_facts(folder)
        if content is None:
            raise FormatError(f"{folder} has no {FACTS}; expected an index (elmore index)")
        found = cls(folder, content)
        if not found.facts.is_whole:
            raise FormatError(
                f"{folder} is not finished: {found.facts.n_lines:,} lines were read; "
                "the command that built it goes on"
            )
        if not found.facts.n_occurrences:
            raise DataError(
                f"{folder} holds no occurrence: no word that was asked for is in the text; "
                "words are compared as they are written"
            )
        for name, size in _sizes(found.facts, found.layers, found.dim).items():
            path = folder / name
            if not path.exists() or path.stat().st_size != size:
                raise FormatError(f"{path} is not as it was written; build the index again")
        return found

    def __len__(self) -> int:
        return self.facts.n_occurrences

    def check_model(self, elmo: Elmo) -> None:
        """Refuse a biLM that is not the one the index was built with."""
        if elmo.model.fingerprint() != self.model["hash"]:
            raise FormatError(
                f"{self.folder} was built with another model ({self.model['source']}); "
                "its vectors cannot be compared with this one's"
            )

    @cached_property
    def words(self) -> list[str]:
        """The words, by number."""
        return (self.folder / WORDS).read_text("utf-8").split("\n")[:-1]

    @cached_property
    def _word_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _occurrences(self) -> npt.NDArray[np.int32]:
        """(N, 3): word, sentence, place."""
        return np.memmap(self.folder / OCCURRENCES, np.int32, "r", shape=(len(self), 3))

    @cached_property
    def _ends(self) -> Ints:
        return np.memmap(self.folder / ENDS, np.int64, "r", shape=(self.facts.n_sentences,))

    @cached_property
    def _by_word(self) -> tuple[Ints, Ints]:
        """All rows ordered by word, and where each word's begin."""
        numbers = np.asarray(self._occurrences[:, 0])
        order = np.argsort(numbers, kind="stable")
        return order, np.searchsorted(numbers[order], np.arange(len(self.words) + 1))

    def vectors(self, layer: int) -> Vectors:
        """Return the vectors of all occurrences on a layer, (N, D), mapped."""
        if layer not in self.layers:
            raise ConfigError(
                f"{self.folder} has no layer {layer}; it has {', '.join(map(str, self.layers))}"
            )
        return np.memmap(
            self.folder / _vectors(layer), np.float16, "r", shape=(len(self), self.dim)
        )

    def rows(self, word: str) -> Ints:
        """Return which occurrences are of a word."""
        word = normalize(word, self.model["normalization"])
        if word not in self._word_numbers:
            raise DataError(f"{word!r} does not occur in {self.folder}; choose another word")
        order, starts = self._by_word
        number = self._word_numbers[word]
        return order[starts[number] : starts[number + 1]]

    def occurrence(self, row: int) -> Occurrence:
        """Return one occurrence."""
        word, sentence, place = self._occurrences[row].tolist()
        start = 0 if sentence == 0 else int(self._ends[sentence - 1])
        with (self.folder / SENTENCES).open("rb") as file:
            file.seek(start)
            text = file.read(int(self._ends[sentence]) - start).decode("utf-8")
        return Occurrence(self.words[word], tuple(text.removesuffix("\n").split(" ")), place)


def build_index(
    elmo: Elmo,
    lines: Iterable[str],
    folder: Path,
    config: IndexConfig,
    *,
    source: Sequence[str],
    progress: Callable[[int, int], None] = lambda n_lines, n_occurrences: None,
) -> OccurrenceIndex:
    """Build an index of `lines`, or go on with one; `source` names the corpus.

    `progress` is told how many more lines were read and occurrences kept.
    """
    for layer in config.layers:
        if not 0 <= layer < elmo.n_layers:
            raise ConfigError(f"there is no layer {layer}; the model has 0 to {elmo.n_layers - 1}")
    content: dict[str, Any] = {
        "format": FORMAT,
        "model": {
            "source": elmo.source,
            "hash": elmo.model.fingerprint(),
            "tokenizer": elmo.tokenizer.name,
            "normalization": elmo.model.normalization,
        },
        "config": json.loads(json.dumps(asdict(config))),  # as it will be read again
        "corpus": list(source),
        "dim": elmo.dim,
        "facts": asdict(Facts()),
    }
    begun = _read_facts(folder)
    if begun is not None:
        _check_same(begun, content, folder)
        content = begun
    elif folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty and no index; choose another name")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        _write_facts(folder, content)
    facts = Facts(**content["facts"])
    if not facts.is_whole:
        builder = _Builder(elmo, folder, config, facts)
        for n_lines, n_kept in builder.read(islice(iter(lines), facts.n_lines, None)):
            _write_facts(folder, {**content, "facts": asdict(facts)})
            progress(n_lines, n_kept)
    return OccurrenceIndex.open(folder)


class _Builder:
    """Appends blocks of sentences to the files of an index."""

    def __init__(self, elmo: Elmo, folder: Path, config: IndexConfig, facts: Facts) -> None:
        self.elmo, self.folder, self.config, self.facts = elmo, folder, config, facts
        self.reading = Reading(elmo.tokenizer, elmo.model.normalization, config.split_sentences)
        self.wanted = config.words and frozenset(
            normalize(word, elmo.model.normalization) for word in config.words
        )
        for name, size in _sizes(facts, config.layers, elmo.dim).items():
            with (folder / name).open("ab") as file:
                file.truncate(size)  # what a killed build left behind the last whole block
        words = (folder / WORDS).read_text("utf-8").split("\n")[:-1]
        self.numbers = {word: number for number, word in enumerate(words)}
        known = np.fromfile(folder / OCCURRENCES, np.int32).reshape(-1, 3)[:, 0]
        self.counts = np.bincount(known, minlength=len(words)).tolist()

    def read(self, lines: Iterator[str]) -> Iterator[tuple[int, int]]:
        """Append all lines; say after each block how many lines it had and what was kept."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context((self.folder / name).open("ab"))
                for name in _sizes(self.facts, self.config.layers, self.elmo.dim)
            }
            while True:
                block = list(islice(lines, _LINES_AT_ONCE))
                n_kept = self._append(block, files)
                self.facts.n_lines += len(block)
                self.facts.is_whole = not block
                for file in files.values():
                    file.flush()
                    os.fsync(file.fileno())
                yield len(block), n_kept
                if not block:
                    return

    def _append(self, lines: list[str], files: Mapping[str, IO[bytes]]) -> int:
        """Write the occurrences of some lines that are wanted; return how many there are."""
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
                with np.errstate(over="ignore"):  # said below
                    stored = vectors[layer, places].astype(np.float16)
                if not np.isfinite(stored).all():
                    raise DataError(
                        f"layer {layer} has numbers above 65,504, the most that float16 holds; "
                        "leave the layer out"
                    )
                files[_vectors(layer)].write(stored.tobytes())
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
    ) -> Iterator[tuple[list[str], list[int], npt.NDArray[np.float32]]]:
        """Give each sentence and the places in it with all its vectors, (L + 1, T, D)."""
        first = n_tokens = 0
        for last, (tokens, _) in enumerate(kept, start=1):
            n_tokens += len(tokens)
            if n_tokens < _TOKENS_AT_ONCE and last < len(kept):
                continue
            some = kept[first:last]
            read = self.elmo.encode_tokens([words for words, _ in some], layers="all")
            for (words, places), found in zip(some, read, strict=True):
                yield words, places, found.vectors
            first, n_tokens = last, 0

    def _take(self, word: str, files: Mapping[str, IO[bytes]]) -> bool:
        """Whether an occurrence of a word is kept; a new word is written down."""
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


def _vectors(layer: int) -> str:
    return f"vectors-{layer}.f16"


def _sizes(facts: Facts, layers: Sequence[int], dim: int) -> dict[str, int]:
    """Return how long each file is."""
    return {
        **{_vectors(layer): 2 * dim * facts.n_occurrences for layer in layers},
        OCCURRENCES: 12 * facts.n_occurrences,
        SENTENCES: facts.sentence_bytes,
        ENDS: 8 * facts.n_sentences,
        WORDS: facts.word_bytes,
    }


def _read_facts(folder: Path) -> dict[str, Any] | None:
    if not (folder / FACTS).exists():
        return None
    return read_format(folder / FACTS, FORMAT)


def _write_facts(folder: Path, content: dict[str, Any]) -> None:
    beside = folder / f"{FACTS}.part"
    write_json(beside, content)
    beside.replace(folder / FACTS)


def _check_same(begun: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    for name, other in (
        ("model", begun["model"]["hash"] != asked["model"]["hash"]),
        ("tokenizer", begun["model"]["tokenizer"] != asked["model"]["tokenizer"]),
        ("config", begun["config"] != asked["config"]),
        ("corpus", begun["corpus"] != asked["corpus"]),
    ):
        if other:
            raise ConfigError(
                f"{folder} was begun with another {name}; choose another --out, or remove it"
            )

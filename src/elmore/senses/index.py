"""Each occurrence of a corpus's words on disk: its vector, its sentence, its place there.

An index is a folder of files, and index.json, which has the size of each.

| file | holds |
|---|---|
| vectors-N.f16 | for each occurrence its vector on layer N (or context, expected), float16 |
| occurrences.i32 | for each its word, its sentence and its place there |
| sentences.txt, sentences.i64 | the tokens of each sentence, and where it ends |
| words.txt | the words, in the order of their first occurrence |

Vectors of a calibrated model are standardized.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.embed.layers import layers_dim
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import read_format
from elmore.formats.calibration import Layer
from elmore.text import normalize

FACTS, OCCURRENCES = "index.json", "occurrences.i32"
SENTENCES, ENDS, WORDS = "sentences.txt", "sentences.i64", "words.txt"
FORMAT = "elmore-index-1"

Ints = npt.NDArray[np.int64]
StoredVectors = npt.NDArray[np.float16]


@dataclass(frozen=True)
class IndexConfig:
    """What an index holds of a corpus."""

    layers: tuple[Layer, ...]
    """The layers that are indexed."""
    words: tuple[str, ...] | None = None
    """The words that are indexed; None: all."""
    max_per_word: int | None = None
    """The most occurrences of a word that are indexed, the first ones; None: all."""
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
    """How far the build of an index is: the sizes of its files."""

    n_lines: int = 0
    """Lines of the corpus that were read."""
    n_sentences: int = 0
    n_occurrences: int = 0
    n_words: int = 0
    sentence_bytes: int = 0
    word_bytes: int = 0
    is_whole: bool = False
    """Whether the build is finished."""


@dataclass(frozen=True)
class Occurrence:
    """A word in its sentence."""

    word: str
    tokens: tuple[str, ...]
    """Its sentence."""
    place: int
    """Which of the tokens it is."""


class OccurrenceIndex:
    """An index on disk, its files memory-mapped."""

    def __init__(self, folder: Path, content: dict[str, Any]) -> None:
        self.folder = folder
        self.layers: tuple[Layer, ...] = tuple(content["config"]["layers"])
        self.dim: int = content["dim"]
        self.model: dict[str, Any] = content["model"]
        """Where the biLM was, its hash and calibration, the tokenizer and normalization."""
        self.is_standardized = self.model.get("calibration") is not None
        """Whether the vectors are standardized by the model's calibration."""
        self.facts = Facts(**content["facts"])
        self.content = content
        """All that index.json says."""

    @classmethod
    def load(cls, folder: str | Path) -> "OccurrenceIndex":
        """Load an index that was built; its files are memory-mapped."""
        folder = Path(folder)
        content = read_facts(folder)
        if content is None:
            raise FormatError(f"{folder} has no {FACTS}; expected an index (elmore index)")
        found = cls(folder, content)
        if not found.facts.is_whole:
            raise FormatError(
                f"{folder} is not finished: {found.facts.n_lines:,} lines were read; "
                "the command that built it resumes"
            )
        if not found.facts.n_occurrences:
            raise DataError(
                f"{folder} holds no occurrence: no word that was asked for is in the text; "
                "words are case-sensitive"
            )
        for name, size in file_sizes(found.facts, found.layers, found.dim).items():
            path = folder / name
            if not path.exists() or path.stat().st_size != size:
                raise FormatError(f"{path} is damaged: its size is wrong; build the index again")
        return found

    def __len__(self) -> int:
        return self.facts.n_occurrences

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer that it was built with."""
        return str(self.model["tokenizer"])

    @property
    def cosine_kind(self) -> str:
        """Whether its cosines are of standardized vectors, in words."""
        return "standardized by the model's calibration" if self.is_standardized else "raw"

    def load_model(self, source: str | None = None) -> Elmo:
        """Load the model that it was built with, from `source` or from where it was then."""
        source = source or self.model["source"]
        if source is None:
            raise ConfigError(f"{self.folder} does not say where its model is; name it (--model)")
        elmo = Elmo.from_pretrained(source, tokenizer=self.tokenizer)
        self.check_model(elmo)
        return elmo

    def check_model(self, elmo: Elmo) -> None:
        """Refuse a biLM that is not the one the index was built with."""
        if elmo.model.fingerprint() != self.model["hash"]:
            raise FormatError(
                f"{self.folder} was built with another model ({self.model['source']}); "
                "its vectors cannot be compared with this one's"
            )
        calibration = elmo.model.calibration
        if self.is_standardized and (
            calibration is None or calibration.fingerprint() != self.model["calibration"]
        ):
            raise FormatError(
                f"{self.folder} was built with another calibration of the model; "
                "name the model with that calibration, or build the index again"
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

    def vectors(self, layer: Layer) -> StoredVectors:
        """Return the vectors of all occurrences on a layer, (N, D), mapped; D / 2 of "expected"."""
        if layer not in self.layers:
            raise ConfigError(
                f"{self.folder} has no layer {layer}; it has {', '.join(map(str, self.layers))}"
            )
        shape = (len(self), layers_dim(layer, self.dim))
        return np.memmap(self.folder / vectors_file(layer), np.float16, "r", shape=shape)

    def rows(self, word: str) -> Ints:
        """Return which occurrences are of a word."""
        word = normalize(word, self.model["normalization"])
        if word not in self._word_numbers:
            others = [one for one in self.words if one.casefold() == word.casefold()]
            hint = f"; {', '.join(map(repr, others))} does" if others else "; choose another word"
            raise DataError(f"{word!r} does not occur in {self.folder}{hint}")
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


def layer_name(layer: Layer) -> str:
    """Return the name of a layer for people."""
    return f"layer {layer}" if isinstance(layer, int) else layer


def vectors_file(layer: Layer) -> str:
    """Return the name of the file of a layer's vectors."""
    return f"vectors-{layer}.f16"


def file_sizes(facts: Facts, layers: Sequence[Layer], dim: int) -> dict[str, int]:
    """Return the size of each file in bytes."""
    return {
        **{
            vectors_file(layer): 2 * layers_dim(layer, dim) * facts.n_occurrences
            for layer in layers
        },
        OCCURRENCES: 12 * facts.n_occurrences,
        SENTENCES: facts.sentence_bytes,
        ENDS: 8 * facts.n_sentences,
        WORDS: facts.word_bytes,
    }


def read_facts(folder: Path) -> dict[str, Any] | None:
    """Read index.json; None if there is none."""
    if not (folder / FACTS).exists():
        return None
    return read_format(folder / FACTS, FORMAT)

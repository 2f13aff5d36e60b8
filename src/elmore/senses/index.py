"""Each occurrence of a corpus's words on disk: its vector, its sentence, its place there.

The files are those of index_file.py. They are memory-mapped, and verified as they are read.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore.checksums import check_file
from elmore.corpus.parts import read_parts
from elmore.embed import Elmo
from elmore.embed.layers import layers_dim
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats.calibration import Layer
from elmore.senses.blocks import BLOCK_BYTES, FIX, CheckedRows, Checksums
from elmore.senses.index_file import (
    CHECKSUMS,
    ENDS,
    FACTS,
    OCCURRENCES,
    SENTENCES,
    WORDS,
    IndexFile,
    file_sizes,
    read_facts,
    vectors_file,
)
from elmore.text import normalize

Ints = npt.NDArray[np.int64]
StoredVectors = CheckedRows | npt.NDArray[np.float16]


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

    def __init__(self, folder: Path, content: IndexFile) -> None:
        self.folder = folder
        self.layers: tuple[Layer, ...] = content.config.layers
        self.dim = content.dim
        self.model = content.model
        """Where the biLM was, its hash and calibration, the tokenizer and normalization."""
        self.is_standardized = self.model.calibration is not None
        """Whether the vectors are standardized by the model's calibration."""
        self.facts = content.facts
        self.content = content
        """All that index.json says."""
        self._vectors: dict[Layer, CheckedRows] = {}

    @classmethod
    def load(cls, folder: str | Path) -> "OccurrenceIndex":
        """Load an index that was built; its files are memory-mapped.

        Their sizes are checked now, their blocks when they are first read.
        """
        folder = Path(folder)
        content = read_facts(folder)
        if content is None and read_parts(folder) is not None:
            raise FormatError(f"{folder} is not finished; the command that began it resumes")
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
        for name, size in found._sizes.items():
            path = folder / name
            if not size or not path.is_file() or path.stat().st_size != size:
                raise FormatError(f"{path} is damaged: its size is wrong; {FIX}")
        _ = found._checksums  # small, and so verified now
        return found

    def __len__(self) -> int:
        return self.facts.n_occurrences

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer that it was built with."""
        return self.model.tokenizer

    @property
    def cosine_kind(self) -> str:
        """Whether its cosines are of standardized vectors, in words."""
        return "standardized by the model's calibration" if self.is_standardized else "raw"

    def load_model(self, source: str | None = None) -> Elmo:
        """Load the model that it was built with, from `source` or from where it was then.

        Nothing is downloaded unless `source` says so.
        """
        if source is None:
            source = self.model.source
            if source is None:
                raise ConfigError(
                    f"{self.folder} does not say where its model is; name it (--model)"
                )
            if source.startswith("hf://"):
                raise ConfigError(
                    f"the model of {self.folder} would be downloaded from {source}; "
                    f"to allow that, name it (--model {source})"
                )
        elmo = Elmo.from_pretrained(source, tokenizer=self.tokenizer)
        self.check_model(elmo)
        return elmo

    def check_model(self, elmo: Elmo) -> None:
        """Refuse a biLM that is not the one the index was built with."""
        if elmo.model.fingerprint() != self.model.hash:
            raise FormatError(
                f"{self.folder} was built with another model ({self.model.source}); "
                "its vectors cannot be compared with this one's"
            )
        calibration = elmo.model.calibration
        if self.is_standardized and (
            calibration is None or calibration.fingerprint() != self.model.calibration
        ):
            raise FormatError(
                f"{self.folder} was built with another calibration of the model; "
                "name the model with that calibration, or build the index again"
            )

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return file_sizes(self.facts, self.layers, self.dim)

    @cached_property
    def _checksums(self) -> dict[str, Checksums] | None:
        """The checksums of the blocks of each file; None if the index has none."""
        if self.content.files is None:
            return None
        said = self.content.files
        path = self.folder / CHECKSUMS
        if {name: said[name].size for name in said if name != CHECKSUMS} != self._sizes or (
            CHECKSUMS not in said
        ):
            raise FormatError(f"{self.folder / FACTS}: files is not of this index; {FIX}")
        check_file(path, said[CHECKSUMS], fix=FIX)
        counts = [-(-size // BLOCK_BYTES) for size in self._sizes.values()]
        found = np.fromfile(path, "<u8")
        if len(found) != sum(counts):
            raise FormatError(f"{path} is damaged: its size is wrong; {FIX}")
        return dict(zip(self._sizes, np.split(found, np.cumsum(counts)[:-1]), strict=True))

    def _rows_of(self, name: str, dtype: str, *shape: int) -> CheckedRows:
        checksums = self._checksums
        path = self.folder / name
        try:
            return CheckedRows(path, dtype, shape, None if checksums is None else checksums[name])
        except ValueError:  # its size changed since it was loaded
            raise FormatError(f"{path} is damaged: its size is wrong; {FIX}") from None

    def _damaged(self, name: str, what: str) -> FormatError:
        return FormatError(f"{self.folder / name} is damaged: {what}; {FIX}")

    @cached_property
    def words(self) -> list[str]:
        """The words, by number."""
        content = bytes(self._rows_of(WORDS, "u1", self.facts.word_bytes)[:])
        try:
            found = content.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            raise self._damaged(WORDS, "it is not UTF-8") from None
        if len(found) != self.facts.n_words:
            raise self._damaged(WORDS, f"it has {len(found)} words, not {self.facts.n_words}")
        return found

    @cached_property
    def _word_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def _occurrences(self) -> CheckedRows:
        """(N, 3): word, sentence, place."""
        return self._rows_of(OCCURRENCES, "<i4", len(self), 3)

    @cached_property
    def _ends(self) -> CheckedRows:
        return self._rows_of(ENDS, "<i8", self.facts.n_sentences)

    @cached_property
    def _sentences(self) -> CheckedRows:
        return self._rows_of(SENTENCES, "u1", self.facts.sentence_bytes)

    @cached_property
    def _by_word(self) -> tuple[Ints, Ints]:
        """All rows ordered by word, and where each word's begin."""
        numbers = np.asarray(self._occurrences[:][:, 0])
        order = np.argsort(numbers, kind="stable")
        return order, np.searchsorted(numbers[order], np.arange(len(self.words) + 1))

    def vectors(self, layer: Layer) -> CheckedRows:
        """Return the vectors of all occurrences on a layer, (N, D), mapped; D / 2 of "expected"."""
        if layer not in self.layers:
            raise ConfigError(
                f"{self.folder} has no layer {layer}; it has {', '.join(map(str, self.layers))}"
            )
        if layer not in self._vectors:
            dim = layers_dim(layer, self.dim)
            self._vectors[layer] = self._rows_of(vectors_file(layer), "<f2", len(self), dim)
        return self._vectors[layer]

    def rows(self, word: str) -> Ints:
        """Return which occurrences are of a word."""
        word = normalize(word, self.model.normalization)
        if word not in self._word_numbers:
            others = [one for one in self.words if one.casefold() == word.casefold()]
            hint = f"; {', '.join(map(repr, others))} does" if others else "; choose another word"
            raise DataError(f"{word!r} does not occur in {self.folder}{hint}")
        order, starts = self._by_word
        number = self._word_numbers[word]
        return order[starts[number] : starts[number + 1]]

    def keys(self, start: int, end: int) -> npt.NDArray[np.int32]:
        """Return the word, the sentence and the place of some occurrences, (N, 3)."""
        found: npt.NDArray[np.int32] = self._occurrences[start:end]
        return found

    def occurrence(self, row: int) -> Occurrence:
        """Return one occurrence."""
        word, sentence, place = self._occurrences[row].tolist()
        if not (0 <= word < len(self.words) and 0 <= sentence < self.facts.n_sentences):
            raise self._damaged(OCCURRENCES, f"occurrence {row} is of no word or sentence")
        start = 0 if sentence == 0 else int(self._ends[sentence - 1])
        end = int(self._ends[sentence])
        if not 0 <= start < end <= self.facts.sentence_bytes:
            raise self._damaged(ENDS, f"sentence {sentence} ends where it cannot")
        try:
            text = bytes(self._sentences[start:end]).decode("utf-8")
        except UnicodeDecodeError:
            raise self._damaged(SENTENCES, f"sentence {sentence} is not UTF-8") from None
        tokens = tuple(text.removesuffix("\n").split(" "))
        if not 0 <= place < len(tokens):
            raise self._damaged(OCCURRENCES, f"occurrence {row} is not in its sentence")
        return Occurrence(self.words[word], tokens, place)


def layer_name(layer: Layer) -> str:
    """Return the name of a layer for people."""
    return f"layer {layer}" if isinstance(layer, int) else layer

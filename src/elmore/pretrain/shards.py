"""A folder that `prepare` made in, memory-mapped word ids and the spelling of each out.

A shard is one file of about a million words: where each sentence ends (int64), where the spelling
of each outside word ends (int64), the ids of all words (int32), the spellings (UTF-8).

Ids up to the length V of the vocabulary are its rows. A word outside of it is predicted as `<UNK>`
but read by its spelling, so each shard numbers its own outside words, from V on: first those of
the first training shard, last those of the last held-out shard.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.errors import FormatError
from elmore.formats.pretrained import read_json
from elmore.text import UNKNOWN, CharEncoder, Vocab

MANIFEST, VOCAB = "manifest.json", "vocab.txt"
FORMAT = "elmore-corpus-1"

_ENDS, _IDS = np.dtype("<i8"), np.dtype("<i4")
_WORDS_AT_ONCE = 2**14


@dataclass(frozen=True)
class Shard:
    """Some sentences of a corpus. The file is mapped when it is first used, until `close`."""

    path: Path
    n_words: int
    n_sentences: int
    n_unknown: int
    """How many of its words are predicted as `<UNK>`."""
    n_outside: int
    """How many different words it has that are not in the vocabulary."""
    first_outside: int
    """The id of the first of them; the others follow."""

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """The words of all sentences, one sentence after the other, without marks; (n_words,)."""
        return self._part(_IDS, 8 * (self.n_sentences + self.n_outside), self.n_words)

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """Where each sentence ends in `ids`, (n_sentences,)."""
        return self._part(_ENDS, 0, self.n_sentences)

    def spell(self, ids: npt.NDArray[np.int64], max_characters: int) -> npt.NDArray[np.int16]:
        """Return the characters of outside words of this shard, (ids, max_characters)."""
        words = ids - self.first_outside
        word_ends = self._part(_ENDS, 8 * self.n_sentences, self.n_outside)
        spellings = self._bytes[8 * (self.n_sentences + self.n_outside) + 4 * self.n_words :]
        starts = np.where(words > 0, word_ends[words - 1], 0)
        lengths = np.minimum(word_ends[words] - starts, max_characters - 2)
        # The alphabet is CharEncoder's: these are its ids of the marks and of byte 0.
        begin, byte_0, end, padding = CharEncoder(4).encode(["\0"])[0]
        rows = np.full((len(ids), max_characters), padding, dtype=np.int16)
        rows[:, 0] = begin
        word, place = np.nonzero(np.arange(max_characters - 2) < lengths[:, None])
        rows[word, place + 1] = spellings[starts[word] + place].astype(np.int16) + byte_0
        rows[np.arange(len(ids)), lengths + 1] = end
        return rows

    def close(self) -> None:
        """Let go of the file; it is mapped again when it is next used."""
        self.__dict__.pop("_bytes", None)

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        return np.memmap(self.path, np.uint8, "r")

    def _part(self, dtype: np.dtype[Any], start: int, length: int) -> npt.NDArray[Any]:
        return self._bytes[start : start + length * dtype.itemsize].view(dtype)


def write_shard(path: Path, ids: Any, ends: Any, outside: list[bytes]) -> None:
    """Write what a `Shard` reads: ids, ends of sentences and spellings of outside words."""
    word_ends = np.cumsum([len(word) for word in outside], dtype=_ENDS)
    with path.open("wb") as file:
        file.write(np.asarray(ends, _ENDS).tobytes())
        file.write(word_ends.tobytes())
        file.write(np.asarray(ids, _IDS).tobytes())
        file.writelines(outside)


@dataclass(frozen=True)
class Split:
    """The training text or the held-out text."""

    n_words: int
    n_sentences: int
    n_unknown: int
    shards: tuple[Shard, ...]


class Corpus:
    """A prepared text: its vocabulary, its sentences as ids, and the spelling of each id."""

    def __init__(self, folder: Path, vocab: Vocab, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.vocab = vocab
        """Its rows are the first ids."""
        self.manifest = manifest
        """What the folder was made from and what it holds, hashes included."""
        self.unknown = int(vocab.encode([UNKNOWN])[0])
        """The row that stands for every id outside of the vocabulary where words are predicted."""
        self.training = self._split("training")
        self.held_out = self._split("held_out")
        self._shards = self.training.shards + self.held_out.shards
        self._first_outside = np.array([shard.first_outside for shard in self._shards])
        self._vocab_rows: dict[int, npt.NDArray[np.int16]] = {}

    @classmethod
    def open(cls, folder: Path) -> "Corpus":
        """Open a folder that `prepare` made; its files must have the sizes that they had then."""
        path = folder / MANIFEST
        if not path.exists():
            raise FormatError(f"{folder} has no {MANIFEST}; expected a prepared corpus")
        manifest = read_json(path)
        if manifest.get("format") != FORMAT:
            raise FormatError(
                f"{path}: format is {manifest.get('format')!r}; this version reads {FORMAT!r}"
            )
        try:
            _check_sizes(folder, manifest["files"])
            return cls(folder, Vocab.read(folder / VOCAB), manifest)
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(
                f"{path} is not as it was written ({error!r}); {_prepare_again(folder)}"
            ) from None

    def spell(self, ids: npt.NDArray[np.int64], max_characters: int) -> npt.NDArray[np.int16]:
        """Return the rows that `CharEncoder` gives these words, (ids, max_characters)."""
        rows: npt.NDArray[np.int16] = self._spell_vocab(max_characters)[
            np.minimum(ids, len(self.vocab) - 1)
        ]
        (places,) = np.nonzero(ids >= len(self.vocab))
        shards = np.searchsorted(self._first_outside, ids[places], side="right") - 1
        for number in np.unique(shards):
            here = places[shards == number]
            rows[here] = self._shards[number].spell(ids[here], max_characters)
        return rows

    def _spell_vocab(self, max_characters: int) -> npt.NDArray[np.int16]:
        if max_characters not in self._vocab_rows:
            encoder, words = CharEncoder(max_characters), self.vocab.words
            rows = np.empty((len(words), max_characters), dtype=np.int16)
            for start in range(0, len(words), _WORDS_AT_ONCE):
                some = words[start : start + _WORDS_AT_ONCE]
                rows[start : start + len(some)] = encoder.encode(some)
            self._vocab_rows[max_characters] = rows
        return self._vocab_rows[max_characters]

    def _split(self, name: str) -> Split:
        found = dict(self.manifest[name])
        shards = (
            Shard(self.folder / shard.pop("file"), **shard)
            for shard in map(dict, found.pop("shards"))
        )
        return Split(shards=tuple(shards), **found)


def _check_sizes(folder: Path, files: Mapping[str, Any]) -> None:
    for name, expected in files.items():
        path = folder / name
        found = path.stat().st_size if path.exists() else "no"
        if found != expected["size"]:
            raise FormatError(
                f"{path} has {found} bytes, expected {expected['size']}; {_prepare_again(folder)}"
            )


def _prepare_again(folder: Path) -> str:
    return f"remove {folder} and prepare the text again"

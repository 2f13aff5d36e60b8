"""A folder that `prepare` made in, memory-mapped word ids and the word of each out.

A shard is one file of about a million words: the ends of sentences (int64), the ends of the outside
words' bytes (int64), the ids of all words (int32), the outside words (UTF-8).

Ids below the size V of the vocabulary are its rows. A word outside of it is predicted as `<UNK>`
but encoded from its characters, so each shard numbers its own outside words, from V on: first those
of the first training shard, last those of the last held-out shard.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.errors import FormatError
from elmore.folders import read_format
from elmore.model import BiLMConfig
from elmore.text import UNKNOWN, CharEncoder, Vocab

MANIFEST, VOCAB = "manifest.json", "vocab.txt"
FORMAT = "elmore-corpus-1"

_ENDS, _IDS = np.dtype("<i8"), np.dtype("<i4")
_WORDS_AT_ONCE = 2**14

IdEncoder = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.integer]]
"""Turns word ids into the token ids that a network reads."""


@dataclass(frozen=True)
class Shard:
    """Some sentences of a corpus; the file is memory-mapped from its first use until `close`."""

    path: Path
    n_words: int
    n_sentences: int
    n_unknown: int
    """Words that are predicted as `<UNK>`."""
    n_outside: int
    """Distinct words that are not in the vocabulary."""
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

    def words(self, ids: npt.NDArray[np.int64]) -> list[str]:
        """Return the outside words of this shard that have these ids."""
        places = ids - self.first_outside
        word_ends = self._part(_ENDS, 8 * self.n_sentences, self.n_outside)
        encoded = self._bytes[8 * (self.n_sentences + self.n_outside) + 4 * self.n_words :]
        starts = np.where(places > 0, word_ends[places - 1], 0)
        return [
            encoded[start:end].tobytes().decode("utf-8")
            for start, end in zip(starts, word_ends[places], strict=True)
        ]

    def close(self) -> None:
        """Unmap the file; the next use maps it again."""
        self.__dict__.pop("_bytes", None)

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        return np.memmap(self.path, np.uint8, "r")

    def _part(self, dtype: np.dtype[Any], start: int, length: int) -> npt.NDArray[Any]:
        return self._bytes[start : start + length * dtype.itemsize].view(dtype)


def write_shard(path: Path, ids: Any, ends: Any, outside: list[bytes]) -> None:
    """Write what a `Shard` reads: ids, ends of sentences and outside words."""
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
    """A prepared text: its vocabulary, its sentences as word ids, and the word of each id."""

    def __init__(self, folder: Path, vocab: Vocab, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.vocab = vocab
        """Its rows are the first ids."""
        self.manifest = manifest
        """The content of manifest.json: what the folder was made from, hashes of its files."""
        self.unknown = int(vocab.encode([UNKNOWN])[0])
        """The row of `<UNK>`, as which every word outside the vocabulary is predicted."""
        self.training = self._split("training")
        self.held_out = self._split("held_out")
        self._shards = self.training.shards + self.held_out.shards
        self._first_outside = np.array([shard.first_outside for shard in self._shards])
        self._vocab_rows: dict[CharEncoder, npt.NDArray[np.int16]] = {}

    @classmethod
    def load(cls, folder: Path) -> "Corpus":
        """Load a folder that `prepare` made; its files must have their sizes of then."""
        path = folder / MANIFEST
        if not path.exists():
            raise FormatError(f"{folder} has no {MANIFEST}; expected a prepared corpus")
        manifest = read_format(path, FORMAT)
        try:
            _check_sizes(folder, manifest["files"])
            return cls(folder, Vocab.load(folder / VOCAB), manifest)
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(
                f"{path} is not as it was written ({error!r}); {_prepare_again(folder)}"
            ) from None

    def id_encoder(self, config: BiLMConfig) -> IdEncoder:
        """Return what turns word ids into the token ids that a network of this shape reads."""
        assert config.char_cnn is not None
        encoder = CharEncoder(config.char_cnn.max_characters, config.char_cnn.spelling)
        if config.n_table_words is None:
            return partial(self.char_ids, encoder=encoder)
        return partial(self._char_and_word_ids, encoder=encoder, n_table_words=config.n_table_words)

    def _char_and_word_ids(
        self, ids: npt.NDArray[np.int64], encoder: CharEncoder, n_table_words: int
    ) -> npt.NDArray[np.int64]:
        numbers = np.where(ids < n_table_words, ids + 1, 0)
        return np.column_stack([self.char_ids(ids, encoder), numbers])

    def char_ids(self, ids: npt.NDArray[np.int64], encoder: CharEncoder) -> npt.NDArray[np.int16]:
        """Return the character ids of these words, (ids, max_characters)."""
        rows: npt.NDArray[np.int16] = self._vocab_char_ids(encoder)[
            np.minimum(ids, len(self.vocab) - 1)
        ]
        (places,) = np.nonzero(ids >= len(self.vocab))
        shards = np.searchsorted(self._first_outside, ids[places], side="right") - 1
        for number in np.unique(shards):
            here = places[shards == number]
            rows[here] = encoder.encode(self._shards[number].words(ids[here]))
        return rows

    def _vocab_char_ids(self, encoder: CharEncoder) -> npt.NDArray[np.int16]:
        if encoder not in self._vocab_rows:
            words = self.vocab.words
            rows = np.empty((len(words), encoder.max_characters), dtype=np.int16)
            for start in range(0, len(words), _WORDS_AT_ONCE):
                some = words[start : start + _WORDS_AT_ONCE]
                rows[start : start + len(some)] = encoder.encode(some)
            self._vocab_rows[encoder] = rows
        return self._vocab_rows[encoder]

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

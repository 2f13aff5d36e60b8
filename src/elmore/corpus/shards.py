"""A folder that `prepare` made in, memory-mapped word ids and the word of each out.

A shard is one file of about a million words: the ends of sentences (int64), the ends of the outside
words' bytes (int64), the ids of all words (int32), the outside words (UTF-8). It is checked when it
is first used, all of it at once: 1 ms for a checksum, where blocks would need a table of them.

Ids below the size V of the vocabulary are its rows. A word outside of it is predicted as `<UNK>`
but encoded from its characters, so each shard numbers its own outside words, from V on: first those
of the first training shard, last those of the last held-out shard.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig
from elmore.checksums import CheckedFile
from elmore.corpus.manifest import (
    MANIFEST,
    VOCAB,
    CorpusFile,
    Manifest,
    SplitRecord,
    damaged,
    read_manifest,
)
from elmore.errors import FormatError
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    UNKNOWN,
    IdEncoder,
    Vocab,
)

_ENDS, _IDS = np.dtype("<i8"), np.dtype("<i4")
_WORDS_AT_ONCE = 2**14

Ids = npt.NDArray[np.integer]
EncodeIds = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.integer]]
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
    record: CorpusFile | None = None
    """What the manifest says of the file."""

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
        encoded = self._bytes[self._n_before_words :]
        starts = np.where(places > 0, word_ends[places - 1], 0)
        try:
            return [
                encoded[start:end].tobytes().decode("utf-8")
                for start, end in zip(starts, word_ends[places], strict=True)
            ]
        except UnicodeDecodeError:  # in a corpus without checksums
            raise damaged(self.path, "a word is not UTF-8") from None

    def check(self) -> None:
        """Refuse a file that is not the one that was written."""
        self._bytes  # noqa: B018  which checks it
        self.close()

    def close(self) -> None:
        """Unmap the file; the next use maps it again."""
        self.__dict__.pop("_bytes", None)

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint8]:
        size = self.path.stat().st_size
        if size < self._n_before_words:
            raise damaged(
                self.path, f"it has {size} bytes, expected at least {self._n_before_words}"
            )
        content = np.memmap(self.path, np.uint8, "r")
        if "_is_checked" not in self.__dict__:
            self._check(content)
            self.__dict__["_is_checked"] = True
        return content

    @property
    def _n_before_words(self) -> int:
        return 8 * (self.n_sentences + self.n_outside) + 4 * self.n_words

    def _check(self, content: npt.NDArray[np.uint8]) -> None:
        if self.record is not None:
            self.record.check(self.path, content.data)
        places, ids, words = np.split(
            content, [8 * (self.n_sentences + self.n_outside), self._n_before_words]
        )
        ends, word_ends = np.split(places.view(_ENDS), [self.n_sentences])
        ids = ids.view(_IDS)
        if (
            (np.diff(ends, prepend=0) < 1).any()
            or ends[-1] != self.n_words
            or (np.diff(word_ends, prepend=0) < 0).any()
            or (word_ends[-1] if self.n_outside else 0) != len(words)
            or ids.min() < 0
            or ids.max() >= self.first_outside + self.n_outside
        ):
            raise damaged(self.path, "its sentences or words are not where they should be")

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

    def __init__(
        self,
        folder: Path,
        vocab: Vocab,
        training: SplitRecord,
        held_out: SplitRecord,
        manifest: Manifest | None = None,
    ) -> None:
        """Take the shards in `folder`; without a manifest they have no checksums."""
        self.folder = folder
        self.vocab = vocab
        """Its rows are the first ids."""
        self.text_names = [text.name for text in manifest.texts] if manifest else []
        """The files that the corpus was made from."""
        self.unknown = int(vocab.encode([UNKNOWN])[0])
        """The row of `<UNK>`, as which every word outside the vocabulary is predicted."""
        files = manifest.files if manifest else {}
        self.training = _split(folder, training, files)
        self.held_out = _split(folder, held_out, files)
        self._shards = self.training.shards + self.held_out.shards
        self._first_outside = np.array([shard.first_outside for shard in self._shards])
        self._encoded: dict[IdEncoder, npt.NDArray[np.integer]] = {}

    @classmethod
    def load(cls, folder: Path) -> "Corpus":
        """Load a folder that `prepare` made; its files must have their sizes of then."""
        manifest = read_manifest(folder)
        path = folder / VOCAB
        manifest.files[VOCAB].check(path, memoryview(path.read_bytes()))
        vocab = Vocab.load(path)
        if len(vocab) != manifest.n_vocab_words:
            raise damaged(path, f"it has {len(vocab)} words, expected {manifest.n_vocab_words}")
        for mark in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN):
            if mark not in vocab:
                raise damaged(path, f"it lacks {mark}")
        corpus = cls(folder, vocab, manifest.training, manifest.held_out, manifest)
        n_ids = len(vocab)
        for shard in corpus.training.shards + corpus.held_out.shards:
            if shard.first_outside != n_ids:
                raise FormatError(
                    f"{folder / MANIFEST}: first_outside of {shard.path.name} is "
                    f"{shard.first_outside}; expected {n_ids}"
                )
            n_ids += shard.n_outside
        return corpus

    def check_shards(self) -> None:
        """Refuse shards that are damaged, all at once instead of each at its first use."""
        for shard in self._shards:
            shard.check()

    def id_encoder(self, config: BiLMConfig, alphabet: Vocab | None = None) -> EncodeIds:
        """Return what turns word ids into the token ids that a network of this shape reads.

        `alphabet` is that of a model that has one.
        """
        vocab = None if config.token_encoder.words is None else self.vocab
        encoder = IdEncoder(config.token_encoder, vocab, alphabet)
        return partial(self.token_ids, encoder=encoder)

    def token_ids(self, ids: npt.NDArray[np.int64], encoder: IdEncoder) -> npt.NDArray[np.integer]:
        """Return the token ids of these words, (ids, n_ids)."""
        rows = self._vocab_ids(encoder)[np.minimum(ids, len(self.vocab) - 1)]
        for here, words in self._outside(ids):
            rows[here] = encoder.encode(words)
        return rows

    def words(self, ids: Ids) -> list[str]:
        """Return the words of these ids."""
        inside = self.vocab.words
        found = [inside[i] if i < len(inside) else "" for i in ids.tolist()]
        for here, words in self._outside(ids):
            for place, word in zip(here.tolist(), words, strict=True):
                found[place] = word
        return found

    def _outside(self, ids: Ids) -> Iterator[tuple[Ids, list[str]]]:
        """Yield the positions of words outside the vocabulary, and these words, by shard."""
        (places,) = np.nonzero(ids >= len(self.vocab))
        shards = np.searchsorted(self._first_outside, ids[places], side="right") - 1
        for number in np.unique(shards):
            here = places[shards == number]
            yield here, self._shards[number].words(np.asarray(ids[here], np.int64))

    def _vocab_ids(self, encoder: IdEncoder) -> npt.NDArray[np.integer]:
        if encoder not in self._encoded:
            words = self.vocab.words
            chars = encoder.config.chars
            largest = max(chars.n_characters if chars else 0, len(words) if encoder.vocab else 0)
            dtype = np.int16 if largest < 2**15 else np.int32
            rows = np.empty((len(words), encoder.config.n_ids), dtype=dtype)
            for start in range(0, len(words), _WORDS_AT_ONCE):
                some = words[start : start + _WORDS_AT_ONCE]
                rows[start : start + len(some)] = encoder.encode(some)
            self._encoded[encoder] = rows
        return self._encoded[encoder]


def verify_corpus(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of a prepared corpus: against its checksum, and by reading it."""
    manifest = read_manifest(folder)
    yield CheckedFile(MANIFEST, manifest.checksum is not None)
    parts = [
        _split(folder, part, manifest.files) for part in (manifest.training, manifest.held_out)
    ]
    checks = {shard.path.name: shard.check for part in parts for shard in part.shards}
    for name, record in manifest.files.items():
        problem = None
        try:
            checks.get(name, partial(Corpus.load, folder))()
        except FormatError as error:
            problem = str(error)
        yield CheckedFile(name, bool(record.xxh3 or record.sha256), problem)


def _split(folder: Path, record: SplitRecord, files: Mapping[str, CorpusFile]) -> Split:
    shards = tuple(
        Shard(
            folder / shard.file,
            shard.n_words,
            shard.n_sentences,
            shard.n_unknown,
            shard.n_outside,
            shard.first_outside,
            files.get(shard.file),
        )
        for shard in record.shards
    )
    return Split(record.n_words, record.n_sentences, record.n_unknown, shards)

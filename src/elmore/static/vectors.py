"""`StaticVectors`: words and their vectors, one for each spelling.

In memory, or memory-mapped from an elmore folder: config.json, vocab.txt and vectors.npy.
config.json has a checksum of its own and those of the other two.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from msgspec import Meta, Struct

from elmore.checksums import (
    CheckedFile,
    FileRecord,
    check_names,
    checked_files,
    describe_file,
    verify_files,
)
from elmore.errors import ConfigError, DataError, FormatError, MissingExtraError
from elmore.folders import new_folder, new_output, write_json
from elmore.metadata import read_metadata
from elmore.static.config import MAX_DIM
from elmore.static.readers import DecodingErrors, Vectors, is_readable, read_table
from elmore.text import Vocab

Unknown = Literal["zero", "mean"]

CONFIG, VOCAB, VECTORS = "config.json", "vocab.txt", "vectors.npy"
FORMAT: Literal["elmore-static-1"] = "elmore-static-1"


class StaticFile(Struct, frozen=True, forbid_unknown_fields=True):
    """config.json."""

    format: Literal["elmore-static-1"]
    dim: Annotated[int, Meta(ge=1, le=MAX_DIM)]
    n_words: Annotated[int, Meta(ge=1, le=2**24)]
    files: dict[str, FileRecord] | None = None
    """The data files beside it; folders of earlier versions do not say."""
    checksum: str | None = None


class SimilarWord(NamedTuple):
    """A word and its similarity to another."""

    word: str
    cosine: float


class StaticVectors:
    """Vectors of words, independent of the sentence.

    A word is looked up as it is written; if it is not found, in lower case, capitalized, then in
    upper case. One that is found in none of these forms is unknown: its vector is zero, or with
    unknown="mean" the mean of all.
    """

    def __init__(
        self, words: Sequence[str], vectors: Vectors, *, unknown: Unknown = "zero"
    ) -> None:
        if unknown not in get_args(Unknown):
            raise ConfigError(f"unknown is {unknown!r}; expected {' or '.join(get_args(Unknown))}")
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise DataError(
                f"there are {len(words)} words, and the vectors have shape {vectors.shape}; "
                "expected a row for each word"
            )
        self.vocab = Vocab(words)
        if vectors.dtype not in (np.float32, np.float16):
            vectors = vectors.astype(np.float32)
        self.vectors = vectors
        """(N, D), a row for each word."""
        self.unknown = unknown
        self.source: str | None = None
        """What `load` was given."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        unknown: Unknown = "zero",
        max_words: int | None = None,
        errors: DecodingErrors = "strict",
        verify: bool = True,
    ) -> "StaticVectors":
        """Load what `save` wrote, or a published GloVe, word2vec or fastText file, also compressed.

        `max_words` takes the first words only, which are the most frequent in most files. `errors`
        is for words that are not UTF-8: "strict" refuses them, "replace" puts U+FFFD for what
        cannot be decoded. The files of a folder must match its checksums, unless `verify` is false.
        """
        path = Path(path)
        if max_words is not None and max_words < 1:
            raise ConfigError(f"max_words is {max_words}; expected at least 1")
        if os.path.isdir(path):  # noqa: PTH112  any text may come, also one that is no path
            words, vectors = _read_folder(path, verify=verify)
            made = cls(words[:max_words], vectors[:max_words], unknown=unknown)
        else:
            table = read_table(path, max_words=max_words, errors=errors)
            made = cls(table.words, table.vectors, unknown=unknown)
        made.source = str(path)
        return made

    def save(self, folder: str | Path) -> None:
        """Write a folder that `load` maps into memory instead of reading it."""
        with new_folder(Path(folder)) as beside:
            self.vocab.save(beside / VOCAB)
            np.save(beside / VECTORS, np.asarray(self.vectors, np.float32))
            files = {name: describe_file(beside / name) for name in (VOCAB, VECTORS)}
            write_json(beside / CONFIG, StaticFile(FORMAT, self.dim, len(self), files))

    def write_text(self, path: str | Path) -> None:
        """Write word2vec's text format, which every other tool reads."""
        for word in self.vocab:
            if not is_readable(word):
                raise DataError(
                    f"the word {word!r} cannot be written as text, where spaces separate words and "
                    "values; use save"
                )
        with (
            new_output(Path(path)) as beside,
            beside.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.write(f"{len(self)} {self.dim}\n")
            row = " ".join(["%.9g"] * self.dim)  # the digits that a float32 needs
            for word, vector in zip(self.vocab, self.vectors, strict=True):
                file.write(f"{word} {row % tuple(vector.tolist())}\n")

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, *, unknown: Unknown = "zero") -> "StaticVectors":
        """Take gensim's KeyedVectors."""
        return cls(keyed_vectors.index_to_key, keyed_vectors.vectors, unknown=unknown)

    def to_gensim(self) -> Any:
        """Return gensim's KeyedVectors with a copy of these (extra `static`)."""
        try:
            from gensim.models import KeyedVectors  # noqa: PLC0415  an extra
        except ImportError:
            raise MissingExtraError("gensim's KeyedVectors", "static") from None
        made = KeyedVectors(self.dim)
        made.add_vectors(list(self.vocab), np.array(self.vectors))
        return made

    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors."""
        digest = hashlib.sha256(repr((self.vocab.words, self.unknown)).encode("utf-8", "replace"))
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()

    def __sklearn_clone__(self) -> "StaticVectors":
        return self

    def __repr__(self) -> str:
        return f"StaticVectors({len(self):,} words of {self.dim})"

    def __len__(self) -> int:
        return len(self.vocab)

    def __contains__(self, word: str) -> bool:
        return self.row(word) is not None

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self.vectors.shape[1])

    def row(self, word: str) -> int | None:
        """Return the row of a word, in this case or another; None if it is unknown."""
        for spelling in (word, word.lower(), word.capitalize(), word.upper()):
            if (row := self.vocab.row(spelling)) is not None:
                return row
        return None

    def encode(self, words: Sequence[str]) -> Vectors:
        """Return the vectors of words, (words, D)."""
        if isinstance(words, str):
            raise DataError(f"got the string {words!r}; expected a list of words")
        found = np.empty((len(words), self.dim), np.float32)
        for place, word in enumerate(words):
            row = self.row(word)
            found[place] = self.unknown_vector if row is None else self.vectors[row]
        return found

    @cached_property
    def unknown_vector(self) -> Vectors:
        """The vector of an unknown word, (D,)."""
        if self.unknown == "mean":
            return np.asarray(self.vectors.mean(axis=0), np.float32)
        return np.zeros(self.dim, np.float32)

    def most_similar(self, word: str | Vectors, n: int = 10) -> list[SimilarWord]:
        """Return the words with the highest cosine to a word, or to a vector.

        The word itself is left out.
        """
        row = self.row(word) if isinstance(word, str) else None
        if isinstance(word, str) and row is None:
            raise DataError(f"{word!r} has no vector here; choose one of the {len(self)} words")
        vector: Vectors = np.asarray(word if row is None else self.vectors[row], np.float32)
        if vector.shape != (self.dim,):
            raise DataError(f"the vector has shape {vector.shape}; expected ({self.dim},)")
        norm = float(np.linalg.norm(vector)) or 1.0
        cosines = (np.asarray(self.vectors, np.float32) @ vector) / (self._norms * norm)
        if row is not None:
            cosines[row] = -np.inf
        n = min(n, len(self) - (row is not None))
        best = np.argsort(-cosines, kind="stable")[:n]
        return [SimilarWord(self.vocab.words[k], float(cosines[k])) for k in best]

    @cached_property
    def _norms(self) -> Vectors:
        norms = np.linalg.norm(np.asarray(self.vectors, np.float32), axis=1)  # float16 overflows
        return np.where(norms == 0, 1, norms).astype(np.float32)


def _read_config(folder: Path) -> StaticFile:
    path = folder / CONFIG
    if not path.exists():
        raise FormatError(f"{folder} has no {CONFIG}; expected a folder of static vectors")
    found = read_metadata(path, StaticFile, fix="copy it again")
    check_names(found.files or {}, path)
    return found


def _read_folder(folder: Path, *, verify: bool) -> tuple[Sequence[str], Vectors]:
    said = _read_config(folder)
    for name in (VOCAB, VECTORS):
        if not (folder / name).is_file():
            raise FormatError(f"{folder} has {CONFIG} but no {name}; copy it again")
    with checked_files(folder, said.files or {}, verify=verify):
        return _read_files(folder, said)


def _read_files(folder: Path, said: StaticFile) -> tuple[Sequence[str], Vectors]:
    words = Vocab.load(folder / VOCAB).words
    expected = (said.n_words, said.dim)
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of Python 2's longs
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
    # What numpy raises for one header or another; it maps no more than the file has.
    except (ValueError, TypeError, EOFError, SyntaxError, TokenError, OverflowError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise FormatError(f"{folder / VECTORS} cannot be read ({reason}); copy it again") from None
    if vectors.dtype != np.dtype("<f4") or vectors.shape != expected or len(words) != expected[0]:
        raise FormatError(
            f"{folder} has {len(words)} words and vectors {vectors.shape} of {vectors.dtype}; "
            f"expected {expected} of float32"
        )
    return words, vectors


def verify_static(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of a folder: against its checksum if it has one, and by reading it."""
    said = _read_config(folder)
    files = said.files or {}
    found = list(verify_files(folder, files))
    found += [CheckedFile(name, False) for name in (VOCAB, VECTORS) if name not in files]
    problem = None
    if not any(one.problem for one in found):
        try:
            _, vectors = _read_folder(folder, verify=False)
            if not np.isfinite(vectors).all():
                raise FormatError(f"{folder / VECTORS} has values that are not finite")
        except FormatError as error:
            problem = str(error)
    yield CheckedFile(CONFIG, said.checksum is not None, problem)
    yield from found

"""Sentences in, the layers of a frozen biLM or encoder out: computed once, stored on disk, mapped.

A file holds all tokens of some sentences, (N, L, D) where the source gives L layers of D
dimensions. In a cache folder its name is a hash of the sentences and of all that decides the
vectors, so that it is found again for the same data and model only, and it ends in a checksum: a
damaged one is computed again.
Without a cache folder, a few sentences stay in memory; the file of more has no name, so that it is
gone however the program ends.
"""

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from elmore.bilm_config import DType

TokenTuple = tuple[str, ...]
StoredLayers = npt.NDArray[Any]
"""The layers of all tokens of some sentences, one sentence after the other, (N, L, D)."""

OnEncoded = Callable[[int, int], None]
"""Is told how many sentences are encoded, and of how many."""

_SENTENCES_AT_ONCE = 512
_MOST_IN_MEMORY = 2**28
"""Bytes of layers that stay in memory: more than a request to a server asks for."""


class LayerSource(Protocol):
    """What gives each token of a sentence some layers of the same dimensions."""

    @property
    def layers_shape(self) -> tuple[int, int]:
        """Layers and dimensions, (L, D)."""

    def deciding_facts(self) -> list[str]:
        """Return all that decides the layers of given tokens."""

    def encode_layers(
        self, sentences: list[list[str]], dtype: DType
    ) -> Iterable[npt.NDArray[np.floating[Any]]]:
        """Return the layers of each sentence, (T, L, D)."""


def stored_layers(
    source: LayerSource,
    sentences: Sequence[TokenTuple],
    folder: Path | None,
    dtype: DType,
    *,
    on_progress: OnEncoded = lambda done, total: None,
) -> StoredLayers:
    """Return the layers of `sentences`, (N, L, D), from `folder` if they are there already."""
    shape = (sum(map(len, sentences)), *source.layers_shape)
    stored: StoredLayers
    if folder is None:
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes <= _MOST_IN_MEMORY:
            stored = np.empty(shape, dtype)
        else:
            with TemporaryFile() as file:
                _reserve(file, n_bytes)
                stored = np.memmap(file, dtype, "w+", shape=shape)
        _fill(stored, source, sentences, dtype, on_progress)
        return stored
    path = folder / f"{_name(source, sentences, dtype)}.npy"
    if not _is_whole(path, shape, dtype):
        folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.part")  # another process may write it too
        try:
            mapped = np.lib.format.open_memmap(beside, mode="w+", dtype=dtype, shape=shape)
            with beside.open("r+b") as file:
                _reserve(file, beside.stat().st_size)
            _fill(mapped, source, sentences, dtype, on_progress)
            mapped.flush()
            with beside.open("ab") as file:
                file.write(_digest(np.memmap(beside, np.uint8, "r")))
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    stored = np.load(path, mmap_mode="r", allow_pickle=False)
    return stored


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Have the disk keep room: writing to mapped memory without any would kill the program."""
    if hasattr(os, "posix_fallocate"):  # not everywhere
        os.posix_fallocate(file.fileno(), 0, n_bytes)


def _is_whole(path: Path, shape: tuple[int, ...], dtype: DType) -> bool:
    """Whether a stored file is there and ends in its checksum."""
    if not path.is_file() or path.stat().st_size < math.prod(shape) * np.dtype(dtype).itemsize:
        return False
    content = np.memmap(path, np.uint8, "r")
    n_digest = xxhash.xxh3_128().digest_size
    return _digest(content[:-n_digest]) == content[-n_digest:].tobytes()


def _digest(content: npt.NDArray[np.uint8]) -> bytes:
    return xxhash.xxh3_128_digest(content.data)


def _name(source: LayerSource, sentences: Sequence[TokenTuple], dtype: DType) -> str:
    deciding = [dtype, *source.deciding_facts()]
    digest = hashlib.blake2b(repr(deciding).encode(), digest_size=16)
    for sentence in sentences:
        digest.update(("\x1f".join(sentence) + "\x1e").encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _fill(
    stored: StoredLayers,
    source: LayerSource,
    sentences: Sequence[TokenTuple],
    dtype: DType,
    on_progress: OnEncoded,
) -> None:
    place = 0
    for first in range(0, len(sentences), _SENTENCES_AT_ONCE):
        some = [list(sentence) for sentence in sentences[first : first + _SENTENCES_AT_ONCE]]
        for sentence, layers in zip(some, source.encode_layers(some, dtype), strict=True):
            stored[place : place + len(sentence)] = layers
            place += len(sentence)
        on_progress(first + len(some), len(sentences))

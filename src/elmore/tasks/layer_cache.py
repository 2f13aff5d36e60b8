"""Sentences in, the frozen biLM's layers out: computed once, stored on disk, memory-mapped.

A file holds all tokens of some sentences, (N, L + 1, D), or L + 2 with the context layer. In a
cache folder its name is a hash of the sentences and of all that decides the vectors, so that it is
found again for the same data and model only, and it ends in a checksum: a damaged one is computed
again.
Without a cache folder the file has no name, so that it is gone however the program ends.
"""

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import xxhash

from elmore.embed import Elmo
from elmore.embed.layers import Layers
from elmore.embed.results import DType

TokenTuple = tuple[str, ...]
StoredLayers = np.memmap[Any, Any]
"""The layers of all tokens of some sentences, one sentence after the other, (N, L + 1, D)."""

OnEncoded = Callable[[int, int], None]
"""Is told how many sentences the biLM has encoded, and of how many."""

_SENTENCES_AT_ONCE = 512
_DECIDING = ("model", "known words", "normalization", "precision")


def stored_layers(
    elmo: Elmo,
    sentences: Sequence[TokenTuple],
    folder: Path | None,
    dtype: DType,
    *,
    context_layer: bool = False,
    on_progress: OnEncoded = lambda done, total: None,
) -> StoredLayers:
    """Return the layers of `sentences`, (N, L + 1, D), from `folder` if they are there already.

    With `context_layer` they have one more, the states that predict each token.
    """
    layers: list[Layers] = [*range(elmo.n_layers)]
    if context_layer:
        layers.append("context")
    shape = (sum(map(len, sentences)), len(layers), elmo.dim)
    stored: StoredLayers
    if folder is None:
        with TemporaryFile() as file:
            _reserve(file, math.prod(shape) * np.dtype(dtype).itemsize)
            stored = np.memmap(file, dtype, "w+", shape=shape)
        _fill(stored, elmo, sentences, layers=layers, dtype=dtype, on_progress=on_progress)
        return stored
    path = folder / f"{_name(elmo, sentences, dtype, context_layer)}.npy"
    if not _is_whole(path, shape, dtype):
        folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.part")  # another process may write it too
        try:
            stored = np.lib.format.open_memmap(beside, mode="w+", dtype=dtype, shape=shape)
            with beside.open("r+b") as file:
                _reserve(file, beside.stat().st_size)
            _fill(stored, elmo, sentences, layers=layers, dtype=dtype, on_progress=on_progress)
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


def deciding_facts(elmo: Elmo) -> dict[str, str]:
    """Return all that decides the layers of given tokens."""
    facts = elmo.fingerprint()
    return {name: facts[name] for name in _DECIDING}


def _name(elmo: Elmo, sentences: Sequence[TokenTuple], dtype: DType, context_layer: bool) -> str:
    deciding = [dtype, *deciding_facts(elmo).values(), *["context"] * context_layer]
    digest = hashlib.blake2b(repr(deciding).encode(), digest_size=16)
    for sentence in sentences:
        digest.update(("\x1f".join(sentence) + "\x1e").encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _fill(
    stored: StoredLayers,
    elmo: Elmo,
    sentences: Sequence[TokenTuple],
    *,
    layers: Sequence[Layers],
    dtype: DType,
    on_progress: OnEncoded,
) -> None:
    place = 0
    for first in range(0, len(sentences), _SENTENCES_AT_ONCE):
        some = [list(sentence) for sentence in sentences[first : first + _SENTENCES_AT_ONCE]]
        for found in elmo.encode_tokens(some, layers=layers, dtype=dtype):
            n_tokens = len(found.tokens)
            for depth, layer in enumerate(layers):
                stored[place : place + n_tokens, depth] = found.vectors[layer]
            place += n_tokens
        on_progress(first + len(some), len(sentences))
    stored.flush()

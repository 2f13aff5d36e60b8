"""Sentences in, the frozen biLM's layers out: computed once, stored on disk, memory-mapped.

A file holds all tokens of some sentences, (N, L + 1, D), or L + 2 with the context layer. Its name
is a hash of the sentences and of all that decides the vectors, so that it is found again for the
same data and model only.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.embed.layers import Layers
from elmore.embed.results import DType

TokenTuple = tuple[str, ...]
StoredLayers = npt.NDArray[Any]
"""The layers of all tokens of some sentences, one sentence after the other, (N, L + 1, D)."""

OnEncoded = Callable[[int, int], None]
"""Is told how many sentences the biLM has encoded, and of how many."""

_SENTENCES_AT_ONCE = 512
_DECIDING = ("model", "known words", "normalization", "precision")


def stored_layers(
    elmo: Elmo,
    sentences: Sequence[TokenTuple],
    folder: Path,
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
    path = folder / f"{_name(elmo, sentences, dtype, context_layer)}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.part")  # another process may write it too
        try:
            _write(elmo, sentences, beside, layers=layers, dtype=dtype, on_progress=on_progress)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    stored: StoredLayers = np.load(path, mmap_mode="r", allow_pickle=False)
    return stored


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


def _write(
    elmo: Elmo,
    sentences: Sequence[TokenTuple],
    path: Path,
    *,
    layers: Sequence[Layers],
    dtype: DType,
    on_progress: OnEncoded,
) -> None:
    shape = (sum(map(len, sentences)), len(layers), elmo.dim)
    stored = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
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

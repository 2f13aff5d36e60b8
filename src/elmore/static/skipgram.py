"""Text in, static vectors out: skip-gram with negative sampling (Mikolov et al. 2013), by gensim.

For a language or a domain without published vectors: the static baseline beside ELMo, with the
same tokenizers. One thread is deterministic; several are faster and are not. Given a folder of its
own, training saves its state there after each epoch, and resumes from it.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np

from elmore.errors import DataError, MissingExtraError
from elmore.folders import new_file
from elmore.static.config import SkipGramConfig
from elmore.static.vectors import StaticVectors

_UNREADABLE = (  # what zipfile and numpy raise for files that are damaged
    OSError, EOFError, LookupError, ValueError, TypeError, ArithmeticError, RuntimeError,
    SyntaxError, MemoryError, struct.error, zlib.error, BadZipFile, TokenError,
)  # fmt: skip

OnSkipGram = Callable[[str, int, int], None]
"""Is told a stage (tokenize, train), how many words or epochs are done, and of how many, or 0."""


def train_skipgram(
    sentences: Iterable[list[str]],
    config: SkipGramConfig,
    *,
    folder: Path | None = None,
    on_progress: OnSkipGram = lambda stage, done, total: None,
) -> StaticVectors:
    """Train vectors.

    `folder` keeps the state of training: killed at any moment, the same call with the same
    sentences resumes and gives the same vectors. Without it, nothing is kept.
    """
    try:
        from gensim.models import Word2Vec  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtraError("skip-gram", "static") from None
    model = Word2Vec(
        sg=1,
        hs=0,
        vector_size=config.dim,
        window=config.window,
        min_count=config.min_count,
        max_final_vocab=config.max_words,
        negative=config.n_negative,
        sample=config.subsample,
        alpha=config.learning_rate,
        workers=config.n_threads,
        seed=config.seed,
    )
    with nullcontext(folder) if folder else TemporaryDirectory() as work:
        corpus, state = Path(work) / "sentences.txt", Path(work) / "epoch.npz"
        if not corpus.exists():
            _write(sentences, corpus, on_progress)
        model.build_vocab(corpus_file=str(corpus))
        if not len(model.wv) and model.effective_min_count > config.min_count:
            raise DataError(
                f"more than {config.max_words} words are equally frequent, so that none is among "
                "the most frequent; raise max_words, or give more text"
            )
        if not len(model.wv):
            raise DataError(
                f"no word occurs {config.min_count} times; lower min_count, or give more text"
            )
        n_done = _load_state(model, state, config)
        for epoch in range(n_done, config.n_epochs):
            on_progress("train", epoch, config.n_epochs)
            model.train(
                corpus_file=str(corpus),
                total_examples=model.corpus_count,
                total_words=model.corpus_total_words,
                epochs=1,
                start_alpha=_learning_rate(config, epoch),
                end_alpha=_learning_rate(config, epoch + 1),
            )
            _save_state(model, state, config, epoch + 1)
        on_progress("train", config.n_epochs, config.n_epochs)
    return StaticVectors.from_gensim(model.wv)


def _learning_rate(config: SkipGramConfig, n_epochs_done: int) -> float:
    """Return the learning rate after some epochs; it decays to 1/250 of the first, as in gensim."""
    done = n_epochs_done / config.n_epochs
    return config.learning_rate * (1 - done + done / 250)


def _save_state(model: Any, path: Path, config: SkipGramConfig, n_done: int) -> None:
    """Write all that the next epoch needs."""
    name, keys, place, _, _ = model.random.get_state()
    with new_file(path) as beside, beside.open("wb") as file:
        np.savez(
            file, config=json.dumps(asdict(config)), n_done=n_done, vectors=model.wv.vectors,
            outputs=model.syn1neg, random_name=name, random_keys=keys, random_place=place,
        )  # fmt: skip


def _load_state(model: Any, path: Path, config: SkipGramConfig) -> int:
    """Restore a saved state; return its finished epochs, 0 if there is none of this training."""
    if not path.exists():
        return 0
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            if str(saved["config"]) != json.dumps(asdict(config)):
                return 0
            vectors, outputs, n_done = saved["vectors"], saved["outputs"], int(saved["n_done"])
            shapes = model.wv.vectors.shape, model.syn1neg.shape
            if (vectors.shape, outputs.shape) != shapes or not 0 <= n_done <= config.n_epochs:
                return 0
            random = (str(saved["random_name"]), saved["random_keys"], int(saved["random_place"]))
            model.random.set_state(random)
    except _UNREADABLE:
        return 0  # damaged: training starts again
    model.wv.vectors[:] = vectors  # once all is read: what training starts from is random, too
    model.syn1neg[:] = outputs
    return n_done


def _write(sentences: Iterable[list[str]], path: Path, on_progress: OnSkipGram) -> None:
    """Write sentences as gensim reads them, one a line; each epoch reads the file again."""
    n_words = 0
    with new_file(path) as beside:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            for sentence in sentences:
                file.write(" ".join(sentence) + "\n")
                n_words += len(sentence)
                on_progress("tokenize", n_words, 0)
        if not n_words:
            raise DataError("the text has no words to train on; expected some sentences")

"""Text in, static vectors out: skip-gram with negative sampling (Mikolov et al. 2013), by gensim.

For a language or a domain that has no published vectors: the static baseline beside ELMo, with the
same tokenizers. One thread gives the same vectors each time; several are faster and do not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.static.vectors import StaticVectors


@dataclass(frozen=True)
class SkipGramConfig:
    """How skip-gram learns."""

    dim: int = 100
    """Numbers in a vector."""
    window: int = 5
    """The farthest word on either side that a word is to predict."""
    min_count: int = 5
    """A word that occurs less often than this has no vector."""
    max_words: int = 200_000
    """The most words that have one."""
    n_negative: int = 5
    """Words drawn at random for each that is predicted."""
    subsample: float = 1e-4
    """Words whose share of the text is above this are often left out; 0: none is."""
    n_epochs: int = 5
    """How often the text is read."""
    learning_rate: float = 0.025
    """At the beginning; it falls to nothing."""
    n_threads: int = 1
    """With more than one the result differs from run to run."""
    seed: int = 1
    """Decides every random choice."""

    def __post_init__(self) -> None:
        for name in ("dim", "window", "min_count", "max_words", "n_negative", "n_epochs",
                     "n_threads"):  # fmt: skip
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected at least 1")
        for name in ("subsample", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected at least 0")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate is {self.learning_rate}; expected more than 0")


def train_skipgram(
    sentences: Iterable[list[str]],
    config: SkipGramConfig,
    *,
    progress: Callable[[str, int, int], None] = lambda stage, done, of: None,
) -> StaticVectors:
    """Train vectors; `progress` is told a stage, how much of it is done, and of how much (or 0)."""
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
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "sentences.txt"
        _write(sentences, corpus, progress)
        model.build_vocab(corpus_file=str(corpus))
        if not len(model.wv):
            raise DataError(
                f"no word occurs {config.min_count} times; lower min_count, or give more text"
            )
        model.train(
            corpus_file=str(corpus),
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=config.n_epochs,
            callbacks=[_epochs(progress, config.n_epochs)],
        )
    return StaticVectors.from_gensim(model.wv)


def _write(
    sentences: Iterable[list[str]], path: Path, progress: Callable[[str, int, int], None]
) -> None:
    """Write sentences as gensim reads them, one a line; each epoch reads the file anew."""
    n_words = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            file.write(" ".join(sentence) + "\n")
            n_words += len(sentence)
            progress("tokenize", n_words, 0)
    if not n_words:
        raise DataError("the text has no word to learn from; expected some sentences")


def _epochs(progress: Callable[[str, int, int], None], n_epochs: int) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec  # noqa: PLC0415

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]  # gensim has no types
        def __init__(self) -> None:
            self.n_done = 0

        def on_epoch_end(self, model: Any) -> None:
            self.n_done += 1
            progress("train", self.n_done, n_epochs)

    return Epochs()

"""Static word vectors in, a biLM that starts from them out.

Each word's static vector initializes its row of the word table (the input) and of the softmax (the
output); the softmax's bias is the log unigram probability of the word. The vectors are centred,
brought to projection_dim (by PCA, or by a random rotation where they have fewer dimensions) and
scaled, so that any vectors can be used.

A trained model has a vector space of its own: there only words that are new to it get rows, by the
linear map from the static vectors of its own words to their rows (ridge regression).

Shapes: V words of the vocabulary, N of them with a vector, d dimensions of the vectors, p
projection_dim.
"""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore.corpus.config import N_MARKS
from elmore.corpus.files import fingerprint
from elmore.corpus.manifest import CorpusFile
from elmore.corpus.prepare import OnStage
from elmore.corpus.shards import Corpus
from elmore.engine.parameters import row_weights
from elmore.errors import ConfigError, DataError, MissingExtraError, shown
from elmore.formats import Pretrained
from elmore.kernels.library import Floats
from elmore.pretrain.config import StaticConfig
from elmore.pretrain.recipes import StaticRecord, static_name
from elmore.static import StaticVectors
from elmore.static.config import SkipGramConfig
from elmore.static.skipgram import train_skipgram
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, Vocab

Array = npt.NDArray[np.float64]

SKIPGRAM = "skipgram"  # instead of a file: vectors trained on the run's own text
STATIC = "static"  # the folder in a run with the vectors of its vocabulary

_RIDGE = 1.0  # the penalty of the map into a trained model's space


def describe_static(config: StaticConfig) -> StaticRecord | None:
    """Return what run.json says of static vectors."""
    if config.static is None:
        return None
    if config.static == SKIPGRAM:
        skipgram_config(config)  # before the text is prepared
        if find_spec("gensim") is None:
            raise MissingExtraError("skip-gram", "static")
        return StaticRecord(SKIPGRAM)
    path = Path(config.static)
    if not path.exists():
        raise ConfigError(
            f"there is no file or folder {path}; --static takes static vectors, or skipgram"
        )
    files = sorted(filter(Path.is_file, path.iterdir())) if path.is_dir() else [path]
    return StaticRecord(
        static_name(config.static),
        {static_name(file.name): CorpusFile(**fingerprint(file)) for file in files},
    )


def skipgram_config(config: StaticConfig, **settings: int) -> SkipGramConfig:
    """Return how skip-gram is trained on the text of a run."""
    return SkipGramConfig(
        dim=config.skipgram_dim, window=config.skipgram_window, min_count=1,
        n_epochs=config.skipgram_epochs, **settings,
    )  # fmt: skip


def prepare_static(
    corpus: Corpus, folder: Path, config: StaticConfig, *, seed: int, on_progress: OnStage
) -> None:
    """Save the vectors of the vocabulary's words in a run's folder, unless they are there."""
    if config.static is None or (folder / STATIC).exists():
        return
    work = folder / SKIPGRAM
    if config.static == SKIPGRAM:
        work.mkdir(exist_ok=True)

        def tell(stage: str, done: int, of: int) -> None:
            if stage == "train":
                on_progress("skip-gram", corpus.training.n_words if done else 0)

        settings = skipgram_config(config, max_words=len(corpus.vocab), seed=seed % 2**32)
        static = train_skipgram(_sentences(corpus), settings, folder=work, on_progress=tell)
    else:
        static = StaticVectors.load(config.static)
    vectors_of(corpus.vocab, static, config).save(folder / STATIC)
    shutil.rmtree(work, ignore_errors=True)


def vectors_of(vocab: Vocab, static: StaticVectors, config: StaticConfig) -> StaticVectors:
    """Return the vectors of the words of a vocabulary that have one."""
    look_up = static.vocab.row if config.static_lookup == "exact" else static.row
    rows = {word: look_up(word) for word in vocab.words[N_MARKS:]}
    found = {word: row for word, row in rows.items() if row is not None}
    if not found:
        raise DataError(
            f"none of the {len(rows):,} words of the vocabulary has a vector in "
            f"{static.source or 'the static vectors'}; check that they are of the same language, "
            "and --static-lookup"
        )
    vectors = np.asarray(static.vectors[list(found.values())], np.float32)
    is_finite = np.isfinite(vectors).all(axis=1)
    if not is_finite.all():
        word = list(found)[int(is_finite.argmin())]
        raise DataError(
            f"the static vector of {shown(word)} has numbers that are not finite; correct or "
            "remove it"
        )
    return StaticVectors(list(found), vectors)


def fill_from_static(
    model: Pretrained, corpus: Corpus, static: StaticVectors, config: StaticConfig
) -> None:
    """Initialize the words of an untrained model by their static vectors."""
    p, encoder = model.config.lstm.projection_dim, model.config.token_encoder
    rows = corpus.vocab.encode(static.vocab.words)
    vectors = _to_dim(static.vectors.astype(np.float64), p).astype(np.float32)
    if "word_table" in config.static_fills and encoder.words and encoder.combine == "add":
        model.arrays["token_encoder.words.weight"][rows] = config.static_scale * vectors
    if "softmax" in config.static_fills:
        model.arrays["softmax.weight"][rows] = p**-0.5 * vectors
        model.arrays["softmax.bias"][:] = log_unigrams(corpus)


def fill_new_words(model: Pretrained, vocab: Vocab, known: Vocab, static: StaticVectors) -> None:
    """Initialize words that are new to a trained model by the map of its own words' vectors."""
    is_known = np.array([word in known for word in static.vocab])
    if not is_known.any():
        return
    rows = vocab.encode(static.vocab.words)
    given = static.vectors.astype(np.float64)
    vectors = _scaled(given - given.mean(axis=0))
    x = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)
    x_known = x[is_known]
    squares = x_known.T @ x_known + _RIDGE * np.eye(x.shape[1])
    for weight in row_weights(model.arrays).values():
        if weight.ndim == 2:
            linear_map = np.linalg.solve(squares, x_known.T @ weight[rows[is_known]])
            weight[rows[~is_known]] = x[~is_known] @ linear_map


def log_unigrams(corpus: Corpus) -> Floats:
    """Return the log unigram probability of each word as a target of training, (V,)."""
    n_words = len(corpus.vocab)
    counts = np.zeros(n_words + 1, np.int64)
    for shard in corpus.training.shards:
        counts += np.bincount(np.minimum(shard.ids, n_words), minlength=n_words + 1)
        shard.close()
    counts[corpus.unknown] += counts[n_words]  # every word outside the vocabulary
    counts = 2 * counts[:n_words]  # a word is predicted in both directions, a mark in one
    counts[corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE])] += corpus.training.n_sentences
    logarithms: Floats = np.log((counts + 1) / (counts + 1).sum()).astype(np.float32)
    return logarithms


def _sentences(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the training sentences without words outside the vocabulary."""
    words = np.array(corpus.vocab.words, dtype=object)
    for shard in corpus.training.shards:
        ids, ends = np.array(shard.ids), np.array(shard.ends)
        shard.close()
        for sentence in np.split(ids, ends[:-1]):
            yield words[sentence[(sentence >= N_MARKS) & (sentence < len(words))]].tolist()


def _to_dim(vectors: Array, p: int) -> Array:
    """Return vectors (N, d) centred, in p dimensions, with a standard deviation of 1; (N, p)."""
    n, d = vectors.shape
    vectors = vectors - vectors.mean(axis=0)
    if d > p:
        _, axes = np.linalg.eigh(vectors.T @ vectors / n)  # the largest are last
        vectors = vectors @ axes[:, -p:]
    elif d < p:
        rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((p, d)))
        vectors = vectors @ rotation.T
    return _scaled(vectors)


def _scaled(vectors: Array) -> Array:
    """Return vectors with a standard deviation of 1."""
    deviation = float(vectors.std())
    if not deviation > 0:
        raise DataError("the static vectors are all the same, so training cannot start from them")
    return vectors / deviation

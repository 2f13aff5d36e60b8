"""A file of cached token vectors in, the words of a word cache that stay out."""

from pathlib import Path

from elmore.engine.word_cache import WordVectors
from elmore.errors import ConfigError
from elmore.formats import Pretrained, read_word_vectors


def read_cached_words(path: Path, model: Pretrained, name: str | Path) -> WordVectors:
    """Read an HDF5 of cached token vectors, a row for each word of the vocabulary of `name`."""
    if model.vocab is None:
        raise ConfigError(
            f"{path} has a row for each word of a vocabulary, and {name} "
            "has none; name it with vocab= (--vocab)"
        )
    rows = read_word_vectors(path, model.vocab, model.config.lstm.projection_dim)
    return WordVectors(model.vocab, rows)
